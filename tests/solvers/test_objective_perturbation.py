"""Objective perturbation, and what approximate minima perturbation shares with it.

The guarantee is held against the exact density of the released minimiser, written out in tests/tilted.py.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from curators import curator_of
from scipy.stats import norm
from tilted import SMOOTHNESS, OneWeight, TiltNoise, Written

from privfit import DPLinearSVC, DPLogisticRegression
from privfit.accounting import Direct, Ledger
from privfit.engine.problem import Problem
from privfit.losses import LOSSES
from privfit.solvers import ApproximateMinimaPerturbation, ObjectivePerturbation
from privfit.solvers import objective_perturbation as module

LOSS_NAMES = ["logistic", "hinge"]
BOTH = [ObjectivePerturbation(), ApproximateMinimaPerturbation()]


def table(n=300, p=3, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.where(X @ np.array([2.0, -1.0, 0.5])[:p] + rng.normal(size=n) > 0.2, 1.0, -1.0)


def run(
    solver,
    X,
    y,
    *,
    epsilon=1.0,
    delta=1e-6,
    loss="logistic",
    noise=None,
    alpha=0.0,
    n_records=None,
    intercept=True,
):
    ledger = Ledger.keeping(Direct(epsilon, delta))
    noise = TiltNoise(5) if noise is None else noise
    engine = Problem.of(X, y, LOSSES[loss], intercept=intercept)
    curator = curator_of(
        engine, ledger, noise, epsilon=epsilon, delta=delta, alpha=alpha, n_records=n_records
    )
    return solver.solve(curator), ledger, noise


def needed_ridge(loss, epsilon, share):
    """Return the regulariser at which one record's share of the log-determinant is this part of epsilon."""
    return SMOOTHNESS[loss] * (1 + 2.0**-20) ** 2 / (math.exp(share * epsilon) - 1.0)


SHARE = {"logistic": 0.1, "hinge": 0.2}  # the default, 0.2 sqrt(smoothness)


def scale_and_ridge(solver, loss, *, epsilon, delta, alpha=0.0):
    """Return the scale of the tilt that the solver asks for, and the regulariser that its release obeys."""
    X, y = table(100)
    solution, _, noise = run(
        solver, X, y, epsilon=epsilon, delta=delta, loss=loss, alpha=alpha, n_records=100
    )
    scale = noise.radial_inputs[0][1] if delta == 0.0 else noise.gaussian_inputs[0][1]
    w = solution.w
    return scale, -((Written(X, y, loss, 0.0).gradient(w) + noise.tilts[0]) @ w) / (w @ w)


# -- what is minimised -------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_releases_the_exact_minimiser_of_the_tilted_objective(loss, delta, alpha, intercept):
    X, y = table()
    solution, _, noise = run(
        ObjectivePerturbation(), X, y, loss=loss, delta=delta, alpha=alpha, n_records=200, intercept=intercept
    )
    ridge = max(200 * alpha, needed_ridge(loss, 1.0, SHARE[loss]))
    expected = Written(X, y, loss, ridge, intercept).minimiser(noise.tilts[0])
    np.testing.assert_allclose(solution.w, expected, rtol=0, atol=1e-9 * np.linalg.norm(expected))
    assert solution.unit_rows
    assert len(noise.tilts) == 1


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_gradient_left_at_the_release_is_rounding(loss):
    X, y = table(3000)
    solution, _, noise = run(ObjectivePerturbation(), X, y, loss=loss, n_records=3000)
    written = Written(X, y, loss, needed_ridge(loss, 1.0, SHARE[loss]))
    left = written.gradient(solution.w) + noise.tilts[0]
    assert np.linalg.norm(left) < 1e-9


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_a_strong_regulariser_pays_for_the_curvature_and_leaves_more_for_the_tilt(loss):
    weak, weak_ridge = scale_and_ridge(ObjectivePerturbation(), loss, epsilon=1.0, delta=0.0)
    assert weak == pytest.approx(1 / (1 - SHARE[loss]), rel=1e-5)
    assert weak_ridge == pytest.approx(needed_ridge(loss, 1.0, SHARE[loss]), rel=1e-3)
    strong, strong_ridge = scale_and_ridge(ObjectivePerturbation(), loss, epsilon=1.0, delta=0.0, alpha=1.0)
    assert strong_ridge == pytest.approx(100.0, rel=1e-9)
    assert strong == pytest.approx(1 / (1 - math.log(1 + SMOOTHNESS[loss] / 100)), rel=1e-5)


