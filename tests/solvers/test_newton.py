"""Newton's steps: what they divide by, how many there are, and what they reach in so few passes."""

import math
from fractions import Fraction

import numpy as np
import pytest
from curators import curator_of
from scripted import ScriptedNoise

from privfit import DPLinearSVC, DPLogisticRegression
from privfit.accounting import Ledger
from privfit.curator import Measurement
from privfit.engine.problem import Problem
from privfit.losses import LOSSES
from privfit.mechanisms.noise import SeededNoise
from privfit.questions.products import triangle
from privfit.solvers import Newton
from privfit.solvers.newton import (
    FEWEST_AND_MOST_STEPS,
    MOST_COLUMNS,
    NOISE_PER_WEIGHT,
    REFRESH_AT,
    Curvature,
    newton_steps,
    noise_edge,
    planned_steps,
)

MODELS = {"logistic": DPLogisticRegression, "hinge": DPLinearSVC}
VALUES = {"logistic": lambda m: np.logaddexp(0, -m), "hinge": lambda m: np.maximum(1 - m, 0)}


def correlated(n=20_000, p=12, seed=1):
    """Return columns that one factor explains but for a tenth, and labels that hang on their differences."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, p))
    X = np.clip(X / 4, -1, 1)
    slopes = 20.0 * rng.normal(size=p)
    scores = X @ (slopes - slopes.mean())
    return X, np.where(scores + rng.logistic(size=n) > 0, 1.0, -1.0)


def run(X, y, *, rho=50.0, loss="logistic", noise=None, intercept=True, **public):
    ledger = Ledger(rho=rho)
    engine = Problem.of(X, y, LOSSES[loss], intercept=intercept)
    noise = ScriptedNoise(size=0.0) if noise is None else noise
    return Newton().solve(curator_of(engine, ledger, noise, epsilon=1.0, delta=1e-6, **public)), ledger


def objective(model_or_w, X, y, loss="logistic"):
    w = model_or_w
    return float(VALUES[loss](y * (X @ w[:-1] + w[-1])).mean())


@pytest.mark.parametrize("loss", MODELS)
def test_few_steps_arrive_where_columns_are_strongly_correlated(loss):
    """The plain walk of 600 steps is far from there: its steps must suit the largest curvature."""
    X, y = correlated()
    models = {
        name: MODELS[loss](20.0, 1e-6, solver=name, classes=(-1, 1), noise="seeded", random_state=0).fit(X, y)
        for name in ("newton", "gradient-descent", "nonprivate")
    }
    reached = {name: objective(np.append(m.coef_, m.intercept_), X, y, loss) for name, m in models.items()}
    assert reached["newton"] < reached["nonprivate"] + 0.015
    assert reached["gradient-descent"] > reached["nonprivate"] + 0.05
    assert models["newton"].n_iter_ == {"logistic": 12, "hinge": 100}[loss]


@pytest.mark.parametrize("loss", MODELS)
def test_a_strong_regulariser_is_part_of_the_curvature(loss):
    """Steps that did not know of it would overshoot by its strength over the curvature of the loss."""
    X, y = correlated(4000, 4)
    for alpha in (0.01, 100.0):
        found, _ = run(X, y, loss=loss, alpha=alpha, n_records=4000, rho=1e4)
        best = MODELS[loss](solver="nonprivate", alpha=alpha, classes=(-1, 1)).fit(X, y)
        best = np.append(best.coef_, best.intercept_)
        values = [objective(w, X, y, loss) + alpha / 2 * w @ w for w in (found.w, best)]
        assert values[0] < values[1] + 0.005 * abs(values[1])


@pytest.mark.parametrize("loss", MODELS)
@pytest.mark.parametrize("rho", [1e-4, 0.1, 10.0])
def test_steps_and_prices_are_what_is_said(loss, rho):
    X, y = correlated(2000, 30)
    with np.errstate(all="raise"):
        solution, ledger = run(X, y, loss=loss, rho=rho, noise=SeededNoise(3), n_records=2000)
    asked = [entry.what for entry in ledger.entries]
    steps = asked.count("gradient")
    assert steps == solution.n_iter
    assert FEWEST_AND_MOST_STEPS[0] <= steps <= FEWEST_AND_MOST_STEPS[1]
    assert asked.count("second moments") == 1
    assert asked.count("curvature") == (loss == "logistic"), "a kink's curvature holds nowhere else"
    if loss == "logistic":
        before = [what for what in asked[asked.index("second moments") : asked.index("curvature")]]
        assert before.count("gradient") == math.ceil(REFRESH_AT * steps)
    prices = [entry.rho for entry in ledger.entries if entry.what == "gradient"]
    np.testing.assert_allclose(prices, prices[0], rtol=1e-9)
    assert sum(Fraction(entry.rho) for entry in ledger.entries) == pytest.approx(rho)
    assert ledger.remaining < 1e-15 * rho
    assert np.isfinite(solution.w).all()


def test_steps_are_a_function_of_public_numbers_and_grow_with_the_columns():
    counts = []
    for p in (10, 30, 120):
        for seed in (1, 2):
            X, y = correlated(500, p, seed)
            counts.append(run(X, y, noise=SeededNoise(seed), n_records=500)[0].n_iter)
    assert counts[::2] == counts[1::2] == [12, 14, 27]
    assert [planned_steps(1.0, p, 7.0) for p in (2, 26, 2000)] == [14, 49, FEWEST_AND_MOST_STEPS[1]]
    assert planned_steps(1.0, 26, 0.55) == 88


def test_curvature_is_that_of_the_matrix_but_where_noise_could_hide_it():
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    matrix = vectors @ np.diag([8.0, 2.0, 1e-3]) @ vectors.T
    measured = Measurement(triangle(matrix), 0.1, 0.5)  # of sigma 0.1, up to its margin
    floor = 0.5 * noise_edge(0.1, 3)
    found = Curvature.of(measured, 0.5, np.zeros((3, 3)), 0.0)
    np.testing.assert_allclose(found.values, [floor, 1.0, 4.0], rtol=1e-6)
    np.testing.assert_allclose(found.step(vectors.T[0]), vectors.T[0] / 4.0)
    np.testing.assert_allclose(found.step(vectors.T[2]), vectors.T[2] / floor, rtol=1e-6)
    lifted = Curvature.of(measured, 0.5, 3.0 * np.eye(3), 6.0)
    np.testing.assert_allclose(lifted.values, [6.0, 6.0, 7.0])


def test_pure_noise_has_eigenvalues_up_to_its_edge():
    """Their largest is within 3% of the edge for d = 400 (its standard deviation there is .9%)."""
    d = 400
    noise = 2.5 * np.random.default_rng(0).normal(size=d * (d + 1) // 2)
    values = Curvature.of(Measurement(noise, 1e-9, 0.5), 1.0, np.zeros((d, d)), -math.inf).values
    assert values.max() == pytest.approx(noise_edge(2.5, d), rel=0.03)


def test_noise_moves_weights_without_curvature_by_its_length_at_most():
    """Of records without features only the noise is left; 12 x 40 weights tell its size within 10%."""
    X, y = np.zeros((1000, 40)), np.where(np.arange(1000) % 2, 1.0, -1.0)
    for rho in (1e-3, 1.0, 100.0):
        ends = []
        for seed in range(12):
            problem = Problem.of(X, y, LOSSES["logistic"])
            curator = curator_of(problem, Ledger(rho=rho), SeededNoise(seed), epsilon=1.0, delta=1e-6)
            ends.append(newton_steps(curator, 1000.0, np.zeros(41))[0][:-1])
        assert 0.3 * NOISE_PER_WEIGHT < np.sqrt(np.mean(np.square(ends))) < NOISE_PER_WEIGHT


def test_more_columns_than_it_can_take_are_refused_before_any_charge():
    ledger = Ledger(rho=1.0, delta=1e-6)
    X = np.zeros((3, MOST_COLUMNS + 1))
    with pytest.raises(ValueError, match=r"The solver 'newton' needs at most 2000 columns, .*adaptive"):
        DPLogisticRegression(solver="newton", classes=(0, 1), ledger=ledger).fit(X, [0, 1, 0])
    assert ledger.entries == ()
