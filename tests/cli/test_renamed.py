"""Names of the version before this one still work, with a warning, and help does not show them."""

import json

import pytest
from running import privfit

WARNING = "Warning: {0!r} is called {1!r} now; privfit 0.3 will not know {0!r}.\n"


@pytest.mark.parametrize(
    ("earlier", "current", "warnings"),
    [
        (
            ("budget", "open", "new.db", "--data-set=few", "--epsilon", 1, "--json"),
            ("ledger", "open", "other.db", "--dataset=few", "--epsilon", 1, "--json"),
            [("budget", "ledger"), ("data-set", "dataset")],
        ),
        (
            ("budget", "status", "people.db", "--data-set", "census-2026"),
            ("ledger", "status", "people.db", "--dataset", "census-2026"),
            [("budget", "ledger"), ("data-set", "dataset")],
        ),
        (
            ("evaluate", "model.json", "held-out.csv", "--rho", 0.001, "--budget", "people.db"),
            ("evaluate", "model.json", "held-out.csv", "--rho", 0.001, "--ledger", "people.db"),
            [("budget", "ledger")],
        ),
    ],
    ids=["open", "status", "evaluate"],
)
def test_earlier_names_work_and_warn(earlier, current, warnings, desk):
    done = privfit(*earlier)
    assert done.stderr == "".join(WARNING.format(*names) for names in warnings)
    now = privfit(*current)
    assert now.stderr == ""
    assert len(now.stdout) > 0


@pytest.mark.parametrize("command", ["", "ledger open", "train", "evaluate", "reproduce"])
def test_help_does_not_show_earlier_names(command):
    done = privfit(*command.split(), "--help")
    assert not any(name in done.stdout for name in ("--budget", "--data-set", "privfit budget", "  budget  "))
    assert done.stderr == ""


def test_json_documents_keep_their_earlier_keys(desk):
    facts = json.loads(privfit("ledger", "status", "people.db", "--json").stdout)
    assert facts["dataset"] == facts["data_set"] == "census-2026"
