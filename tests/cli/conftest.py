import json
import shutil

import pytest
from people import SCHEMA, write_table
from running import privfit


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A directory with what a user has after training: tables, schema, ledger, model and scores."""
    folder = tmp_path_factory.mktemp("trained")
    write_table(folder / "people.csv", 1500, 1)
    write_table(folder / "held-out.csv", 600, 2)
    write_table(folder / "new-people.csv", 50, 3, without=["sick"])
    (folder / "schema.toml").write_text(SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        privfit("ledger", "open", "people.db", "--dataset", "census-2026", "--epsilon", 3)
        ledger = ("--ledger", "people.db")
        privfit("train", "people.csv", "--schema", "schema.toml", *ledger, "--out", "model.json")
        privfit("evaluate", "model.json", "held-out.csv", *ledger, "--out", "scores.json")
        assert json.loads((folder / "scores.json").read_text())["accuracy"]["value"] > 0.5
    return folder


@pytest.fixture
def desk(trained, tmp_path, monkeypatch):
    """A copy of that directory, which is the current one."""
    folder = tmp_path / "desk"
    shutil.copytree(trained, folder)
    monkeypatch.chdir(folder)
    return folder
