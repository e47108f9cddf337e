"""Settings: what is weak is warned of, and whoever made a mistake is answered in their own words."""

import warnings

import numpy as np
import pandas as pd
import pytest

from privfit import BudgetExceeded, DPLinearSVC, DPLogisticRegression, Ledger, WeakPromiseWarning, metrics
from privfit.mechanisms.noise import SeededNoise
from privfit.preprocessing import PrivateBounds

pytestmark = pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(200, 3)), np.arange(200) % 2
models = pytest.mark.parametrize("model", [DPLogisticRegression, DPLinearSVC])


@models
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": 10.5}, r"epsilon = 10\.5 lets the odds about a record change by a factor of e\^10\.5"),
        ({"rho": 30.0}, "lets the odds"),
        ({"delta": 0.01, "n_records": 200}, r"delta = 0\.01 is above 1 divided by the number of records"),
    ],
)
def test_a_promise_that_is_worth_little_is_warned_of(model, settings, message):
    with pytest.warns(WeakPromiseWarning, match=message):
        model(**settings).fit(X, Y)


@models
@pytest.mark.parametrize("solver", ["adaptive", "frank-wolfe", "objective-perturbation"])
def test_a_delta_above_one_over_a_bought_number_of_records_is_warned_of(model, solver):
    """The noise of the count is below 10 here, and 1/delta is 4: a false alarm is beyond 15 sigma."""
    with pytest.warns(WeakPromiseWarning, match=r"delta = 0\.25 is above 1 divided by the number of records"):
        model(epsilon=10.0, delta=0.25, solver=solver, alpha=0.1).fit(X, Y)


@pytest.fixture
def large_noise(monkeypatch):
    """Draw noise of two standard deviations: at epsilon = 1e-5 that is more than a million records."""
    monkeypatch.setattr(SeededNoise, "gaussian", lambda self, values, sigma: values + 2.0 * sigma)
    monkeypatch.setattr(SeededNoise, "laplace", lambda self, values, scale: values + 2.8 * scale)


@pytest.mark.usefixtures("large_noise")
@pytest.mark.filterwarnings("error::privfit.WeakPromiseWarning")
@pytest.mark.parametrize("solver", ["adaptive", "gradient-descent", "frank-wolfe", "objective-perturbation"])
def test_a_bought_number_of_records_that_is_noise_alone_warns_of_nothing(solver):
    DPLogisticRegression(1e-5, 1e-6, solver=solver, alpha=0.1, noise="seeded", random_state=0).fit(X, Y)


@pytest.mark.usefixtures("large_noise")
@pytest.mark.filterwarnings("error::privfit.WeakPromiseWarning")
def test_scores_that_are_noise_alone_warn_of_nothing():
    fitted, settings = DPLogisticRegression(n_records=200).fit(X, Y), {"noise": "seeded", "random_state": 0}
    metrics.evaluate(
        fitted, X, Y, epsilon=1e-7, delta=1e-6, curves=False, ledger=Ledger(epsilon=1.0), **settings
    )