def test_an_enormous_epsilon_keeps_the_objective_curved():
    _, ridge = scale_and_ridge(ObjectivePerturbation(), "logistic", epsilon=1e6, delta=1e-6)
    assert ridge == pytest.approx(0.25 / (math.e - 1), rel=1e-3)


# -- the guarantee, against exact densities ----------------------------------------------------------------


# numbers of records of either label; the last two push the weight to where a record of the other label has
# its full slope, so that there is nothing left that the proof gives away
TABLES = [(0, 0), (1, 0), (0, 3), (4, 2), (10**6, 0), (0, 10**6)]


def losses(loss, ridge, tilt, log_density):
    """Yield the privacy losses at the minimisers of these tilts, for one record more and less."""
    for positive, negative in TABLES:
        for more in ((positive + 1, negative), (positive, negative + 1)):
            tables = [OneWeight(*counts, loss, ridge) for counts in ((positive, negative), more)]
            for here, there in (tables, tables[::-1]):
                w = here.minimiser(tilt)
                yield here.log_density(w, log_density) - there.log_density(w, log_density)


def largest_delta(loss, scale, ridge, epsilon):
    """Return the delta of the Gaussian tilt, the mean of (1 - exp(epsilon - loss))+, by integration."""
    tilt, spacing = np.linspace(-10.0 * scale, 10.0 * scale, 1_001, retstep=True)

    def log_density(b):
        return norm.logpdf(b, scale=scale)

    weights = spacing * np.exp(log_density(tilt))
    return max(
        weights @ np.maximum(-np.expm1(epsilon - found), 0.0)
        for found in losses(loss, ridge, tilt, log_density)
    )


def largest_ratio(loss, scale, ridge):
    """Return the largest log-ratio of neighbours' densities that the radial tilt gives."""
    tilt = np.linspace(-40.0 * scale, 40.0 * scale, 1_001)
    return max(found.max() for found in losses(loss, ridge, tilt, lambda b: -np.abs(b) / scale))


@pytest.mark.parametrize("share", [0.01, 0.9])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_exact_delta_of_one_record_is_within_the_promise(loss, epsilon, share):
    delta = 1e-4
    solver = ObjectivePerturbation(curvature_share=share)
    scale, ridge = scale_and_ridge(solver, loss, epsilon=epsilon, delta=delta)
    assert largest_delta(loss, scale, ridge, epsilon) <= delta
    if share == 0.01:  # with next to nothing paid for the curvature the noise is as small as can be
        assert largest_delta(loss, scale / 1.03, ridge, epsilon) > delta


@pytest.mark.parametrize("share", [0.01, 0.9])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_without_delta_no_density_ratio_exceeds_epsilon(loss, epsilon, share):
    solver = ObjectivePerturbation(curvature_share=share)
    scale, ridge = scale_and_ridge(solver, loss, epsilon=epsilon, delta=0.0)
    assert largest_ratio(loss, scale, ridge) <= epsilon
    if share == 0.01:
        assert largest_ratio(loss, scale / 1.03, ridge) > epsilon


