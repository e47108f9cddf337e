"""Solvers with a constraint set end at the best weights of the set, and stay in it."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scripted import ScriptedNoise

from privfit.accounting import Ledger
from privfit.accounting.relation import ONE_RECORD
from privfit.curator import Curator
from privfit.engine.problem import Problem
from privfit.losses import LOSSES
from privfit.penalties import Ball, Box, NonNegative, Regulariser, Ridge, Within
from privfit.solvers import DPAGD, get_solver

N = 4000
CLOSE = 1e-5  # of the mean loss to its least in the set: the walk of the default solver is not run to the end

QUICK = {"dpagd": DPAGD(splits=10.0)}  # a tenth of the iterations

SETS = {
    "ball": (
        Ball(2.0),
        {"constraints": {"type": "ineq", "fun": lambda w: 4.0 - w[:3] @ w[:3]}},
    ),
    "box": (
        Box(-1.0, [0.5, 3.0, 0.1]),
        {"bounds": [(-1.0, 0.5), (-1.0, 3.0), (-1.0, 0.1), (None, None)]},
    ),
    "non-negative": (NonNegative(), {"bounds": [(0.0, None)] * 3 + [(None, None)]}),
}


def records():
    """Return correlated columns of different scales, and labels."""
    rng = np.random.default_rng(1)
    mixed = rng.normal(size=(N, 3)) @ np.array([[1.0, 0.9, 0.0], [0.0, 0.5, 0.3], [0.0, 0.0, 1.0]])
    X = mixed * [1.0, 0.1, 3.0]
    y = np.where(X @ [3.0, -20.0, 0.5] + 1.0 + rng.logistic(size=N) > 0, 1.0, -1.0)
    return X, y


X, Y = records()
PROBLEM = Problem.of(X, Y, LOSSES["logistic"])
ROWS = np.column_stack([X, np.ones(N)])


def mean_loss(w):
    return np.logaddexp(0.0, -Y * (ROWS @ w)).mean()


def slope(w):
    return -(ROWS * (Y / (1.0 + np.exp(Y * (ROWS @ w))))[:, None]).mean(axis=0)


def best_in(constrained):
    options = {"ftol": 1e-14, "maxiter": 500}
    return minimize(mean_loss, np.zeros(4), jac=slope, method="SLSQP", options=options, **constrained).x


def solved(solver, penalty, *, rho=1e4, size=0.0, seed=0):
    facts = {"epsilon": 1.0, "delta": 1e-6, "relation": ONE_RECORD, "n_records": N}
    noise = ScriptedNoise(seed, size)
    return (
        QUICK.get(solver, get_solver(solver))
        .solve(Curator(PROBLEM, Ledger(rho=rho), noise, penalty=penalty, **facts))
        .w
    )


@pytest.mark.parametrize("kind", SETS)
def test_without_noise_the_default_solver_ends_at_the_best_weights_of_the_set(kind):
    allowed, constrained = SETS[kind]
    best = best_in(constrained)
    w = solved("adaptive", Within(constraint=allowed))
    assert allowed.holds(w[:3])
    assert mean_loss(w) - mean_loss(best) < CLOSE
    assert mean_loss(best) - mean_loss(solved("adaptive", Ridge())) > 100 * CLOSE  # the set matters


def test_a_euclidean_projection_of_raw_weights_ends_elsewhere(monkeypatch):
    """The walk moves the weights of a standardised view, and it is their distance that has to be least."""

    def euclidean(regulariser, w):
        view, raw = regulariser.view, regulariser.view.raw_weights(w)
        allowed = regulariser.penalty.nearest(raw[:3], np.ones(3))
        intercept = (raw[3] + allowed @ view.center) / view.bias
        return np.append(allowed / view.scale, intercept)

    allowed, constrained = SETS["ball"]
    monkeypatch.setattr(Regulariser, "nearest", euclidean)
    w = solved("adaptive", Within(constraint=allowed))
    assert mean_loss(w) - mean_loss(best_in(constrained)) > 50 * CLOSE


def test_a_set_that_no_step_leaves_changes_no_bit():
    for solver in ("adaptive", "gradient-descent", "dpagd", "dpagd-modern"):
        free, loose = (
            solved(solver, penalty, rho=0.3, size=1.0) for penalty in (Ridge(), Within(constraint=Ball(1e6)))
        )
        np.testing.assert_array_equal(free, loose)


@pytest.mark.parametrize("solver", ["adaptive", "gradient-descent", "dpagd", "dpagd-modern"])
def test_noisy_weights_stay_in_random_sets(solver):
    rng = np.random.default_rng(0)
    for seed in range(2):
        low = rng.normal(size=3)
        for allowed in (Box(low, low + rng.random(3)), Ball(10.0 ** rng.uniform(-2, 0)), NonNegative()):
            w = solved(solver, Within(constraint=allowed), rho=0.05, size=1.0, seed=seed)[:3]
            assert np.abs(w - allowed.nearest(w, np.ones(3))).max() <= 1e-12 * np.abs(w).max()


def test_the_descent_of_dpagd_moves_along_the_border_of_the_set():
    """The projected gradient of the first step points into a box whose corner the walk starts in."""
    corner = Within(constraint=Box(0.0, [np.inf, 1e-9, np.inf]))
    w = solved("dpagd", corner, rho=1e3)
    assert w[0] > 0.5
    assert 0.0 <= w[1] <= 1e-9
    assert w[2] > 0.1
