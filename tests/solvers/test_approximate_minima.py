"""Approximate minima perturbation: where the optimiser may stop, and the noise that hides where it did.

What it shares with objective perturbation is tested there.
"""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from curators import curator_of
from scipy.stats import norm
from tilted import SMOOTHNESS, TiltNoise, Written

from privfit import DPLogisticRegression
from privfit.accounting import Direct, Ledger
from privfit.engine.problem import Problem
from privfit.losses import LOSSES
from privfit.solvers import ApproximateMinimaPerturbation, ObjectivePerturbation
from privfit.solvers import objective_perturbation as module

LOSS_NAMES = ["logistic", "hinge"]


def gamma(n):
    """Return the gradient norm that the noise on the weights is for, as docs/privacy.md has it."""
    return 1e-5 + n * (4e-12 + n * 2.0**-58)


GAMMA = gamma(300)


def table(n=300, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X @ np.array([2.0, -1.0, 0.5]) + rng.normal(size=n) > 0.2, 1.0, -1.0)


def run(solver, X, y, *, epsilon=1.0, delta=1e-6, loss="logistic", alpha=0.0, n_records=300, seed=5):
    ledger = Ledger.keeping(Direct(epsilon, delta))
    noise = TiltNoise(seed)
    engine = Problem.of(X, y, LOSSES[loss])
    curator = curator_of(
        engine, ledger, noise, epsilon=epsilon, delta=delta, alpha=alpha, n_records=n_records
    )
    return solver.solve(curator), noise


def ridge_of(loss, epsilon, alpha=0.0):
    """Return the regulariser by the proof, with a tenth or a fifth of .99 epsilon for the curvature."""
    share = {"logistic": 0.1, "hinge": 0.2}[loss]
    return max(300 * alpha, SMOOTHNESS[loss] * (1 + 2.0**-20) ** 2 / math.expm1(share * 0.99 * epsilon))


def gaussian_delta(distance, sigma, epsilon):
    """Return the delta of the Gaussian mechanism by integrating the difference of two densities."""
    x, spacing = np.linspace(-40.0 * sigma, 40.0 * sigma, 400_001, retstep=True)
    p, q = norm.pdf(x, scale=sigma), norm.pdf(x, loc=distance, scale=sigma)
    return np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0)) * spacing


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_optimiser_stops_within_what_the_noise_hides(loss, alpha):
    X, y = table()
    _, noise = run(ApproximateMinimaPerturbation(), X, y, loss=loss, alpha=alpha)
    stopped, _ = noise.gaussian_inputs[1]
    written = Written(X, y, loss, ridge_of(loss, 1.0, alpha))
    exact = written.minimiser(noise.tilts[0])
    assert np.linalg.norm(written.gradient(stopped) + noise.tilts[0]) <= GAMMA
    assert np.linalg.norm(stopped - exact) <= GAMMA / written.ridge


@pytest.mark.parametrize(("gradient", "released"), [(0.99 * GAMMA, True), (1.01 * GAMMA, False)])
def test_a_gradient_above_gamma_releases_nothing(gradient, released, monkeypatch):
    X, y = table()
    written = Written(X, y, "logistic", ridge_of("logistic", 1.0))
    _, noise = run(ApproximateMinimaPerturbation(), X, y)
    exact = written.minimiser(noise.tilts[0])
    beside = exact + np.linalg.solve(written.hessian(exact), np.array([gradient, 0.0, 0.0, 0.0]))
    monkeypatch.setattr(module, "minimize", lambda *arguments, **settings: SimpleNamespace(x=beside))
    monkeypatch.setattr(module, "newton_krylov", lambda gradient, w, **settings: w)
    if released:
        run(ApproximateMinimaPerturbation(), X, y)
    else:
        with pytest.raises(RuntimeError, match="no model is released"):
            run(ApproximateMinimaPerturbation(), X, y)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_noise_on_the_weights_hides_where_two_neighbours_stopped(loss, epsilon, alpha):
    """Both stop within gamma / ridge of the same minimum: 2 gamma / ridge apart, for a hundredth of delta."""
    X, y = table()
    _, noise = run(ApproximateMinimaPerturbation(), X, y, epsilon=epsilon, delta=1e-3, loss=loss, alpha=alpha)
    sigma = noise.gaussian_inputs[1][1]
    distance = 2 * GAMMA / ridge_of(loss, epsilon, alpha)
    assert gaussian_delta(distance, sigma, 0.01 * epsilon) <= 1e-5
    assert gaussian_delta(distance, sigma / 1.02, 0.01 * epsilon) > 1e-5


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_tilt_is_that_of_objective_perturbation_with_what_is_left(loss):
    X, y = table()
    _, amp = run(ApproximateMinimaPerturbation(), X, y, loss=loss)
    _, exact = run(ObjectivePerturbation(), X, y, epsilon=0.99, delta=0.99e-6, loss=loss)
    assert amp.gaussian_inputs[0][1] == pytest.approx(exact.gaussian_inputs[0][1], rel=1e-9)
    assert len(amp.gaussian_inputs) == 2


