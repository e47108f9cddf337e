"""What every engine promises of transformed features, against plain Python."""

from math import inf

import numpy as np
import pytest
from engine_cases import (
    Case,
    ViewCase,
    moments,
    products,
    values,
    weights,
)

from privfit.questions import CurveNorms, HessianAt, Magnitudes, Moments, Norms, SecondMoments


@values(clip=[inf, 1.0, 0.05, 1e4])
def test_gradient_sum_matches_oracle(view_case: ViewCase, clip: float) -> None:
    engine, oracle = view_case.make(*view_case.records())
    w = weights(engine) / np.array([1, 1, 1, 100, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    point = engine.at(w)
    gradient = point.gradient_sum(clip)
    # products of sparse rows are rounded to a grid that the largest raw weight sets
    grid = 2.0**-50 * np.abs(engine.table.view.raw_weights(w)).max()
    np.testing.assert_allclose(point.predictions, oracle.X @ w, rtol=1e-12, atol=engine.n_weights * grid)
    # the column of years is 5000 biases from zero, hence its grid and the sums' cancellation
    rounding = 1e-9 if clip == inf else engine.n_records * clip * 6000 * 2.0**-20
    expected = oracle.gradient_sum(w, clip, point.predictions)
    np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-7 + rounding)
    near = np.abs(view_case.center * view_case.scale) < 10
    tight = 1e-9 if clip == inf else engine.n_records * clip * 30 * 2.0**-20
    np.testing.assert_allclose(gradient[:-1][near], expected[:-1][near], rtol=1e-7, atol=1e-7 + tight)


@values(clip=[1.0, 0.05, 1e4])
def test_gradient_at_is_gradient_sum_bit_for_bit(view_case: ViewCase, clip: float) -> None:
    engine, _ = view_case.make(*view_case.records(1203))
    w = weights(engine)
    np.testing.assert_array_equal(engine.gradient_at(w, clip), engine.at(w).gradient_sum(clip))


def test_losses_match_oracle(view_case: ViewCase) -> None:
    engine, oracle = view_case.make(*view_case.records())
    w, direction = 1e-3 * weights(engine), 1e-3 * weights(engine, 1)
    point = engine.at(w)
    assert point.loss_sum() == pytest.approx(oracle.loss_sum(w), rel=1e-9)
    line = point.along(direction)
    expected = [oracle.loss_sum(w - 0.1 * k * direction) for k in range(5)]
    np.testing.assert_allclose(line.loss_sums(0.1, 4), expected, rtol=1e-9)
    np.testing.assert_allclose(
        line.move(0.3).gradient_sum(), oracle.gradient_sum(w - 0.3 * direction), rtol=1e-6, atol=1e-6
    )


def test_norm_counts_match_oracle(view_case: ViewCase) -> None:
    engine, oracle = view_case.make(*view_case.records())
    norms = np.linalg.norm(oracle.X[:, :13], axis=1)
    edges = np.array([3000.0, 1000.0, 20.0, 5.0, 2.0, 1.0])
    expected = np.histogram(norms, [0, *edges[-2:0:-1], inf])[0][::-1]
    np.testing.assert_array_equal(Norms(edges).counts(engine.table), expected)


@values(radii=[(0.5, 30.0), (30.0, 30.0), (30.0, 0.1)])
def test_moment_sums_match_oracle(view_case: ViewCase, radii: tuple[float, float]) -> None:
    engine, oracle = view_case.make(*view_case.records())
    shrink = 1 / (8 + np.abs(view_case.center * view_case.scale))
    engine, Z = engine.transformed(np.zeros(13), shrink), oracle.X[:, :13] * shrink
    folds = np.arange(13) % 2.0
    expected = moments(Z, folds, *radii)
    for sums, right, clip in zip(Moments(*radii, folds).sums(engine.table), expected, radii, strict=True):
        np.testing.assert_allclose(sums, right, atol=engine.n_records * 2.0**-20 * (2 + clip))
    for bound, clip in zip(Moments(*radii, folds).bounds(engine.table), radii, strict=True):
        assert clip < bound < clip + 2e-5 * (1 + clip)


@values(radius=[0.3, 30.0])
def test_second_moments_match_oracle(view_case: ViewCase, radius: float) -> None:
    engine, oracle = view_case.make(*view_case.records())
    w = 1e-3 * weights(engine)
    curvatures = oracle.curvatures(w)
    atol = engine.n_records * radius**2 * 2.0**-14
    moments, hessian = SecondMoments(radius), HessianAt(w, radius)
    np.testing.assert_allclose(moments.sums(engine.table), products(oracle.X, 1.0, radius), atol=atol)
    np.testing.assert_allclose(hessian.sums(engine), products(oracle.X, curvatures, radius), atol=atol)


def test_curve_counts_match_oracle(view_case: ViewCase) -> None:
    engine, oracle = view_case.make(*view_case.records())
    folds, Z = np.arange(13) % 2.0, oracle.X[:, :13]
    norms = np.linalg.norm(Z * (Z - folds), axis=1)
    np.testing.assert_array_equal(
        CurveNorms([1e9, 1e4, 100.0, 0.0], folds).counts(engine.table),
        [np.sum(norms > 1e4), np.sum((norms > 100) & (norms <= 1e4)), np.sum(norms <= 100)],
    )


def test_weights_and_gradients_translate(view_case: ViewCase) -> None:
    X, y = view_case.records()
    engine, raw = view_case.make(X, y)[0], Case.make(view_case, X, y)[0]
    w = 1e-3 * weights(engine)
    there = engine.table.raw_weights(w)
    np.testing.assert_allclose(engine.at(w).loss_sum(), raw.at(there).loss_sum(), rtol=1e-9)
    np.testing.assert_allclose(
        engine.table.view.pulled_back(raw.at(there).gradient_sum()),
        engine.at(w).gradient_sum(),
        rtol=1e-6,
        atol=1e-6,
    )
    assert np.linalg.norm(there) <= engine.table.view.stretch * np.linalg.norm(w)


def test_magnitudes_are_those_of_the_raw_features(view_case: ViewCase) -> None:
    X, y = view_case.records()
    engine, _ = view_case.make(X, y)
    raw, _ = Case.make(view_case, X, y)
    np.testing.assert_array_equal(Magnitudes().sums(engine.table), Magnitudes().sums(raw.table))


def test_views_compose(view_case: ViewCase) -> None:
    engine, oracle = view_case.make(*view_case.records())
    center, scale = np.linspace(-1, 1, 13), np.linspace(0.0, 2, 13)
    again = engine.transformed(center, scale, 2.0)
    dropped = view_case.scale == 0
    oracle.X[:, :13] = np.where(dropped, 0.0, scale * (oracle.X[:, :13] - center))
    oracle.X[:, 13] = 2.0
    w = 1e-3 * weights(engine)
    np.testing.assert_allclose(again.at(w).gradient_sum(), oracle.gradient_sum(w), rtol=1e-7, atol=1e-7)


def test_the_view_that_changes_nothing_changes_nothing(view_case: ViewCase) -> None:
    engine, _ = Case.make(view_case, *view_case.records())
    same = engine.transformed(np.zeros(13), np.ones(13))
    w = 1e-3 * weights(engine)
    np.testing.assert_array_equal(same.gradient_at(w, 1.0), engine.gradient_at(w, 1.0))
    assert same.gradient_bound(1.0) == engine.gradient_bound(1.0)


def test_subset_keeps_the_view(view_case: ViewCase) -> None:
    X, y = view_case.records()
    rows = np.array([3, 1, 1, 200])
    engine, part = view_case.make(X, y)[0], view_case.make(X[rows], y[rows])[0]
    w = weights(engine)
    np.testing.assert_array_equal(engine.subset(rows).gradient_at(w, 1.0), part.gradient_at(w, 1.0))
    np.testing.assert_array_equal(
        Norms([9.0, 3.0, 1.0]).counts(engine.subset(rows).table),
        Norms([9.0, 3.0, 1.0]).counts(part.table),
    )


@values(n=[0, 1])
def test_few_records(view_case: ViewCase, n: int) -> None:
    X, y = view_case.records()
    engine, oracle = view_case.make(X[:n], y[:n])
    w = 1e-3 * weights(engine)
    np.testing.assert_allclose(
        engine.gradient_at(w, 1.0), oracle.gradient_sum(w, 1.0), atol=2 * (engine.gradient_bound(1.0) - 1)
    )
    assert Norms([2.0, 1.0]).counts(engine.table) == n
    if n == 0:
        np.testing.assert_array_equal(Moments(1.0, 1.0, np.zeros(13)).sums(engine.table), 0)


def test_clipping_after_transforming_is_refused(view_case: ViewCase) -> None:
    engine, _ = view_case.make(*view_case.records())
    with pytest.raises(ValueError, match="clip before transforming"):
        engine.clipped(-np.ones(13), np.ones(13))


def test_bad_views_are_refused(view_case: ViewCase) -> None:
    engine, _ = Case.make(view_case, *view_case.records())
    ones = np.ones(13)
    with pytest.raises(ValueError, match="must have shape"):
        engine.transformed(np.ones(12), ones)
    with pytest.raises(ValueError, match="bias must be"):
        engine.transformed(ones, ones, 0.0)
    with pytest.raises(ValueError, match="every scale"):
        engine.transformed(ones, -ones)
    with pytest.raises(ValueError, match=r"scale \* center"):
        engine.transformed(inf * ones, ones)
    view_case.intercept = False
    engine, _ = Case.make(view_case, *view_case.records())
    with pytest.raises(ValueError, match="pass intercept=True"):
        engine.transformed(ones, ones)


def test_without_an_intercept_features_can_be_scaled(view_case: ViewCase) -> None:
    view_case.intercept = False
    engine, oracle = Case.make(view_case, *view_case.records())
    scale = np.where(view_case.scale == 0, 0.0, 0.3 + np.arange(13))
    engine, oracle.X = engine.transformed(np.zeros(13), scale), oracle.X * scale
    w = 1e-5 * weights(engine)
    gradient = engine.gradient_at(w, 1.0)
    atol = engine.n_records * (engine.gradient_bound(1.0) - 1)
    np.testing.assert_allclose(gradient, oracle.gradient_sum(w, 1.0), atol=atol)
    np.testing.assert_array_equal(gradient, engine.at(w).gradient_sum(1.0))
    assert engine.gradient_bound(1.0) < 1 + 1e-5
