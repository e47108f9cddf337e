"""`privfit evidence` and `privfit verify`: what strangers see, and exit codes."""

import json

import pytest
from running import privfit


def test_the_evidence_of_a_model_is_shown_and_written(desk):
    text = privfit("evidence", "model.json", "--out", "evidence.json").stdout
    assert "Unit of privacy: A record" in text
    assert "Seal of the ledger: " in text
    written = json.loads((desk / "evidence.json").read_text())
    assert written == json.loads((desk / "model.json").read_text())["evidence"]
    assert written == json.loads(privfit("evidence", "model.json", "--json").stdout)
    assert json.loads(privfit("evidence", "evidence.json", "--json").stdout) == written


@pytest.mark.parametrize("file", ["model.json", "scores.json", "evidence.json"])
def test_what_was_trained_verifies_with_and_without_its_ledger(file, desk):
    privfit("evidence", "model.json", "--out", "evidence.json")
    assert privfit("verify", file).stdout.endswith("No check failed.\n")
    with_ledger = json.loads(privfit("verify", file, "--ledger", "people.db", "--json").stdout)
    assert with_ledger["holds"]
    assert {"about": "seal", "holds": True} in [
        {key: check[key] for key in ("about", "holds")} for check in with_ledger["checks"]
    ]


def test_a_changed_file_ends_with_exit_code_1(desk):
    document = json.loads((desk / "model.json").read_text())
    document["evidence"]["promise"]["epsilon"] = document["privacy"]["promise"]["epsilon"] = 0.25
    (desk / "model.json").write_text(json.dumps(document))
    text = privfit("verify", "model.json", code=1).stdout
    assert "FAILS: The budget of the promise" in text
    assert text.endswith("A check FAILED.\n")


def test_a_ledger_that_is_not_there_is_a_mistake(desk):
    assert "does not exist" in privfit("verify", "model.json", "--ledger", "none.db", code=2).stderr
    assert "--ledger" in privfit("verify", "model.json", "--dataset", "census-2026", code=2).stderr


def test_a_file_without_evidence_is_told_so(desk):
    document = json.loads((desk / "model.json").read_text())
    del document["evidence"]
    (desk / "model.json").write_text(json.dumps(document))
    assert "earlier version" in privfit("verify", "model.json").stdout
    assert "holds no evidence that" in privfit("evidence", "model.json", code=2).stderr
    assert "has no seal" in privfit("verify", "model.json", "--ledger", "people.db", code=1).stdout
    (desk / "notes.json").write_text("[1, 2]")
    for command in ("verify", "evidence"):
        assert "neither a model file" in privfit(command, "notes.json", code=2).stderr