@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_the_curvature_is_paid_for(delta):
    """The rounded hinge has slope -1 and bend 1 at one margin, so that both terms of the proof add up."""
    solver = ObjectivePerturbation(curvature_share=0.9)
    scale, ridge = scale_and_ridge(solver, "hinge", epsilon=1.0, delta=delta)
    if delta == 0.0:
        assert largest_ratio("hinge", scale, ridge / 1.2) > 1.0
    else:
        assert largest_delta("hinge", scale, ridge / 1.2, 1.0) > delta


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_privacy_loss_of_many_weights_is_below_that_of_the_gaussian_mechanism(loss):
    """The inequality that the proof rests on, for random neighbours, tilts and both directions."""
    epsilon, rng = 1.0, np.random.default_rng(3)
    scale, ridge = scale_and_ridge(ObjectivePerturbation(), loss, epsilon=epsilon, delta=1e-6)
    bend, reached = math.log1p(SMOOTHNESS[loss] / ridge), []
    for seed in range(150):
        X, y = table(6, seed=seed)
        z = np.append(X[-1], 1.0) / np.linalg.norm(np.append(X[-1], 1.0))
        many, few = Written(X, y, loss, ridge), Written(X[:-1], y[:-1], loss, ridge)
        tilt = scale * rng.standard_normal(4) + 4.0 * scale * rng.standard_normal() * z
        for here, there, sign in ((many, few, 1.0), (few, many, -1.0)):
            w = here.minimiser(tilt)

            def log_density(b):
                return -b @ b / (2.0 * scale**2)

            loss_here = here.log_density(w, log_density) - there.log_density(w, log_density)
            shift = -sign * y[-1] * z @ tilt / scale**2 + 1.0 / (2.0 * scale**2)
            assert loss_here <= max(0.0, shift) + (bend if sign > 0 else 0.0) + 1e-9
            reached.append(loss_here / max(shift, 0.1))
    assert max(reached) > 0.9, "the inequality is never close, so this test could not fail"


@pytest.mark.parametrize(
    "make", [np.asarray, np.float32, sp.csr_matrix, lambda X: sp.csr_matrix(X.astype(np.float32))]
)
@pytest.mark.parametrize("intercept", [True, False])
def test_no_row_is_longer_than_the_proof_assumes(make, intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 7)) * 10.0 ** rng.uniform(-12, 12, size=(4000, 1))
    X[:3] = 0.0
    rows = Problem.of(make(X), np.ones(4000), LOSSES["logistic"], intercept=intercept).with_rows_of(1.0)
    Z = rows.table.layout.X.astype(np.float64)
    Z = Z.toarray() if sp.issparse(Z) else Z
    assert np.linalg.norm(Z, axis=1).max() <= module.LONGEST_UNIT_ROW


# -- replaying neighbours ----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", BOTH)
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_noise_scales_do_not_depend_on_the_records(loss, solver):
    X, y = table()
    _, _, first = run(solver, X, y, loss=loss, n_records=300)
    _, _, second = run(solver, 1e6 * X[:7] + 3.0, -y[:7], loss=loss, n_records=300)
    assert [sigma for _, sigma in first.gaussian_inputs] == [sigma for _, sigma in second.gaussian_inputs]
    np.testing.assert_array_equal(first.gaussian_inputs[0][0], 0.0)


@pytest.mark.parametrize("record", [0, 17, 299])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_under_the_same_tilt_one_record_moves_the_minimum_by_its_gradient_over_the_regulariser(loss, record):
    X, y = table()
    solver, keep = ObjectivePerturbation(), np.arange(300) != record
    with_it, _, _ = run(solver, X, y, loss=loss, n_records=300)
    without, _, _ = run(solver, X[keep], y[keep], loss=loss, n_records=300)
    moved = np.linalg.norm(with_it.w - without.w)
    assert 0.0 < moved <= module.LONGEST_UNIT_ROW / needed_ridge(loss, 1.0, SHARE[loss])


# -- the ends of the scale ---------------------------------------------------------------------------------


def test_without_delta_too_it_learns_nothing_as_the_budget_vanishes():
    X, y = table(400)
    accuracies = []
    for seed in range(25):
        solution, _, _ = run(ObjectivePerturbation(), X, y, epsilon=1e-4, delta=0.0, noise=TiltNoise(seed))
        accuracies.append(np.mean((X @ solution.w[:-1] + solution.w[-1]) * y > 0))
    assert abs(np.mean(accuracies) - 0.5) < 0.15


