"""What every engine promises, for every layout of the features and every loss, against plain Python."""

import itertools
from math import inf

import numpy as np
import pytest
from engine_cases import (
    Case,
    moments,
    products,
    records,
    values,
    weights,
)
from one_output import LOSSES

from privfit.engine.exact.bounds import MAX_CANDIDATES, gradient_bound, loss_slack, rise_bound, rise_slack
from privfit.engine.exact.grids import grid
from privfit.questions import CurveNorms, HessianAt, Histograms, Magnitudes, Moments, Norms, SecondMoments


def test_describes_itself(case: Case) -> None:
    engine, _ = case.make(*records())
    assert (engine.n_records, engine.n_weights) == (203, 13 + case.intercept)
    assert engine.loss is case.loss
    assert engine.table.intercept is case.intercept


@values(clip=[inf, 1.0, 0.3, 1e-3, 50.0])
def test_gradient_sum_matches_oracle(case: Case, clip: float) -> None:
    engine, oracle = case.make(*records())
    w = weights(engine)
    rounding = 0 if clip == inf else engine.n_records * grid(clip)
    gradient = engine.at(w).gradient_sum(clip)
    assert gradient.shape == (engine.n_weights,)
    np.testing.assert_allclose(gradient, oracle.gradient_sum(w, clip), rtol=1e-12, atol=1e-12 + rounding)


@values(clip=[inf, 1.0, 1e-3, 50.0, 500.0])
def test_loss_sum_matches_oracle(case: Case, clip: float) -> None:
    engine, oracle = case.make(*records())
    w = weights(engine)
    rounding = 0 if clip == inf else engine.n_records * grid(clip)
    assert engine.at(w).loss_sum(clip) == pytest.approx(oracle.loss_sum(w, clip), rel=1e-12, abs=rounding)


@values(clip=[inf, 1.0, 1e-3, 50.0, 500.0])
def test_loss_sums_match_oracle(case: Case, clip: float) -> None:
    engine, oracle = case.make(*records())
    w, direction = weights(engine), weights(engine, 1)
    sums = engine.at(w).along(direction).loss_sums(0.07, 20, clip)
    rounding = 0 if clip == inf else engine.n_records * grid(clip)
    expected = [oracle.loss_sum(w - k * 0.07 * direction, clip) for k in range(21)]
    np.testing.assert_allclose(sums, expected, rtol=1e-11, atol=rounding)


def test_far_steps_match_oracle(case: Case) -> None:
    engine, oracle = case.make(*records())
    w, direction = 1e3 * weights(engine), 1e3 * weights(engine, 1)
    sums = engine.at(w).along(direction).loss_sums(0.5, 9, 5.0)
    expected = [oracle.loss_sum(w - 0.5 * k * direction, 5.0) for k in range(10)]
    np.testing.assert_allclose(sums, expected, rtol=1e-11, atol=engine.n_records * grid(5.0))


def test_move_lands_where_at_does(case: Case) -> None:
    engine, _ = case.make(*records())
    w, direction = weights(engine), weights(engine, 1)
    moved, direct = engine.at(w).along(direction).move(0.3), engine.at(w - 0.3 * direction)
    np.testing.assert_array_equal(moved.w, direct.w)
    # The hinge's slope jumps, but no record of this table sits on the kink.
    np.testing.assert_allclose(moved.gradient_sum(), direct.gradient_sum(), rtol=1e-10, atol=1e-10)
    assert moved.loss_sum() == pytest.approx(direct.loss_sum(), rel=1e-12)


def test_zero_direction_stays(case: Case) -> None:
    engine, _ = case.make(*records())
    point = engine.at(weights(engine))
    line = point.along(np.zeros(engine.n_weights))
    np.testing.assert_allclose(line.loss_sums(1.0, 2, 1.0), point.loss_sum(1.0), rtol=1e-4)
    np.testing.assert_array_equal(line.move(1.0).gradient_sum(1.0), point.gradient_sum(1.0))


@values(n=[0, 1])
def test_few_records(case: Case, n: int) -> None:
    X, y = records()
    engine, oracle = case.make(X[:n], y[:n])
    w = weights(engine)
    point = engine.at(w)
    np.testing.assert_allclose(point.gradient_sum(1.0), oracle.gradient_sum(w, 1.0), atol=grid(1.0))
    assert point.loss_sum(1.0) == pytest.approx(oracle.loss_sum(w, 1.0), abs=grid(1.0))
    assert point.along(w).loss_sums(1.0, 1, 1.0).shape == (2,)


