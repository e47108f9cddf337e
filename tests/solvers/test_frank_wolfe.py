"""Private Frank-Wolfe against a transcription under the same noise, and what is said of its cost."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from curators import curator_of
from scripted import ScriptedNoise

from privfit import DPLogisticRegression
from privfit.accounting import Ledger
from privfit.engine.layouts.dense import DenseLayout
from privfit.engine.problem import Problem
from privfit.losses import LOSSES
from privfit.mechanisms.noise import SeededNoise
from privfit.solvers import FrankWolfe

CURVATURE = {"logistic": 0.25, "hinge": 1.0}


def table(n=800, p=5, seed=1):
    """Return features in [-1, 1], of which the first three matter, and few positives."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, p))
    return X, np.where(X[:, :3] @ [4.0, -2.0, 1.0] - 1.0 + rng.logistic(size=n) > 0, 1.0, -1.0)


def run(solver, X, y, *, rho=0.05, loss="logistic", noise=None, intercept=True, **public):
    ledger = Ledger(rho=rho)
    problem = Problem.of(X, y, LOSSES[loss], intercept=intercept)
    noise = ScriptedNoise(5) if noise is None else noise
    return solver.solve(curator_of(problem, ledger, noise, epsilon=1.0, delta=1e-6, **public)), ledger, noise


def declared(p, n):
    return {"bounds": (np.full(p, -1.0), np.full(p, 1.0)), "n_records": n}


def transcription(X, y, loss, *, radius, rho, n, alpha, intercept, seed):
    """Magnitudes are bought first: 71 numbers a column, of 2% of the budget, and all of them say 1."""
    draw = np.random.default_rng(seed)
    p = X.shape[1]
    draw.standard_normal(71 * p)
    rho = 0.98 * rho
    steps = math.ceil((radius * CURVATURE[loss] / 7 * n * math.sqrt(2 * rho) / math.log(2 * p)) ** (2 / 3))
    step = min(radius / steps, 1 / alpha if alpha else math.inf)
    w, b = np.zeros(p), 0.0

    def slopes():
        m = y * (X @ w + b)
        return y * (-1 / (1 + np.exp(m)) if loss == "logistic" else -(m < 1).astype(float))

    for _ in range(steps):
        share = 0.0
        if intercept:
            share = 0.1
            noise = math.sqrt(steps / (2 * share * rho)) * draw.standard_normal(1)[0]
            b -= ((slopes().sum() + noise) / n + alpha * b) / (CURVATURE[loss] + alpha)
        G = X.T @ slopes() + n * alpha * w
        scale = math.sqrt(steps / (2 * (1 - share) * rho))
        best = np.argmax(np.concatenate([-G, G]) + draw.gumbel(scale=scale, size=2 * p))
        w[best % p] += step if best < p else -step
    return np.append(w, b) if intercept else w


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.05])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_takes_the_steps_of_the_transcription(loss, alpha, intercept):
    """The number of records is declared as 1000 where 800 are there."""
    X, y = table()
    solver = FrankWolfe(radius=7.0)
    solution, _, _ = run(solver, X, y, loss=loss, alpha=alpha, intercept=intercept, **declared(5, 1000))
    settings = {"radius": 7.0, "rho": 0.05, "n": 1000, "alpha": alpha, "intercept": intercept}
    expected = transcription(X, y, loss, **settings, seed=5)
    np.testing.assert_allclose(solution.w, expected, rtol=1e-4, atol=1e-4)
    assert np.abs(expected[:5]).sum() > 1.5


