"""`privfit ledger migrate`: a store that an earlier version wrote, on the command line."""

import json
import shutil
from pathlib import Path

from running import privfit

KEPT = Path(__file__).parents[1] / "accounting" / "format_1"


def test_a_store_of_an_earlier_version_is_brought_up_to_date_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(KEPT / "people.db", "people.db")
    noted = json.loads((KEPT / "noted.json").read_text())["sqlite"]["clinic"]["seals"][0]
    command = ("ledger", "status", "people.db", "--dataset", "clinic")
    assert "by `privfit ledger migrate STORE`, before" in privfit(*command, code=2).stderr
    first = privfit("ledger", "migrate", "people.db").stdout
    assert "Up to date now: the ledgers of 'census-2026', 'clinic', 'genomes'" in " ".join(first.split())
    assert json.loads(privfit("ledger", "migrate", "people.db", "--json").stdout)["migrated"] == []
    privfit(*command)
    shown = privfit("ledger", "verify", "people.db", "--dataset", "clinic", "--seal", noted).stdout
    assert "(4) are right, and those up to number 3" in " ".join(shown.split())


def test_a_store_that_is_not_there_is_not_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "does not exist; check the path" in privfit("ledger", "migrate", "people.db", code=2).stderr
    assert not (tmp_path / "people.db").exists()


def test_a_second_ledger_in_a_store_is_warned_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert privfit("ledger", "open", "people.db", "--dataset", "census", "--epsilon", 1).stderr == ""
    second = privfit("ledger", "open", "people.db", "--dataset", "clinic", "--epsilon", 1)
    assert second.stderr.startswith("Warning: The store at sqlite:")
    assert "is a privacy budget of its own" in second.stderr
    third = privfit("ledger", "open", "people.db", "--dataset", "Clinic", "--epsilon", 1, code=2)
    assert "differs from it only in case" in third.stderr