def test_records_without_features_have_loss_but_no_gradient(case: Case) -> None:
    engine, _ = case.make(np.zeros((5, 3)), np.ones(5))
    point = engine.at(np.zeros(engine.n_weights))
    np.testing.assert_array_equal(point.gradient_sum(1.0)[:3], 0)
    assert point.loss_sum(10.0) == pytest.approx(
        5 * case.loss.value(0.0, max(case.loss.targets.typical)), abs=1e-4
    )


@values(huge=[1e30, 1e38])
def test_huge_features_stay_within_the_bound(case: Case, huge: float) -> None:
    engine, _ = case.make(np.array([[huge, -huge, huge]]), np.array([1]))
    point = engine.at(np.array([1e3, 1e3, 1e3, 0.0])[: engine.n_weights])
    for at in (point, point.along(np.ones(engine.n_weights)).move(1e10)):
        gradient = at.gradient_sum(1.0)
        assert np.linalg.norm(gradient) <= engine.gradient_bound(1.0)
    sums = point.along(-huge * np.ones(engine.n_weights)).loss_sums(1e10, 20, 1.0)
    assert np.all((sums >= 0) & (sums <= 1 + loss_slack(1.0)))


def test_subset_sums_these_records(case: Case) -> None:
    X, y = records()
    engine, _ = case.make(X, y)
    rows = np.array([3, 1, 1, 200])
    subset, (_, oracle) = engine.subset(rows), case.make(X[rows], y[rows])
    w = weights(engine)
    assert subset.n_records == 4
    np.testing.assert_allclose(subset.at(w).gradient_sum(), oracle.gradient_sum(w), rtol=1e-12, atol=1e-12)
    assert engine.subset(np.array([], dtype=int)).at(w).loss_sum(1.0) == 0


def test_weights_are_copied_and_read_only(case: Case) -> None:
    engine, _ = case.make(*records())
    w = weights(engine)
    point = engine.at(w)
    w[0] = 7
    assert point.w[0] != 7
    with pytest.raises(ValueError, match="read-only"):
        point.w[0] = 1


def test_unanswerable_questions_are_refused(case: Case) -> None:
    engine, _ = case.make(*records())
    with pytest.raises(ValueError, match=f"expected {engine.n_weights} weights"):
        engine.at(np.zeros(99))
    point = engine.at(weights(engine))
    with pytest.raises(ValueError, match="count must be between"):
        point.along(point.w).loss_sums(1.0, MAX_CANDIDATES + 1)
    with pytest.raises(ValueError, match="clip must be"):
        point.gradient_sum(0.0)


@values(clip=[1.0, 0.3, 1e-3, 50.0])
def test_gradient_at_is_gradient_sum_bit_for_bit(case: Case, clip: float) -> None:
    engine, _ = case.make(*records(1203))
    w = weights(engine)
    np.testing.assert_array_equal(engine.gradient_at(w, clip), engine.at(w).gradient_sum(clip))


def test_gradient_at_without_a_clip_matches_oracle(case: Case) -> None:
    engine, oracle = case.make(*records())
    w = weights(engine)
    np.testing.assert_allclose(engine.gradient_at(w, inf), oracle.gradient_sum(w), rtol=1e-12, atol=1e-12)


def test_gradient_bound_is_the_clip_and_rounding(case: Case) -> None:
    engine, _ = case.make(*records())
    for clip in (0.3, 1.0, 50.0, inf):
        assert engine.gradient_bound(clip) == gradient_bound(clip, engine.n_weights)


@values(slope_clip=[0.5, 100.0])
def test_rise_sums_match_oracle(case: Case, slope_clip: float) -> None:
    if case.loss.lipschitz == inf:
        pytest.skip("rises are bounded only if slopes are")
    engine, oracle = case.make(*records())
    w, direction = weights(engine), weights(engine, 1)
    sums = engine.at(w).along(direction).rise_sums(0.07, 9, slope_clip)
    slopes = np.clip(oracle.X @ direction, -slope_clip, slope_clip)
    losses = oracle.value(oracle.X @ w - 0.07 * np.arange(10)[:, None] * slopes, oracle.y)
    bound = rise_bound(case.loss.lipschitz, 0.07, 9, slope_clip)
    rounding = engine.n_records * rise_slack(bound)
    np.testing.assert_allclose(sums, (losses - losses.min(axis=0)).sum(axis=1), atol=rounding)


def test_norm_counts_match_oracle(case: Case) -> None:
    engine, oracle = case.make(*records())
    norms = np.linalg.norm(oracle.X[:, :13], axis=1)
    np.testing.assert_array_equal(
        Norms(np.array([4.0, 3.0, 1.0])).counts(engine.table), [np.sum(norms > 3.0), np.sum(norms <= 3.0)]
    )


