"""Solvers beside the default, given numbers and features in raw units: useful, or refused before a charge."""

import numpy as np
import pytest

from privfit import DPHuberRegressor, DPLinearRegression, DPPoissonRegressor, DPQuantileRegressor
from privfit.accounting import Ledger
from privfit.solvers import DPAGD, GradientDescent, ModernDPAGD, get_solver

N = 4_000
rng = np.random.default_rng(0)
UNIT = rng.uniform(-1.0, 1.0, (N, 3))
X = UNIT * [1.0, 50.0, 1000.0] + [0.0, 50.0, 3000.0]
NUMBERS = 1e5 + 2e4 * (UNIT @ [1.0, 0.5, -0.5]) + 8e3 * rng.normal(size=N)  # R^2 is .75 at best
LOG_MEANS = 1.5 + UNIT @ [0.8, 0.4, -0.4]
COUNTS = rng.poisson(np.exp(LOG_MEANS)).astype(float)
SEEDED = {"delta": 1e-6, "noise": "seeded", "random_state": 0}
REFUSING = ("frank-wolfe", "privgene", "sgd-ma", "sgd-adv")


def r2(y, predicted):
    return 1.0 - np.mean((y - predicted) ** 2) / np.var(y)


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [None, (0.0, 1e6)], ids=["nothing declared", "declared too wide"])
@pytest.mark.parametrize(
    ("model", "solver"),
    [
        (DPLinearRegression, GradientDescent(steps=200)),
        (DPQuantileRegressor, GradientDescent(steps=200)),
        (DPHuberRegressor, ModernDPAGD()),
        (DPLinearRegression, DPAGD()),
    ],
    ids=lambda given: getattr(given, "name", getattr(given, "__name__", None)),
)
def test_targets_of_a_hundred_thousand_are_learnt(model, solver, bounds):
    """In the features' own units R^2 was below -1,000."""
    fitted = model(4.0, solver=solver, target_bounds=bounds, **SEEDED).fit(X, NUMBERS)
    assert r2(NUMBERS, fitted.predict(X)) > 0.4


@pytest.mark.slow
@pytest.mark.parametrize("solver", [GradientDescent(steps=200), ModernDPAGD()], ids=lambda given: given.name)
def test_large_counts_are_learnt(solver):
    fitted = DPPoissonRegressor(4.0, solver=solver, **SEEDED).fit(X, 1e4 * COUNTS)
    assert r2(1e4 * COUNTS, fitted.predict(X)) > r2(COUNTS, np.exp(LOG_MEANS)) - 0.15


def refusal(model, solver, y, **settings):
    """Return the refusal, before which nothing was charged."""
    ledger = Ledger.keeping(get_solver(solver).promise(epsilon=4.0, delta=1e-6))
    with pytest.raises(ValueError, match="needs") as refused:
        model(solver=solver, ledger=ledger, **settings).fit(X, y)
    assert not ledger.entries
    return str(refused.value)


@pytest.mark.parametrize("solver", REFUSING)
@pytest.mark.parametrize("model", [DPHuberRegressor, DPPoissonRegressor])
def test_solvers_of_labels_refuse_numbers_and_name_the_default(model, solver):
    found = refusal(model, solver, COUNTS, target_bounds=(0.0, 100.0))
    assert "targets that are labels" in found
    assert "solvers that would do: adaptive" in found


def test_newton_refuses_counts_and_names_the_default():
    found = refusal(DPPoissonRegressor, "newton", COUNTS)
    assert "'newton' needs labels or numbers" in found
    assert "solvers that would do: adaptive" in found


@pytest.mark.parametrize("solver", ["dpagd", "dpagd-modern"])
def test_line_searches_refuse_a_penalty_on_numbers(solver):
    assert "alpha = 0 for numbers" in refusal(DPHuberRegressor, solver, NUMBERS, alpha=0.01)
