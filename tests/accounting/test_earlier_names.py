"""What is called a ledger now had other names in earlier versions, which still work."""

import pytest

from privfit import accounting
from privfit.accounting import Gaussian, Ledger
from privfit.estimators.statement import PrivacyStatement


def test_earlier_names_are_the_same_things():
    ledger, promise = Ledger(rho=1.0), Gaussian.of(epsilon=1.0, delta=1e-6)
    statement = PrivacyStatement(None, (), {}, ledger=promise)
    with pytest.warns(FutureWarning, match="AccountError is called LedgerError now; privfit 0.3"):
        assert accounting.AccountError is accounting.LedgerError
    with pytest.warns(FutureWarning, match="Ledger.account is called identifier now"):
        assert ledger.account == ledger.identifier
    with pytest.warns(FutureWarning, match="PrivacyStatement.account is called ledger now"):
        assert statement.account is promise


def test_other_names_are_not_known():
    with pytest.raises(AttributeError, match="has no attribute 'Accounts'"):
        _ = accounting.Accounts


def test_a_statement_that_an_earlier_version_pickled_keeps_the_promise_of_its_ledger():
    promise = Gaussian.of(epsilon=1.0, delta=1e-6)
    new = PrivacyStatement(promise, ("nothing",), {"steps": 1.0}, ledger=promise)
    state = dict(new.__dict__)
    state["account"] = state.pop("ledger")
    old = PrivacyStatement.__new__(PrivacyStatement)
    old.__setstate__(state)
    assert old == new
    assert old.text == new.text