# -- the account -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", BOTH)
def test_one_charge_pays_for_everything(solver):
    X, y = table()
    _, ledger, noise = run(solver, X, y)
    assert len(ledger.entries) == 1
    assert ledger.remaining == 0.0
    assert ledger.epsilon() == 1.0
    assert len(noise.laplace_inputs) == 1, "n was not declared and must be bought"
    _, _, noise = run(solver, X, y, n_records=300)
    assert noise.laplace_inputs == []


@pytest.mark.parametrize("solver", BOTH)
def test_what_is_not_minimised_is_not_released_and_stays_paid(solver, monkeypatch):
    def give_up(*arguments, **settings):
        raise module.NoConvergence

    monkeypatch.setattr(module, "minimize", lambda *arguments, **settings: SimpleNamespace(x=np.zeros(4)))
    monkeypatch.setattr(module, "newton_krylov", give_up)
    X, y = table()
    ledger = Ledger.keeping(Direct(1.0, 1e-6))
    curator = curator_of(Problem.of(X, y, LOSSES["logistic"]), ledger, TiltNoise(5), epsilon=1.0, delta=1e-6)
    with pytest.raises(RuntimeError, match=r"no model is released and its price stays spent; raise alpha"):
        solver.solve(curator)
    assert ledger.remaining == 0.0


def test_newton_finishes_what_values_cannot_resolve(monkeypatch):
    """L-BFGS alone stops where rounding hides differences of values; the check must notice."""
    X, y = table(3000)
    monkeypatch.setattr(module, "newton_krylov", lambda gradient, w, **settings: w)
    with pytest.raises(RuntimeError, match="not minimised to the precision"):
        run(ObjectivePerturbation(), X, y)


@pytest.mark.parametrize("solver", BOTH)
def test_a_budget_too_small_for_any_noise_is_refused_before_it_is_charged(solver):
    X, y = table()
    ledger = Ledger.keeping(Direct(1e-9, 1e-12))
    curator = curator_of(
        Problem.of(X, y, LOSSES["logistic"]), ledger, TiltNoise(5), epsilon=1e-9, delta=1e-12
    )
    with pytest.raises(ValueError, match="raise epsilon"):
        solver.solve(curator)
    assert ledger.spent == 0.0


@pytest.mark.parametrize("solver", [ObjectivePerturbation, ApproximateMinimaPerturbation])
@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, math.nan])
def test_a_share_that_is_none_is_refused(share, solver):
    with pytest.raises(ValueError, match="needs curvature_share between 0 and 1"):
        solver(curvature_share=share)


# -- through the estimators --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings", [{}, {"delta": 0.0}, {"fit_intercept": False}, {"feature_bounds": (-1, 1)}]
)
@pytest.mark.parametrize("estimator", [DPLogisticRegression, DPLinearSVC])
def test_estimators_predict_with_unit_rows(estimator, settings):
    X, y = table(2000)
    model = estimator(
        epsilon=2.0, solver="objective-perturbation", noise="seeded", random_state=0, **settings
    ).fit(X, y)
    assert model.unit_rows_
    assert model.score(X, y) > 0.8
    doubled = model.decision_function(2.0 * X) - model.decision_function(X)
    if not settings.get("fit_intercept", True):
        np.testing.assert_allclose(doubled, 0.0, atol=1e-9)  # a row's length does not matter
    assert "regularised by" in model.privacy_.text


def test_secure_noise_releases_a_model():
    X, y = table(2000)
    for solver, delta in ((BOTH[0], 0.0), (BOTH[0], 1e-6), (BOTH[1], 1e-6)):
        model = DPLogisticRegression(epsilon=100.0, delta=delta, solver=solver).fit(X, y)
        assert model.score(X, y) > 0.8