def test_norm_on_an_edge_counts_below_it(case: Case) -> None:
    engine, _ = case.make(np.array([[3.0, 4.0], [0.0, 0.0], [30.0, 40.0]]), np.ones(3))
    np.testing.assert_array_equal(Norms(np.array([10.0, 5.0, 2.0, 1.0])).counts(engine.table), [1, 1, 1])
    with pytest.raises(ValueError, match="strictly descending"):
        Norms(np.array([1.0, 2.0])).counts(engine.table)


@values(radii=[(0.8, 100.0), (2.0, 0.3), (100.0, 100.0)])
def test_moment_sums_match_oracle(case: Case, radii: tuple[float, float]) -> None:
    X, y = records()
    engine, oracle = case.make(np.clip(X, -1, 1), y)
    folds = np.arange(13) % 2.0
    expected = moments(oracle.X[:, :13], folds, *radii)
    for sums, right, clip in zip(Moments(*radii, folds).sums(engine.table), expected, radii, strict=True):
        np.testing.assert_allclose(sums, right, atol=engine.n_records * grid(clip))
    for bound, clip in zip(Moments(*radii, folds).bounds(engine.table), radii, strict=True):
        assert clip < bound < clip * (1 + 2e-5)


@values(radius=[0.3, 2.0, 100.0])
def test_second_moments_match_oracle(case: Case, radius: float) -> None:
    engine, oracle = case.make(*records())
    w = 0.3 * weights(engine)
    curvatures = oracle.curvatures(w)
    atol = engine.n_records * radius**2 * 2.0**-14
    moments, hessian = SecondMoments(radius), HessianAt(w, radius)
    np.testing.assert_allclose(moments.sums(engine.table), products(oracle.X, 1.0, radius), atol=atol)
    np.testing.assert_allclose(hessian.sums(engine), products(oracle.X, curvatures, radius), atol=atol)
    assert radius**2 < moments.bounded(engine).sensitivity < radius**2 * (1 + 5e-4)
    assert hessian.bounded(engine).sensitivity == moments.bounded(engine).sensitivity


def test_curve_counts_match_oracle(case: Case) -> None:
    engine, oracle = case.make(*records())
    folds, Z = np.arange(13) % 2.0, oracle.X[:, :13]
    norms = np.linalg.norm(Z * (Z - folds), axis=1)
    np.testing.assert_array_equal(
        CurveNorms(np.array([9.0, 4.0, 2.0, 1.0]), folds).counts(engine.table),
        [np.sum(norms > 4), np.sum((norms > 2) & (norms <= 4)), np.sum(norms <= 2)],
    )


def test_magnitude_sums_match_oracle(case: Case) -> None:
    X, y = records()
    X[:5, 0] = [2.0**-31, -(2.0**-30), 2.0**41 + 2.0**20, 0.0, 1.0]
    engine, oracle = case.make(X, y)
    sums = Magnitudes().sums(engine.table)
    mantissas, exponents = np.frexp(np.abs(oracle.X[:, :13]))
    bins = np.clip(np.where(mantissas == 0, -99, exponents - (mantissas == 0.5)) + 30, -1, 70)
    shares = 1 / np.sqrt(np.maximum((bins >= 0).sum(axis=1), 1))
    expected = np.zeros((13, 71))
    for j in range(13):
        for k in range(71):
            expected[j, k] = shares[bins[:, j] == k].sum()
    np.testing.assert_allclose(sums, expected, atol=1e-4)
    assert sums[0, 0] > 0
    assert sums[0, -1] > 0
    assert sums[0, 30] > 0, "a power of two is the largest of its bin"
    with pytest.raises(ValueError, match="lowest <= highest"):
        Magnitudes(3, 2).sums(engine.table)


def test_value_counts_match_oracle(case: Case) -> None:
    X, y = records()
    X[:4, 0] = [0.0, -0.0, 1.0, -1.0]
    engine, oracle = case.make(X, y)
    edges = np.sort(np.random.default_rng(1).normal(size=(13, 6)), axis=1)
    edges[0] = [-1.0, -1.0, 0.0, 0.5, 1.0, 1e300]
    counts = Histograms(edges).counts(engine.table)
    limits = np.column_stack([np.full(13, -np.inf), edges, np.full(13, np.inf)])
    for j in range(13):
        x = oracle.X[:, j]
        expected = [np.sum((x > a) & (x <= b)) for a, b in itertools.pairwise(limits[j])]
        np.testing.assert_array_equal(counts[j], expected)
    assert Histograms(np.empty((13, 0))).counts(engine.table).tolist() == [[engine.n_records]] * 13
    for bad in (edges[:, ::-1], edges[1:], edges[0]):
        with pytest.raises(ValueError, match="13 rows of ascending numbers, one for each column"):
            Histograms(bad).counts(engine.table)