@pytest.mark.parametrize("public", [{}, {"n_records": 800}])
@pytest.mark.parametrize("rho", [1e-9, 0.05, 100.0])
def test_the_budget_is_shared_evenly_and_spent(rho, public):
    X, y = table()
    solution, ledger, _ = run(FrankWolfe(), X, y, rho=rho, **public)
    assert ledger.spent == ledger.rho
    assert sum(Fraction(e.rho) for e in ledger.entries) <= Fraction(rho) * (1 + Fraction(1, 2**53))
    prices = np.array([(step.rho_gradient, step.rho_selection) for step in solution.trace])
    np.testing.assert_allclose(prices, np.tile(prices[0], (len(prices), 1)), rtol=1e-9)
    np.testing.assert_allclose(prices[:, 0], 0.1 * prices.sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize(("rho", "steps", "wide_steps"), [(1e-9, 6, 6), (0.05, 12, 7), (1e3, 200, 179)])
def test_more_budget_buys_more_steps_and_more_columns_fewer(rho, steps, wide_steps):
    X, y = table()
    solution, _, _ = run(FrankWolfe(), X, y, rho=rho, **declared(5, 800))
    assert solution.n_iter == steps
    wide = np.hstack([X, np.zeros((800, 95))])
    solution, _, _ = run(FrankWolfe(), wide, y, rho=rho, **declared(100, 800))
    assert solution.n_iter == wide_steps


@pytest.mark.parametrize("radius", [0.5, 10.0])
def test_the_weights_stay_in_the_ball_and_few_columns_have_one(radius):
    X, y = table()
    wide = np.hstack([X, np.random.default_rng(0).uniform(-1, 1, size=(800, 95))])
    solution, _, _ = run(FrankWolfe(radius=radius), wide, y, rho=0.05, **declared(100, 800))
    weights = solution.w[:100]
    assert np.abs(weights).sum() <= radius * (1 + 1e-12)
    assert 1 <= np.count_nonzero(weights) <= solution.n_iter
    assert f"{np.count_nonzero(weights)} columns a weight" in solution.notes[-1]


def test_a_strong_regulariser_leaves_next_to_no_weight():
    X, y = table()
    solution, _, _ = run(FrankWolfe(), X, y, rho=10.0, alpha=1e9, **declared(5, 800))
    assert np.abs(solution.w).sum() < 1e-6


def test_the_intercept_of_a_rare_label_is_found_outside_the_ball():
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-1, 1, size=(5000, 4)), np.where(rng.random(5000) < 0.03, 1.0, -1.0)
    solution, _, _ = run(FrankWolfe(radius=2.0), X, y, rho=1.0, **declared(4, 5000))
    assert solution.w[-1] == pytest.approx(math.log(0.03 / 0.97), abs=0.3)


class Counted(DenseLayout):
    """A layout that counts the passes over X, chunk by chunk."""

    rows = 0

    def parts(self, rows):
        type(self).rows += rows.stop - rows.start
        return super().parts(rows)


def test_a_step_takes_two_passes_and_without_an_intercept_one(monkeypatch):
    X, y = table()
    for intercept, each in ((True, 2), (False, 1)):
        passes = []
        for rho in (1e-3, 0.05):
            Counted.rows = 0
            solution, _, _ = run(
                FrankWolfe(), Counted(X), y, rho=rho, intercept=intercept, **declared(5, 800)
            )
            passes.append(Counted.rows / len(X) - each * solution.n_iter)
        assert passes[0] == passes[1] <= 6  # before the first step: norms, bounds, magnitudes, largest values


def test_columns_that_matter_are_found_among_a_hundred_thousand_of_a_sparse_table():
    """Steps go astray only after the informative columns have their weight."""
    rng = np.random.default_rng(0)
    n, p = 20_000, 100_000
    informative = rng.random((n, 4)) < 0.3
    others = sp.csr_matrix(
        (np.ones(20 * n), rng.integers(p - 4, size=20 * n), np.arange(0, 20 * n + 1, 20)), shape=(n, p - 4)
    )
    others.sum_duplicates()
    others.data[:] = 1.0
    X = sp.hstack([sp.csr_matrix(informative.astype(float)), others], format="csr")
    y = (informative @ [2.0, -2.0, 2.0, -2.0] + rng.logistic(size=n) > 0.0).astype(int)
    model = DPLogisticRegression(
        1.0,
        solver="frank-wolfe",
        classes=(0, 1),
        n_records=n,
        feature_bounds=(0.0, 1.0),
        noise="seeded",
        random_state=0,
    ).fit(X, y)
    found = model.coef_[0] / np.abs(model.coef_).max()
    assert (found[:4] @ [1, -1, 1, -1]) / 4 > 0.7
    assert np.abs(found[4:]).max() < 0.5
    assert model.score(X, y) > 0.7


def test_selection_costs_what_the_exponential_mechanism_costs_at_its_width():
    """The scale b of Gumbel noise is that of the price C^2 / (2 b^2): P3 at the width 2 C, not C."""
    X, y = table()
    solution, _, noise = run(FrankWolfe(), X, y, rho=0.05, **declared(5, 800))
    for (_, scale, shape), step in zip(noise.argmax_inputs, solution.trace, strict=True):
        assert shape == "gumbel"
        assert scale == pytest.approx(1.0 / math.sqrt(2.0 * step.rho_selection), rel=1e-4)


def test_noise_is_drawn_afresh_in_every_step():
    X, y = table(60)
    models = [run(FrankWolfe(), X, y, rho=1e-6, noise=SeededNoise(seed))[0].w for seed in range(3)]
    assert len({tuple(w) for w in models}) == 3
    assert all(np.count_nonzero(w[:-1]) > 1 for w in models)


def test_noise_on_few_records_does_not_throw_the_intercept_about():
    X, y = table(40)
    for seed in range(5):
        noise = SeededNoise(np.random.default_rng(seed))
        w = run(FrankWolfe(), X, y, rho=1e-4, noise=noise, **declared(5, 40))[0].w
        assert abs(w[-1]) <= 20.0
