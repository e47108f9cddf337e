"""Noisy gradient descent against a transcription under the same noise."""

import math
from fractions import Fraction

import numpy as np
import pytest
from curators import curator_of
from scripted import ScriptedNoise

from privfit import DPLinearSVC, DPLogisticRegression
from privfit.accounting import Ledger
from privfit.engine.problem import Problem
from privfit.losses import LOSSES
from privfit.solvers import GradientDescent

MODELS = {"logistic": DPLogisticRegression, "hinge": DPLinearSVC}


def table(n=800, p=3, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.where(X @ np.array([2.0, -1.0, 0.5]) + 0.5 * rng.logistic(size=n) > 0, 1.0, -1.0)


def run(solver, X, y, *, rho=0.05, loss="logistic", noise=None, intercept=True, **public):
    ledger = Ledger(rho=rho)
    engine = Problem.of(X, y, LOSSES[loss], intercept=intercept)
    noise = ScriptedNoise(5) if noise is None else noise
    return solver.solve(curator_of(engine, ledger, noise, epsilon=1.0, delta=1e-6, **public)), ledger, noise


def transcription(X, y, loss, *, steps, step, clip, rho, n, alpha, seed):
    draw = np.random.default_rng(seed)
    Z = np.column_stack([X, np.ones(len(y))])
    path = [np.zeros(Z.shape[1])]
    for _ in range(steps):
        w = path[-1]
        m = y * (Z @ w)
        slope = -1 / (1 + np.exp(m)) if loss == "logistic" else -(m < 1).astype(float)
        G = (slope * y)[:, None] * Z
        G *= np.minimum(1, clip / np.maximum(np.linalg.norm(G, axis=1), 1e-300))[:, None]
        noise = clip / math.sqrt(2 * rho / steps) * draw.standard_normal(Z.shape[1])
        path.append(w - step * ((G.sum(axis=0) + noise) / n + alpha * w))
    return np.mean(path[1:][steps // 2 :], axis=0)


@pytest.mark.parametrize("steps", [1, 40, 41])
@pytest.mark.parametrize("alpha", [0.0, 0.05])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_takes_the_steps_of_the_transcription(loss, alpha, steps):
    """The number of records is declared as 1000 where 800 are there."""
    X, y = table()
    solver = GradientDescent(steps=steps, step=0.3, clip=1.2)
    solution, _, _ = run(solver, X, y, loss=loss, alpha=alpha, n_records=1000)
    settings = {"steps": steps, "step": 0.3, "clip": 1.2, "rho": 0.05, "n": 1000, "alpha": alpha}
    np.testing.assert_allclose(
        solution.w, transcription(X, y, loss, **settings, seed=5), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("public", [{}, {"n_records": 800}])
@pytest.mark.parametrize("rho", [1e-9, 0.05, 100.0])
def test_the_budget_is_shared_evenly_and_spent(rho, public):
    X, y = table()
    solution, ledger, _ = run(GradientDescent(steps=7), X, y, rho=rho, **public)
    assert ledger.spent == ledger.rho
    assert sum(Fraction(e.rho) for e in ledger.entries) <= Fraction(rho) * (1 + Fraction(1, 2**53))
    prices = [step.rho_gradient for step in solution.trace]
    np.testing.assert_allclose(prices, prices[0], rtol=1e-9)
    counts = [e.rho for e in ledger.entries if e.what == "number of records"]
    assert counts == ([] if public else [pytest.approx(0.002 * rho)])


def test_the_walk_is_no_longer_than_the_noise_allows():
    """Standing on noise alone, a weight of the last point would have moved by 1/2 (standard deviation)."""
    X, y = table()
    solution, _, noise = run(GradientDescent(steps=50, clip=1.2), X, y, rho=1e-4, n_records=800)
    (step,) = {step.step for step in solution.trace}
    sigma = noise.gaussian_inputs[0][1]
    assert step * sigma / 800 * math.sqrt(50) == pytest.approx(0.5, rel=1e-4)
    generous, _, _ = run(GradientDescent(steps=50, clip=1.2), X, y, rho=100.0, n_records=800)
    assert {step.step for step in generous.trace} == {2.0}


@pytest.mark.parametrize("model", MODELS.values())
def test_fits_by_name_without_any_declaration(model):
    X, y = table(n=3000)
    fitted = model(epsilon=1.0, solver="gradient-descent", noise="seeded", random_state=0).fit(X, y > 0)
    assert fitted.n_iter_ == 600
    assert fitted.privacy_.epsilon <= 1.0
    assert fitted.score(X, y > 0) > 0.85


def test_a_strong_regulariser_is_obeyed_and_does_not_make_the_walk_diverge():
    X, y = table()
    weak, strong = (run(GradientDescent(), X, y, alpha=alpha)[0].w for alpha in (0.0, 1e4))
    assert np.linalg.norm(strong) < 1e-3 * np.linalg.norm(weak)


@pytest.mark.parametrize("bad", [{"steps": 0}, {"step": math.nan}, {"clip": -1.0}])
def test_bad_settings_are_refused(bad):
    with pytest.raises(ValueError, match=rf"GradientDescent needs .*\b{next(iter(bad))}\b"):
        GradientDescent(**bad)


def test_half_a_step_is_refused():
    with pytest.raises(ValueError, match="whole number of at least 1 for steps"):
        GradientDescent(steps=2.5)
