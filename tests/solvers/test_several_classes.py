"""Several classes: one joint budget, one joint clip, and noise that all classes share is taken off."""

import math
import tracemalloc
import warnings

import numpy as np
import pytest
from curators import curator_of
from scipy import sparse
from scipy.special import softmax as softmax_of
from scripted import ScriptedNoise

from privfit import DPLinearSVC, DPLogisticRegression, Ledger
from privfit.curator import Curator
from privfit.engine.problem import Problem
from privfit.losses.hinges import hinges
from privfit.losses.softmax import softmax
from privfit.questions import ScaleSlopesAt, TargetSums
from privfit.solvers import SOLVERS, GradientDescent
from privfit.solvers.calibration import first_weights
from privfit.solvers.output_curvature import gaussian_margins, mean_hessian
from privfit.solvers.walk import Walk, gradient_clip

K = 4
LOSSES = {"softmax": softmax(K), "hinges": hinges(K)}


def table(n=4000, p=5, classes=K, seed=0):
    """Return records in [0, 1] whose class a linear model explains but for some noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, p))
    scores = (X - 0.5) @ (6.0 * rng.normal(size=(p, classes)))
    return X, np.argmax(scores + rng.gumbel(size=(n, classes)), axis=1)


def problem_of(loss, n=60, seed=1):
    X, y = table(n, seed=seed)
    return Problem.of(X, y.astype(float), LOSSES[loss])


def silently(fit, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(*arguments)


# -- what is asked


def test_the_slope_of_the_scale_is_the_derivative_of_the_mean_loss():
    problem = problem_of("softmax")
    w = np.random.default_rng(2).normal(size=(6, K))
    scores = problem.projected(w)
    assert scores.table.n_columns == K

    def total(scale, intercepts):
        at = np.vstack([scale * np.eye(K), intercepts])
        return scores.at(at).loss_sum()

    b, h = np.array([0.3, -0.1, 0.0, 0.5]), 1e-5
    found = ScaleSlopesAt(0.8, b, 100.0).bounded(scores).look()
    expected = [(total(0.8 + h, b) - total(0.8 - h, b)) / (2 * h)] + [
        (total(0.8, b + h * e) - total(0.8, b - h * e)) / (2 * h) for e in np.eye(K)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [1e-300, 1.0, 1e9, 1e30])
def test_no_record_moves_the_slopes_of_the_scale_beyond_the_bound(loss, size):
    w, clip = np.random.default_rng(2).normal(size=(6, K)), 0.25
    problem = problem_of(loss)
    X = problem.table.layout.take(slice(None))
    question = ScaleSlopesAt(0.8, np.zeros(K), clip)
    before = question.bounded(problem.projected(w))
    longest = 0.0
    for x in (np.ones(5), np.array([1.0, -1.0, 0.5, -3.0, 0.0]), np.zeros(5)):
        for label in range(K):
            more = Problem.of(np.vstack([X, size * x]), np.append(problem.targets, label), LOSSES[loss])
            moved = question.bounded(more.projected(w)).look() - before.look()
            longest = max(longest, float(np.linalg.norm(moved)))
    assert 0.24 < longest <= before.sensitivity < 0.2501


def test_a_clip_of_the_intercepts_slopes_alone_would_not_do():
    """Planted: a record with long scores moves the slope of the scale far beyond the bound."""
    w, problem = np.ones((6, K)) * np.arange(K), problem_of("softmax")
    X = problem.table.layout.take(slice(None))
    more = Problem.of(np.vstack([X, np.full(5, 100.0)]), np.append(problem.targets, 0.0), LOSSES["softmax"])
    loose = ScaleSlopesAt(0.01, np.zeros(K), 1e6)
    moved = loose.bounded(more.projected(w)).look()[0] - loose.bounded(problem.projected(w)).look()[0]
    assert abs(moved) > 10.0 * ScaleSlopesAt(0.01, np.zeros(K), 1.0).bounded(problem.projected(w)).sensitivity


def test_scores_of_other_outputs_are_refused_before_the_charge():
    ledger = Ledger(rho=1.0)
    curator = curator_of(problem_of("softmax"), ledger, ScriptedNoise(size=0.0), epsilon=1.0, delta=1e-6)
    with pytest.raises(ValueError, match="expected a score for each of 4 outputs, got 5 columns"):
        curator.measure(ScaleSlopesAt(1.0, np.zeros(K), 1.0), 0.1)
    assert ledger.spent == 0.0


def test_class_counts_are_a_histogram_of_sensitivity_one():
    problem = problem_of("softmax", n=200)
    asked = TargetSums().bounded(problem)
    assert asked.sensitivity == 1.0
    np.testing.assert_array_equal(asked.look(), np.bincount(problem.targets.astype(int), minlength=K))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_walk_starts_at_the_intercepts_of_the_class_counts(loss):
    y = np.repeat(np.arange(K), [1000, 2000, 3000, 4000]).astype(float)
    problem = Problem.of(np.zeros((10_000, 2)), y, LOSSES[loss])
    curator = curator_of(problem, Ledger(rho=1.0), ScriptedNoise(size=0.0), epsilon=1.0, delta=1e-6)
    start = first_weights(curator, 1.0, 1e4, 1e4, 0.5)
    assert not start[:2].any()
    shares = np.bincount(y.astype(int)) / 10_000
    if loss == "softmax":
        np.testing.assert_allclose(start[2] * 0.5, np.log(shares) - np.log(shares).mean(), rtol=0.01)
    else:
        np.testing.assert_allclose(start[2] * 0.5, 2 * shares - 1, rtol=0.01)


# -- noise that all classes share


def noisy_model(model, solver):
    X, y = table(1000)
    return silently(model(1.0, solver=solver, classes=range(K), noise="seeded", random_state=1).fit, X, y)


@pytest.mark.parametrize("solver", ["adaptive", GradientDescent(steps=20)])
def test_weights_of_the_softmax_add_up_to_zero_and_those_of_hinges_do_not(solver):
    logistic, svm = (noisy_model(model, solver) for model in (DPLogisticRegression, DPLinearSVC))
    size = np.abs(logistic.coef_).max()
    np.testing.assert_allclose(logistic.coef_.sum(axis=0), 0.0, atol=1e-5 * size)
    np.testing.assert_allclose(logistic.intercept_.sum(), 0.0, atol=1e-5 * size)
    assert np.abs(svm.coef_.sum(axis=0)).max() > 1e-3 * np.abs(svm.coef_).max()


def test_only_a_loss_of_differences_loses_its_common_part():
    gradients = np.random.default_rng(0).normal(size=(3, K))
    kept = LOSSES["softmax"].without_common_part(gradients)
    np.testing.assert_allclose(kept.sum(axis=1), 0.0, atol=1e-15)
    np.testing.assert_allclose(kept - kept[:, :1], gradients - gradients[:, :1])
    assert LOSSES["hinges"].without_common_part(gradients) is gradients


# -- the fit


@pytest.mark.parametrize("model", [DPLogisticRegression, DPLinearSVC])
@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 30.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_budget_is_spent_to_the_last_fraction_and_never_over(model, epsilon, intercept):
    fitted = model(epsilon, classes=range(K), noise="seeded", random_state=0, fit_intercept=intercept)
    silently(fitted.fit, *table())
    assert fitted.ledger_.spent == fitted.ledger_.rho
    assert np.isfinite(fitted.coef_).all()
    assert fitted.coef_.shape == (K, 5)
    assert fitted.intercept_.shape == (K,)
    assert fitted.intercept_.any() == intercept


@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_matrix])
def test_classes_are_learnt_from_dense_and_sparse_tables(form):
    X, y = table()
    best = DPLogisticRegression(solver="nonprivate", classes=range(K)).fit(X, y).score(X, y)
    model = DPLogisticRegression(4.0, classes=range(K), noise="seeded", random_state=0).fit(form(X), y)
    assert model.score(form(X), y) > best - 0.03


@pytest.mark.parametrize("name", [name for name in SOLVERS if SOLVERS[name].private])
def test_a_solver_takes_several_classes_or_refuses_before_a_charge(name):
    ledger = Ledger(epsilon=8.0, delta=1e-6)
    promise = SOLVERS[name]().promise(epsilon=8.0, delta=1e-6)
    X, y = table(400)
    model = DPLogisticRegression(8.0, solver=name, classes=range(K), noise="seeded", random_state=0)
    if name in ("adaptive", "gradient-descent", "dpagd", "dpagd-modern", "newton"):
        assert silently(model.fit, X, y).coef_.shape == (K, 5)
        return
    assert promise is not None
    with pytest.raises(ValueError, match=r"a loss with one output.*; solvers that would do: adaptive"):
        silently(model.set_params(ledger=ledger).fit, X, y)
    assert ledger.spent == 0.0


def test_the_curator_hands_out_no_predictions_of_several_outputs():
    curator = curator_of(
        problem_of("softmax"), Ledger(rho=1.0), ScriptedNoise(size=0.0), epsilon=1.0, delta=1e-6
    )
    point = curator.at(np.zeros((6, K)))
    assert set(vars(point)) == {"w"}
    assert isinstance(curator.projected(point.w), Curator)


# -- curvature


def test_the_mean_hessian_is_the_second_derivative_of_the_mean_loss():
    """Of a window as narrow as the softmax is smooth: to a tenth."""
    loss, rng = LOSSES["softmax"], np.random.default_rng(3)
    scores = rng.normal(size=(64, K))
    scores = np.concatenate([scores, -scores])
    scores -= scores.mean(axis=1, keepdims=True)
    offsets = np.array([0.5, -0.5, 0.2, -0.2])
    found = mean_hessian(loss, scores, offsets, 1.3)
    np.testing.assert_allclose(found, found.T, rtol=1e-14)
    p = softmax_of(1.3 * scores + offsets, axis=1)
    of_outputs = np.mean(p[:, :, None] * np.eye(K) - p[:, :, None] * p[:, None, :], axis=0)
    np.testing.assert_allclose(found[1:, 1:], of_outputs, atol=0.02)
    np.testing.assert_allclose(found[1:, 1:].sum(axis=0), 0.0, atol=1e-15)
    mean = np.sum(p * scores, axis=1)
    along = p * (scores - mean[:, None])
    np.testing.assert_allclose(found[0, 0], np.mean(np.sum(along * scores, axis=1)), rtol=0.1)
    np.testing.assert_allclose(found[0, 1:], along.mean(axis=0), atol=0.02)


def test_the_clip_and_the_plan_know_how_many_weights_there_are():
    """With K classes the budget carries less per weight, and the clip is that of a longer gradient."""
    for loss in LOSSES.values():
        problem = Problem.of(np.zeros((10, 3)), np.zeros(10), loss)
        curator = curator_of(problem, Ledger(rho=0.5), ScriptedNoise(size=0.0), epsilon=1.0, delta=1e-6)
        walk = Walk(curator, 600.0)
        free = K - 1 if loss.only_differences else K
        assert walk.d == 4 * free
        assert walk.clip == loss.lipschitz * gradient_clip(600.0 / math.sqrt(4 * free))


def test_hundreds_of_classes_take_no_more_memory_than_their_weights():
    """Second derivatives are averaged one output at a time; all of them at once would be gigabytes."""
    many = softmax(200)
    margins = gaussian_margins(np.eye(200))
    mean_hessian(many, margins[:2], np.zeros(200))  # compiles
    tracemalloc.start()
    mean_hessian(many, margins, np.zeros(200))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * margins.size * 200 * 8