def test_scores_warn_of_a_delta_above_one_over_the_number_of_records_they_bought():
    """The noise of the number of records is below 2 at this price."""
    fitted = DPLogisticRegression(n_records=200).fit(X, Y)
    with pytest.warns(WeakPromiseWarning, match="number of records"):
        metrics.evaluate(fitted, X, Y, rho=1.0, delta=0.1, ledger=Ledger(rho=2.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakPromiseWarning)
        metrics.evaluate(fitted, X, Y, rho=1.0, delta=1e-6, ledger=Ledger(rho=2.0))


# -- bounds -------------------------------------------------------------------------------------------------

FRAME = pd.DataFrame({"age": rng.uniform(18, 90, 200), "income": rng.uniform(1e3, 1e5, 200)})
PAIRS = [(18, 90), (1000, 100000)]
LOW, HIGH = [18.0, 1000.0], [90.0, 100000.0]


def bounded(bounds, table=FRAME):
    return DPLogisticRegression(n_records=200, feature_bounds=bounds).fit(table, Y).feature_bounds_


@pytest.mark.parametrize(
    "bounds",
    [
        {"age": (18, 90), "income": (1000, 100000)},
        {"income": [1000, 100000], "age": np.array([18, 90])},
        (np.array(LOW), np.array(HIGH)),
        [pd.Series(LOW), pd.Series(HIGH)],
    ],
    ids=["by name", "in another order", "arrays", "series"],
)
def test_bounds_of_two_columns(bounds):
    low, high = bounded(bounds)
    assert (low.tolist(), high.tolist()) == (LOW, HIGH)


@pytest.mark.parametrize(
    ("bounds", "low"), [((0, 2), [0, 0]), (([0, 0], [1, 1]), [0, 0]), ((0, [1, 5]), [0, 0])]
)
def test_bounds_that_can_be_read_in_one_way_only(bounds, low):
    assert bounded(bounds)[0].tolist() == low


def test_bounds_that_were_bought_can_be_used():
    """They are a pair of arrays, also of two columns."""
    bought = PrivateBounds(epsilon=8.0).fit(FRAME).bounds_
    assert bounded(bought)[0].tolist() == bought[0].tolist()


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (PAIRS, r"^feature_bounds of two columns can be read in two ways.*give \{name: \(low, high\)\}"),
        (tuple(map(list, PAIRS)), "can be read in two ways"),
        (np.array(PAIRS), "can be read in two ways"),
        ([(-5, 5), (-1, 1)], r"low < high in every column; they are \(lows, highs\), or \{name"),
        ([*PAIRS, (0, 1)], r"feature_bounds must be \(low, high\).*or \{name: \(low, high\)\}"),
        ({"age": (18, 90)}, "^feature_bounds lack 'income'; give"),
        ({"age": (0, 1), "income": (0, 1), "x": (0, 1)}, "^feature_bounds name 'x', which is no column of X"),
        ({"age": (0, 1), "income": (0, 1, 2)}, "with two numbers for each column"),
        ({"age": (0, 1), "income": (1, 0)}, "low < high in every column"),
        ({"age": (0, 1), "income": ("low", "high")}, "with two numbers for each column"),
    ],
)
def test_bounds_that_are_ambiguous_or_wrong_are_refused(bounds, message):
    ledger = Ledger(rho=1.0)
    with pytest.raises(ValueError, match=message):
        DPLogisticRegression(rho=0.1, ledger=ledger, feature_bounds=bounds).fit(FRAME, Y)
    assert ledger.spent == 0.0


def test_bounds_by_name_need_names():
    with pytest.raises(ValueError, match="X has no column names; make X a frame, or give"):
        bounded({"age": (18, 90), "income": (1000, 100000)}, FRAME.to_numpy())


@models
@pytest.mark.parametrize(
    "settings",
    [{"epsilon": 10.0}, {"delta": 0.005, "n_records": 200}, {"solver": "nonprivate", "delta": 0.3}],
)
def test_other_promises_are_not(model, settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakPromiseWarning)
        model(**settings).fit(X, Y)


@models
def test_whoever_spoke_epsilon_is_refused_in_epsilon_first_and_hears_of_no_ledger_they_did_not_open(model):
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    model(epsilon=0.8, ledger=ledger).fit(X, Y)
    with pytest.raises(BudgetExceeded) as refusal:
        model(epsilon=0.9, ledger=ledger).fit(X, Y)
    text = str(refusal.value)
    assert text.startswith(
        f"this fit of {model()._noun} needs epsilon = 0.9 (rho = 0.02304) at delta = 1e-06, and "
    )
    assert text.endswith("is left of epsilon = 1 (rho = 0.02801); ask for no more than that.")
    for word in ("raise", "portion", "sub-account"):
        assert word not in text


def test_whoever_spoke_rho_is_refused_in_rho_first():
    ledger = Ledger(rho=0.1)
    with pytest.raises(
        BudgetExceeded, match=r"this fit of private bounds needs rho = 0\.2 .* left of rho = 0\.1 "
    ):
        PrivateBounds(rho=0.2, ledger=ledger).fit(X)


@models
def test_the_default_epsilon_is_one(model):
    assert model().fit(X, Y).privacy_.epsilon == 1.0
    assert PrivateBounds().fit(X).privacy_.epsilon == 0.1
