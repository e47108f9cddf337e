"""What is called a ledger now had other names in earlier versions, which still work."""

from privfit import accounting
from privfit.accounting import Gaussian, Ledger
from privfit.estimators.statement import PrivacyStatement


def test_earlier_names_are_the_same_things():
    ledger, promise = Ledger(rho=1.0), Gaussian.of(epsilon=1.0, delta=1e-6)
    statement = PrivacyStatement(None, (), {}, ledger=promise)
    assert accounting.AccountError is accounting.LedgerError
    assert ledger.account == ledger.identifier
    assert statement.account is promise


def test_a_statement_that_an_earlier_version_pickled_keeps_the_promise_of_its_ledger():
    promise = Gaussian.of(epsilon=1.0, delta=1e-6)
    new = PrivacyStatement(promise, ("nothing",), {"steps": 1.0}, ledger=promise)
    state = dict(new.__dict__)
    state["account"] = state.pop("ledger")
    old = PrivacyStatement.__new__(PrivacyStatement)
    old.__setstate__(state)
    assert old == new
    assert old.text == new.text
