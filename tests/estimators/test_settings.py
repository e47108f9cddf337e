"""Settings: what is weak is warned of, and whoever made a mistake is answered in their own words."""

import warnings

import numpy as np
import pytest

from privfit import BudgetExceeded, DPLinearSVC, DPLogisticRegression, Ledger, WeakPromiseWarning
from privfit.preprocessing import PrivateBounds

pytestmark = pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(200, 3)), np.arange(200) % 2
models = pytest.mark.parametrize("model", [DPLogisticRegression, DPLinearSVC])


@models
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": 20.5}, r"epsilon=20\.5 lets the odds about a person change by a factor of e\^20\.5"),
        ({"rho": 30.0}, "lets the odds"),
        ({"delta": 0.01, "n_records": 200}, "delta=0.01 is above 1/n_records"),
    ],
)
def test_a_promise_that_is_worth_little_is_warned_of(model, settings, message):
    with pytest.warns(WeakPromiseWarning, match=message):
        model(**settings).fit(X, Y)


@models
@pytest.mark.parametrize(
    "settings",
    [{"epsilon": 20.0}, {"delta": 0.005, "n_records": 200}, {"delta": 0.3}, {"solver": "nonprivate"}],
)
def test_other_promises_are_not(model, settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakPromiseWarning)
        model(**settings).fit(X, Y)


@models
def test_whoever_spoke_epsilon_is_refused_in_epsilon_and_hears_of_no_account_they_did_not_open(model):
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    model(epsilon=0.8, ledger=ledger).fit(X, Y)
    with pytest.raises(BudgetExceeded) as refusal:
        model(epsilon=0.9, ledger=ledger).fit(X, Y)
    text = str(refusal.value)
    assert text.startswith(f"this fit of {model.__name__} needs epsilon=0.9, ")
    assert text.endswith("left of 1; raise the budget or ask for less.")
    for word in ("rho", "portion", "sub-account"):
        assert word not in text


def test_whoever_spoke_rho_is_refused_in_rho():
    ledger = Ledger(rho=0.1)
    with pytest.raises(BudgetExceeded, match=r"this fit of PrivateBounds needs rho=0\.2, 0\.1 left of 0\.1;"):
        PrivateBounds(rho=0.2, ledger=ledger).fit(X)


@models
def test_the_default_epsilon_is_one(model):
    assert model().fit(X, Y).privacy_.epsilon == 1.0
    assert PrivateBounds().fit(X).privacy_.epsilon == 0.1
