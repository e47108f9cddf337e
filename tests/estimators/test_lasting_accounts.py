"""Fits that draw on an account in a file: reserved before the first look, settled after the last."""

import pickle

import numpy as np
import pytest
from forging import change
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from privfit import BudgetExceeded, DPLogisticRegression, Ledger
from privfit.accounting import BrokenChain, LedgerError
from privfit.curator import Curator
from privfit.metrics import evaluate
from privfit.preprocessing import PrivateBounds

RNG = np.random.default_rng(5)
X = RNG.normal(size=(400, 3))
Y = (X[:, 0] > 0).astype(int)
FIT = {"epsilon": 0.5, "delta": 1e-6, "n_records": 400}


@pytest.fixture
def ledger(tmp_path):
    return Ledger.open(f"sqlite:///{tmp_path}/people.db", dataset="census", epsilon=3, delta=1e-6)


@pytest.fixture
def looks(ledger, monkeypatch):
    """Return a list of what others see of the account whenever the records are looked at."""
    seen, blurred = [], Curator._with_noise

    def blur(self, what, claim, look, *rest):
        def noted():
            seen.append(Ledger.open(ledger.url, dataset="census").spent)
            return look()

        return blurred(self, what, claim, noted, *rest)

    monkeypatch.setattr(Curator, "_with_noise", blur)
    return seen


@pytest.mark.parametrize("estimator", [DPLogisticRegression(**FIT), PrivateBounds(epsilon=0.5)])
def test_a_fit_reserves_its_portion_before_the_first_look_and_settles_after_the_last(
    ledger, looks, estimator
):
    fitted = clone(estimator).set_params(ledger=ledger).fit(X, Y)
    assert set(looks) == {fitted.privacy_.rho}
    reserved, settled = ledger.entries
    assert reserved.what == settled.what == f"this fit of {estimator._noun}"
    assert settled.settles == 1
    assert ledger.spent == pytest.approx(fitted.ledger_.spent, rel=1e-12)
    assert ledger.spent >= fitted.ledger_.spent
    with pytest.raises(RuntimeError, match="was settled and pays for nothing more"):
        fitted.ledger_.charge(1e-6)


@pytest.mark.parametrize("blow", [FloatingPointError("diverged"), KeyboardInterrupt(), SystemExit(1)])
def test_a_fit_that_does_not_end_well_leaves_all_that_it_reserved_spent(ledger, monkeypatch, blow):
    def fails(self, *arguments):
        raise blow

    monkeypatch.setattr(Curator, "_with_noise", fails)
    model = DPLogisticRegression(**FIT, ledger=ledger)
    with pytest.raises(type(blow)) as failure:
        model.fit(X, Y)
    (entry,) = ledger.entries
    assert entry.mechanism == "reserved"
    assert ledger.spent == entry.rho > 0.005
    if isinstance(blow, KeyboardInterrupt):
        said = "All that it reserved on the ledger of 'census' stays spent: epsilon = "
        assert said in failure.value.__notes__[0]


def test_a_refused_fit_reserves_nothing_and_looks_at_nothing(ledger, looks):
    ledger.charge(0.99 * ledger.rho, kind="gaussian")
    with pytest.raises(BudgetExceeded, match="this fit of a logistic regression needs epsilon = "):
        DPLogisticRegression(**FIT, ledger=ledger).fit(X, Y)
    assert len(ledger.entries) == 1
    assert looks == []


def test_a_store_that_cannot_be_reached_is_said_before_the_first_look(ledger, looks, tmp_path):
    (tmp_path / "people.db").rename(tmp_path / "elsewhere.db")
    with pytest.raises(LedgerError, match="cannot be opened; check path and permissions"):
        DPLogisticRegression(**FIT, ledger=ledger).fit(X, Y)
    assert looks == []


def test_a_model_is_not_lost_if_its_account_cannot_be_settled(ledger, monkeypatch, tmp_path):
    settle = Ledger.settle

    def unreachable(self):
        (tmp_path / "people.db").rename(tmp_path / "elsewhere.db")
        settle(self)

    monkeypatch.setattr(Ledger, "settle", unreachable)
    with pytest.warns(
        UserWarning, match="All that this fit reserved stays spent, because it cannot be settled"
    ):
        model = DPLogisticRegression(**FIT, ledger=ledger).fit(X, Y)
    assert model.coef_.shape == (1, 3)
    (tmp_path / "elsewhere.db").rename(tmp_path / "people.db")
    assert ledger.spent == model.privacy_.rho


def test_a_model_is_not_lost_if_its_ledger_was_forged_meanwhile(ledger, monkeypatch, tmp_path):
    settle = Ledger.settle

    def forged(self):
        change(tmp_path / "people.db", "UPDATE privfit_accounts SET who = 'eve'")
        settle(self)

    monkeypatch.setattr(Ledger, "settle", forged)
    with pytest.warns(UserWarning, match="cannot be settled. The ledger of 'census' is not what was written"):
        model = DPLogisticRegression(**FIT, ledger=ledger).fit(X, Y)
    assert model.coef_.shape == (1, 3)
    with pytest.raises(BrokenChain):
        DPLogisticRegression(**FIT, ledger=ledger).fit(X, Y)


def test_scores_are_paid_from_the_account_and_settled(ledger):
    model = DPLogisticRegression(**FIT, ledger=ledger).fit(X, Y)
    scores = evaluate(model, X, Y, rho=0.01, ledger=ledger)
    assert [entry.mechanism for entry in ledger.entries] == ["reserved", "settled"] * 2
    assert ledger.entries[2].rho == 0.01
    assert scores.privacy.rho == 0.01
    ledger.verify()


@pytest.mark.slow
def test_a_search_in_two_processes_draws_every_fit_from_one_account(ledger):
    model = DPLogisticRegression(epsilon=0.3, delta=1e-6, n_records=400, ledger=ledger)
    search = GridSearchCV(model, {"alpha": [0.0, 1e-3, 1e-2]}, cv=2, n_jobs=2, error_score="raise")
    search.fit(X, Y)
    reserved = [entry for entry in ledger.entries if entry.settles is None]
    assert len(reserved) == 3 * 2 + 1
    assert len(ledger.entries) == 2 * len(reserved)
    assert {entry.rho for entry in reserved} == {search.best_estimator_.privacy_.rho}
    assert 0 < ledger.spent <= sum(entry.rho for entry in reserved)
    ledger.verify()


@pytest.mark.slow
def test_a_search_in_two_processes_stops_when_the_account_is_empty(tmp_path):
    ledger = Ledger.open(f"sqlite:///{tmp_path}/people.db", dataset="census", epsilon=0.7, delta=1e-6)
    model = DPLogisticRegression(epsilon=0.3, delta=1e-6, n_records=400, ledger=ledger)
    search = GridSearchCV(model, {"alpha": [0.0, 1e-3, 1e-2, 0.1]}, cv=2, n_jobs=2, error_score="raise")
    with pytest.raises(BudgetExceeded, match=r"left of epsilon = 0\.7 "):
        search.fit(X, Y)
    assert 0 < ledger.spent <= ledger.rho


def test_a_pickled_model_tells_where_its_account_is_and_nothing_of_its_entries(ledger):
    ledger.charge(0.001, what="canary", kind="gaussian")
    model = DPLogisticRegression(**FIT, ledger=ledger).fit(X, Y)
    text = pickle.dumps(model)
    assert b"people.db" in text
    assert b"canary" not in text
    assert pickle.loads(text).ledger is ledger