def test_clipped_features_are_those_of_clipped_records(case: Case) -> None:
    X, y = records()
    low, high = np.linspace(-1, 0, 13).astype(np.float32), np.linspace(0, 2, 13).astype(np.float32)
    engine, _ = case.make(X, y)
    expected, _ = case.make(np.clip(X, low, high), y)
    clipped = engine.clipped(low, high)
    w = weights(engine)
    np.testing.assert_array_equal(clipped.gradient_at(w, 1.0), expected.gradient_at(w, 1.0))
    assert not np.array_equal(engine.gradient_at(w, 1.0), expected.gradient_at(w, 1.0))
    with pytest.raises(ValueError, match="low <= high"):
        engine.clipped(high, low)


@values(other=[*LOSSES])
def test_with_another_loss_sums_that_loss_over_the_same_records(case: Case, other: str) -> None:
    engine, _ = case.make(*records())
    if not LOSSES[other].targets.hold(engine.targets):
        with pytest.raises(ValueError, match=f"targets of the {other} loss"):
            engine.with_loss(LOSSES[other])
        return
    changed, w = engine.with_loss(LOSSES[other]), weights(engine)
    data = case.layout(records()[0])
    case.loss = LOSSES[other]
    expected = case.build(data, engine.targets, case.loss, intercept=case.intercept)
    assert changed.loss is case.loss
    np.testing.assert_array_equal(changed.gradient_at(w, 1.0), expected.gradient_at(w, 1.0))
    assert changed.at(w).loss_sum() == expected.at(w).loss_sum()
    assert (engine.loss is changed.loss) == (engine.loss.name == other), "the engine itself must not change"


@values(shrink_only=[False, True])
def test_rows_of_a_norm_match_oracle(case: Case, shrink_only: bool) -> None:
    X, y = records()
    X[0] = 0.0
    engine, oracle = case.make(X, y)
    norms = np.linalg.norm(oracle.X, axis=1)
    changed = norms > (2.0 if shrink_only else 0.0)
    oracle.X = oracle.X * np.where(changed, 2.0 / np.maximum(norms, 1e-9), 1.0)[:, None]
    scaled, w = engine.with_rows_of(2.0, shrink_only=shrink_only), weights(engine)
    assert scaled.n_weights == engine.n_weights
    assert not scaled.table.intercept, "the constant is scaled with its row, so it is no constant any more"
    np.testing.assert_allclose(scaled.at(w).gradient_sum(), oracle.gradient_sum(w), rtol=1e-5, atol=1e-5)
    longer = Norms(np.array([9.0, 2.0 * (1 + 2.0**-20), 0.0])).counts(scaled.table)[0]
    assert longer == 0
    with pytest.raises(ValueError, match="before transforming"):
        engine.transformed(np.zeros(13), np.full(13, 2.0)).with_rows_of(1.0)


@values(n=[0, 1])
def test_few_records_are_described(case: Case, n: int) -> None:
    X, y = records()
    engine, oracle = case.make(np.clip(X[:n], -1, 1), y[:n])
    assert Norms(np.array([9.0, 1.0, 0.1])).counts(engine.table).sum() == n
    assert np.linalg.norm(Magnitudes(-3, 3).sums(engine.table)) <= n * Magnitudes().bound(engine.table)
    assert Histograms(np.zeros((13, 1))).counts(engine.table).sum(axis=1).tolist() == [n] * 13
    first, second = Moments(10.0, 10.0, np.zeros(13)).sums(engine.table)
    np.testing.assert_allclose(first, oracle.X[:, :13].sum(axis=0), atol=1e-4)
    np.testing.assert_allclose(second, (oracle.X[:, :13] ** 2).sum(axis=0), atol=1e-4)
    rounding = 13 * 10.0 * 2.0**-11
    np.testing.assert_allclose(
        SecondMoments(10.0).sums(engine.table), products(oracle.X, 1.0, 10.0), atol=rounding
    )
    line = engine.at(weights(engine)).along(weights(engine, 1))
    assert line.rise_sums(0.1, 3, 1.0).shape == (4,)
    assert engine.gradient_at(weights(engine), 1.0).shape == (engine.n_weights,)
