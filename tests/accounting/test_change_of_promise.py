"""The owner changes what a ledger promises, as long as nothing was ever charged to it."""

import uuid

import pytest
from postgres_databases import new_role, new_schema

from privfit.accounting import (
    BrokenChain,
    Concentrated,
    Gaussian,
    Ledger,
    LedgerError,
    change_promise,
    list_datasets,
)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/people.db"
    return new_schema(request.getfixturevalue("postgres_url"))


@pytest.mark.parametrize(
    ("budget", "kind", "promise"),
    [
        ({"epsilon": 1}, "concentrated", Concentrated.of(epsilon=1.0, delta=1e-6)),
        (
            {"epsilon": 1, "delta": 1e-8, "promise": "concentrated"},
            "gaussian",
            Gaussian.of(epsilon=1.0, delta=1e-8),
        ),
        ({"rho": 0.1}, "gaussian", Gaussian.of(rho=0.1, delta=1e-6)),
        ({"epsilon": 1}, "gaussian", Gaussian.of(epsilon=1.0, delta=1e-6)),
    ],
)
def test_a_ledger_without_charges_keeps_the_other_promise_for_the_same_budget(url, budget, kind, promise):
    Ledger.open(url, dataset="census", **budget)
    assert change_promise(url, dataset="census", promise=kind) == promise
    ledger = Ledger.open(url, dataset="census", promise=kind)
    assert ledger.promise == promise
    ledger.charge(ledger.rho / 2, kind="gaussian")
    assert ledger.verify().entries == 1
    assert list_datasets(url) == ["census"]


def test_whoever_has_the_ledger_open_is_refused_until_they_open_it_again(url):
    """Otherwise they would charge it by the limits of the promise that it no longer keeps."""
    ledger = Ledger.open(url, dataset="census", epsilon=1)
    change_promise(url, dataset="census", promise="concentrated")
    for use in (lambda: ledger.charge(0.001, kind="gaussian"), lambda: ledger.portion(0.001), ledger.verify):
        with pytest.raises((LedgerError, BrokenChain), match="open it"):
            use()
    assert Ledger.open(url, dataset="census").entries == ()


@pytest.mark.parametrize("settled", [True, False])
def test_a_ledger_that_was_ever_charged_keeps_its_promise(url, settled):
    ledger = Ledger.open(url, dataset="census", epsilon=1)
    portion = ledger.portion(0.01)
    if settled:  # nothing of it was spent
        portion.settle()
    with pytest.raises(ValueError, match="has been charged, so its promise cannot change; choose a solver"):
        change_promise(url, dataset="census", promise="concentrated")
    assert Ledger.open(url, dataset="census").promise == ledger.promise
    ledger.charge(0.001, kind="gaussian")


def test_only_the_owner_of_the_tables_changes_a_promise(postgres_url):
    url = new_schema(postgres_url)
    kept = Ledger.open(url, dataset="census", epsilon=1).promise
    rights = ("SELECT, INSERT, UPDATE, DELETE ON privfit_accounts, privfit_entries",)
    with pytest.raises(LedgerError, match="Only the owner of its tables can change what a ledger promises"):
        change_promise(new_role(url, *rights), dataset="census", promise="concentrated")
    assert Ledger.open(url, dataset="census").promise == kept


def test_what_is_not_there_or_no_promise_is_refused(tmp_path):
    path = tmp_path / f"{uuid.uuid4().hex}.db"
    url = f"sqlite:///{path}"
    with pytest.raises(LedgerError, match="does not exist; check the path"):
        change_promise(url, dataset="census", promise="concentrated")
    Ledger.open(url, dataset="census", epsilon=1)
    with pytest.raises(ValueError, match=r"There is no ledger of 'clinic' at .*; check the name"):
        change_promise(url, dataset="clinic", promise="concentrated")
    with pytest.raises(ValueError, match=r"promise must be one of .*, got 'best'"):
        change_promise(url, dataset="census", promise="best")
    assert Ledger.open(url, dataset="census").promise == Gaussian.of(epsilon=1.0, delta=1e-6)
