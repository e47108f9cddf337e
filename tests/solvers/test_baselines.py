"""The two references against other people's solvers."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from privfit import DPLinearSVC, DPLogisticRegression
from privfit.solvers import NonPrivate

MODELS = {"logistic": DPLogisticRegression, "hinge": DPLinearSVC}
LOSSES = {"logistic": lambda m: np.logaddexp(0, -m), "hinge": lambda m: np.maximum(1 - m, 0)}


def table(n=600, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * [1.0, 3.0, 0.2, 1.0]
    return X, np.where(X @ [1.0, -0.5, 3.0, 0.0] + 0.5 + 1.5 * rng.logistic(size=n) > 0, 1, -1)


def fit(loss, X, y, solver="nonprivate", **settings):
    model = MODELS[loss](solver=solver, classes=(-1, 1), **settings).fit(X, y)
    return np.append(model.coef_, model.intercept_)


def objective(loss, w, X, y, alpha=0.0):
    return float(LOSSES[loss](y * (X @ w[:-1] + w[-1])).mean() + alpha / 2 * w @ w)


# -- nonprivate


@pytest.mark.parametrize("alpha", [1e-4, 0.02, 3.0])
def test_logistic_is_what_scikit_learn_finds(alpha):
    X, y = table()
    theirs = LogisticRegression(C=1 / (len(y) * alpha), fit_intercept=False, tol=1e-10, max_iter=10_000)
    theirs.fit(np.column_stack([X, np.ones(len(y))]), y)  # their intercept is not regularised, ours is
    np.testing.assert_allclose(fit("logistic", X, y, alpha=alpha), theirs.coef_[0], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("alpha", [1e-3, 0.02, 3.0])
def test_hinge_with_a_regulariser_is_what_liblinear_finds(alpha):
    X, y = table()
    theirs = LinearSVC(
        loss="hinge", dual=True, C=1 / (len(y) * alpha), fit_intercept=False, tol=1e-8, max_iter=1_000_000
    ).fit(np.column_stack([X, np.ones(len(y))]), y)
    best = objective("hinge", theirs.coef_[0], X, y, alpha)
    assert objective("hinge", fit("hinge", X, y, alpha=alpha), X, y, alpha) <= best + 1e-5


@pytest.mark.parametrize("seed", range(3))
def test_hinge_without_a_regulariser_solves_the_linear_programme(seed):
    X, y = table(seed=seed)
    n, p = X.shape
    costs = np.concatenate([np.zeros(p + 1), np.full(n, 1 / n)])
    constraints = -np.hstack([y[:, None] * np.column_stack([X, np.ones(n)]), np.eye(n)])
    free, positive = [(None, None)] * (p + 1), [(0, None)] * n
    best = linprog(costs, A_ub=constraints, b_ub=-np.ones(n), bounds=free + positive).fun
    assert best - 1e-9 <= objective("hinge", fit("hinge", X, y), X, y) <= best + 2e-5


@pytest.mark.parametrize("loss", LOSSES)
def test_columns_in_dollars_and_in_metres_are_no_obstacle(loss):
    X, y = table()
    units = np.array([1e6, 1.0, 1e-4, 30.0])
    w, scaled = fit(loss, X, y), fit(loss, X * units, y)
    assert objective(loss, scaled, X * units, y) == pytest.approx(objective(loss, w, X, y), abs=2e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_without_an_intercept_the_model_is_linear(loss):
    X, y = table()
    w = fit(loss, X, y, fit_intercept=False)
    assert w[-1] == 0.0
    nudges = [objective(loss, w + step, X, y) for step in 0.01 * np.eye(5)[:4]]
    assert objective(loss, w, X, y) < min(nudges)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_column_of_zeros_has_no_weight(loss):
    X, y = table()
    X[:, 3] = 0.0
    assert fit(loss, X, y)[3] == 0.0


@pytest.mark.parametrize("loss", LOSSES)
def test_stopping_early_is_told(loss):
    X, y = table()
    with pytest.warns(ConvergenceWarning, match="not optimal after 2 iterations; raise max_iter"):
        fit(loss, X, y, NonPrivate(max_iter=2))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("alpha", [0.1, 3.0])
def test_rare_columns_under_a_strong_regulariser_take_few_iterations(loss, alpha):
    rng = np.random.default_rng(0)
    X = (rng.random((2000, 30)) < np.geomspace(0.5, 0.002, 30)).astype(float)
    y = np.where(X @ rng.normal(size=30) + rng.logistic(size=2000) > 0, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        fit(loss, X, y, NonPrivate(max_iter=30), alpha=alpha)


@pytest.mark.parametrize("bad", [{"max_iter": 0}, {"tol": 0.0}])
def test_bad_settings_are_refused(bad):
    with pytest.raises(ValueError, match=r"NonPrivate needs a .* (max_iter|tol)"):
        NonPrivate(**bad)


# -- majority


@pytest.mark.parametrize("larger", [-1, 1])
def test_the_logistic_majority_is_the_log_odds(larger):
    X, y = np.ones((40, 2)), np.repeat([larger, -larger], [30, 10])
    np.testing.assert_allclose(fit("logistic", X, y, "majority"), [0.0, 0.0, larger * np.log(3)], atol=1e-6)


@pytest.mark.parametrize("larger", [-1, 1])
@pytest.mark.parametrize(("alpha", "size"), [(0.0, 1.0), (0.4, 1.0), (2.0, 0.25)])
def test_the_hinge_majority_puts_the_larger_class_on_the_margin(larger, alpha, size):
    """At |b| < 1 the slope is alpha |b| - 1/2; from 1 on it is alpha |b| + 1/4."""
    X, y = np.ones((40, 2)), np.repeat([larger, -larger], [30, 10])
    w = fit("hinge", X, y, "majority", alpha=alpha)
    np.testing.assert_allclose(w, [0.0, 0.0, larger * size], atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_single_class_is_the_majority(loss):
    model = MODELS[loss](solver="majority", classes=(0, 1)).fit(np.ones((5, 1)), np.ones(5))
    assert 1.0 - 1e-6 <= model.intercept_[0] <= 20.0
    assert list(model.predict(np.zeros((2, 1)))) == [1, 1]


@pytest.mark.parametrize("loss", LOSSES)
def test_a_constant_needs_an_intercept(loss):
    with pytest.raises(ValueError, match="needs an intercept"):
        fit(loss, *table(), "majority", fit_intercept=False)