def test_what_is_released_is_the_blurred_point():
    X, y = table()
    solution, noise = run(ApproximateMinimaPerturbation(), X, y)
    np.testing.assert_array_equal(solution.w, noise.tilts[1])
    stopped, sigma = noise.gaussian_inputs[1]
    assert 0.0 < np.linalg.norm(solution.w - stopped) < 6.0 * sigma


def test_a_larger_table_is_allowed_more_rounding():
    X, y = table()
    small = run(ApproximateMinimaPerturbation(), X, y, n_records=300)[1].gaussian_inputs[1][1]
    large = run(ApproximateMinimaPerturbation(), X, y, n_records=10**8)[1].gaussian_inputs[1][1]
    assert large == pytest.approx(small * gamma(10**8) / GAMMA, rel=1e-5)  # the tilt's rounding is in both


def test_the_rounding_of_the_tilt_counts_against_gamma():
    X, y = table()
    noise = TiltNoise(0)
    objective = module.tilted_objective(
        Problem.of(X, y, LOSSES["logistic"]), noise, 1.0, 1e-6, strength=0.0, curvature_share=0.2
    )
    ((tilt, sigma),) = noise.gaussian_inputs
    w = np.ones(len(tilt))
    without = replace(objective, tilt_error=0.0)
    assert objective.rounding(w) == without.rounding(w) + math.sqrt(len(tilt)) * sigma * 2.0**-40


@pytest.mark.parametrize("epsilon", [1e-3, 1.0])
def test_gamma_allows_twice_for_half_a_step_of_the_grid_in_every_coordinate_of_the_tilt(epsilon):
    X, y = table()
    _, noise = run(ApproximateMinimaPerturbation(), X, y, epsilon=epsilon)
    (tilt, tilt_sigma), (_, sigma) = noise.gaussian_inputs
    rounding = 2.0 * math.sqrt(len(tilt)) * tilt_sigma * 2.0**-40
    hidden = module.noise_scale(2.0 / ridge_of("logistic", epsilon), 0.01 * epsilon, 0.01 * 1e-6)
    assert sigma == pytest.approx(hidden * (gamma(len(y)) + rounding), rel=1e-9)


@pytest.mark.slow
def test_rounding_in_a_table_far_larger_than_declared_releases_nothing():
    """Sums of 3 million shares may be off by more than gamma allows for 300 of them."""
    n = 3_000_000
    X, y = np.resize([1.0, -0.5, 2.0], (n, 1)), np.resize([1.0, 1.0, -1.0, 1.0], n)
    with pytest.raises(RuntimeError, match="no model is released"):
        run(ApproximateMinimaPerturbation(), X, y, n_records=300)
    run(ApproximateMinimaPerturbation(), X, y, n_records=n)


@pytest.mark.parametrize("arrange", [np.asarray, np.float32, sp.csr_array], ids=["f64", "f32", "csr"])
@pytest.mark.parametrize("loss", ["logistic", "smoothed_hinge"])
def test_the_error_of_a_gradient_is_within_its_bound(loss, arrange):
    rng = np.random.default_rng(3)
    X = arrange(rng.normal(size=(50_000, 3)) * (rng.random((50_000, 3)) < 0.7))
    y = np.where(rng.random(50_000) < 0.4, 1.0, -1.0)
    rows = Problem.of(X, y, LOSSES[loss]).with_rows_of(1.0)
    w = 3.0 * rng.normal(size=4)
    Z = rows.table.layout.take(slice(None))
    Z = np.asarray(Z.toarray() if sp.issparse(Z) else Z, dtype=np.longdouble)
    margins = y * (Z @ w.astype(np.longdouble))
    slopes = -1 / (1 + np.exp(margins)) if loss == "logistic" else -np.clip(1.5 - margins, 0, 1)
    exact = ((y * slopes)[:, None] * Z).sum(axis=0)
    error = float(np.linalg.norm(rows.gradient_at(w, math.inf) - exact))
    assert 0.0 < error <= rows.gradient_error(w) < 1e-6
    assert rows.gradient_error(10.0 * w) > rows.gradient_error(w)


def test_without_delta_it_is_refused_before_anything_is_charged():
    X, y = table()
    ledger = Ledger.keeping(Direct(1.0, 0.0))
    curator = curator_of(Problem.of(X, y, LOSSES["logistic"]), ledger, TiltNoise(), epsilon=1.0, delta=0.0)
    with pytest.raises(ValueError, match="needs a delta between"):
        ApproximateMinimaPerturbation().solve(curator)
    assert ledger.spent == 0.0


@pytest.mark.parametrize("share", [0.0, 1.0, math.nan])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(ValueError, match="needs output_share between 0 and 1"):
        ApproximateMinimaPerturbation(output_share=share)


def test_it_is_found_by_name():
    X, y = table(2000)
    model = DPLogisticRegression(
        epsilon=2.0,
        solver="approximate-minima-perturbation",
        noise="seeded",
        random_state=0,
        feature_bounds=(-2, 2),
    ).fit(X, y)
    assert model.unit_rows_
    assert model.score(X, y) > 0.8
