"""Without noise, weighted models of several classes, of numbers and of counts are scikit-learn's."""

import numpy as np
import pytest
from replay import noise_from
from scripted import ScriptedNoise
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, QuantileRegressor

from privfit import DPLinearRegression, DPLogisticRegression, DPPoissonRegressor, DPQuantileRegressor
from privfit.solvers import GradientDescent

pytestmark = [
    pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning"),
    pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning"),
]

rng = np.random.default_rng(0)
N = 3000
X = rng.normal(size=(N, 3))
GROUP = rng.random(N) < 0.5  # two groups that are unlike, of different weights
WEIGHT = np.where(GROUP, rng.uniform(1.5, 3.0, N), rng.uniform(0.1, 0.5, N))
TRUE = np.array([[1.0, -0.5, 0.5], [-0.5, 1.0, 0.0], [0.0, 0.0, -1.0]])
SCORES = np.where(GROUP[:, None], X @ TRUE.T + [0.0, 0.5, 0.0], X @ TRUE.T[:, ::-1]) + rng.gumbel(size=(N, 3))
CLASS = SCORES.argmax(axis=1)
NUMBER = np.where(GROUP, X @ [3.0, 1.0, 0.0] + 5.0, X @ [-1.0, 2.0, 1.0] - 2.0) + rng.normal(size=N)
COUNT = rng.poisson(np.exp(np.where(GROUP, X @ [0.3, 0.1, 0.0] + 1.0, X @ [-0.1, 0.2, 0.1])))


def fit(kind, y, **settings):
    noise = ScriptedNoise(size=0.0)
    noise.radial = None
    with noise_from(noise):
        return kind(50.0, max_weight=3.0, **settings).fit(X, y, sample_weight=WEIGHT)


def scores(model):
    """Return coefficients and intercepts, which models of classes have up to a common shift."""
    found = np.column_stack([np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)])
    return found - found.mean(axis=0) if len(found) > 1 else found


@pytest.mark.parametrize("solver", ["adaptive", "newton", GradientDescent(clip=20.0)])
def test_several_classes(solver):
    expected = scores(LogisticRegression(C=np.inf).fit(X, CLASS, WEIGHT))
    assert np.abs(expected - scores(LogisticRegression(C=np.inf).fit(X, CLASS))).max() > 0.3
    found = fit(DPLogisticRegression, CLASS, solver=solver, classes=(0, 1, 2))
    np.testing.assert_allclose(scores(found), expected, atol=0.01)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 4.0, 2: 0.5}], ids=str)
def test_weights_of_several_classes(class_weight):
    expected = LogisticRegression(C=np.inf, class_weight=class_weight).fit(X, CLASS, WEIGHT)
    found = fit(DPLogisticRegression, CLASS, class_weight=class_weight, classes=(0, 1, 2))
    np.testing.assert_allclose(scores(found), scores(expected), atol=0.01)


@pytest.mark.parametrize("target_bounds", [None, (-20.0, 20.0)])
@pytest.mark.parametrize("solver", ["adaptive", "newton"])
def test_numbers(solver, target_bounds):
    expected = scores(LinearRegression().fit(X, NUMBER, WEIGHT))
    assert np.abs(expected - scores(LinearRegression().fit(X, NUMBER))).max() > 1.0
    found = fit(DPLinearRegression, NUMBER, solver=solver, target_bounds=target_bounds)
    np.testing.assert_allclose(scores(found), expected, atol=0.01)


def test_counts():
    expected = PoissonRegressor(alpha=0.0, tol=1e-8).fit(X, COUNT, WEIGHT)
    np.testing.assert_allclose(scores(fit(DPPoissonRegressor, COUNT)), scores(expected), atol=0.01)


def test_quantiles():
    expected = scores(QuantileRegressor(alpha=0.0, quantile=0.7).fit(X, NUMBER, WEIGHT))
    found = scores(fit(DPQuantileRegressor, NUMBER, quantile=0.7))
    np.testing.assert_allclose(found, expected, atol=0.15)  # the loss has a kink, which a walk rounds
