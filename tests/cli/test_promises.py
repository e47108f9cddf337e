"""What a ledger promises and pays for, as the command line says it."""

import json

import pytest
from running import privfit

from privfit.accounting import Gaussian, Ledger
from privfit.solvers.base import solvers_paid_by

OPEN = ("ledger", "open", "few.db", "--dataset", "few")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_opening_a_ledger_says_what_it_promises_and_what_it_cannot_pay_for():
    said = " ".join(privfit(*OPEN, "--epsilon", 1).stdout.split())
    assert "epsilon = 1 at delta = 1e-06 (rho = 0.02802)" in said
    assert "Gaussian promise and pays for Gaussian noise alone. It cannot pay for the solvers" in said
    paid = solvers_paid_by(Gaussian.of(epsilon=1.0, delta=1e-6))
    assert said.endswith(f"the solvers {', '.join(name for name in paid if not paid[name])}.")
    facts = json.loads(privfit(*OPEN, "--epsilon", 1, "--json").stdout)
    assert facts["promise"] == "gaussian"
    assert facts["pays_for_solvers"] == ["adaptive", "gradient-descent", "newton", "sufficient-statistics"]


@pytest.mark.parametrize(
    ("options", "promise", "rho"),
    [
        (("--epsilon", 1, "--promise", "concentrated"), "concentrated", 0.0244),
        (("--rho", 0.02), "concentrated", 0.02),
        (("--rho", 0.02, "--promise", "gaussian"), "gaussian", 0.02),
        (("--epsilon", 1, "--promise", "direct"), "direct", 0.5),
    ],
)
def test_a_ledger_is_opened_by_epsilon_or_rho_with_the_promise_that_is_named(options, promise, rho):
    facts = json.loads(privfit(*OPEN, *options, "--json").stdout)
    assert facts["promise"] == promise
    assert facts["rho"] == pytest.approx(rho, abs=5e-5)


def test_a_ledger_that_is_there_is_taken_in_its_own_kind_or_refused():
    privfit(*OPEN, "--epsilon", 1, "--delta", 1e-5, "--promise", "concentrated")
    again = json.loads(privfit(*OPEN, "--epsilon", 1, "--json").stdout)
    assert (again["promise"], again["delta"]) == ("concentrated", 1e-5)
    refused = privfit(*OPEN, "--epsilon", 1, "--promise", "gaussian", code=2)
    assert (
        "was opened with epsilon = 1.0, delta = 1e-05, promise = 'concentrated', not with" in refused.stderr
    )


def test_a_ledger_needs_one_way_to_name_its_budget():
    for options in ((), ("--epsilon", 1, "--rho", 0.02)):
        assert "Give one of --epsilon and --rho." in privfit(*OPEN, *options, code=2).stderr


def test_the_promise_of_a_ledger_is_changed_while_nothing_was_charged():
    privfit(*OPEN, "--epsilon", 1)
    facts = json.loads(privfit("ledger", "change", "few.db", "--promise", "concentrated", "--json").stdout)
    assert (facts["promise"], facts["epsilon"]) == ("concentrated", 1.0)
    assert "dpagd" in facts["pays_for_solvers"]
    ledger = Ledger.open("sqlite:///few.db", dataset="few")
    ledger.charge(0.001)
    refused = privfit("ledger", "change", "few.db", "--promise", "gaussian", code=2)
    assert "has been charged, so its promise cannot change" in refused.stderr


def test_a_fit_is_bought_by_epsilon_or_by_rho(desk):
    train = ("train", "people.csv", "--schema", "schema.toml", "--out", "second.json")
    assert "Give one of --rho and --epsilon." in privfit(*train, "--rho", 0.01, "--epsilon", 1, code=2).stderr
    facts = json.loads(privfit(*train, "--rho", 0.01, "--ledger", "people.db", "--json").stdout)
    log = json.loads(privfit("ledger", "log", "people.db", "--json").stdout)["entries"]
    assert facts["privacy"]["promise"]["rho"] == log[-2]["rho"] == 0.01


def test_a_fit_on_a_ledger_gets_as_much_as_one_without(desk):
    train = ("train", "people.csv", "--schema", "schema.toml", "--out", "second.json", "--json")
    promises = [
        json.loads(privfit(*train, *paying).stdout)["privacy"]["promise"]
        for paying in ((), ("--ledger", "people.db"))
    ]
    assert promises[0] == promises[1]
    assert promises[0]["rho"] == pytest.approx(0.0280, abs=5e-5)
