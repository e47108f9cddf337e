"""What every engine promises, for every layout of the features and every loss, against plain NumPy."""

import itertools
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from privfit.engine.exact.bounds import MAX_CANDIDATES, gradient_bound, loss_slack, rise_bound, rise_slack
from privfit.engine.exact.grids import grid
from privfit.engine.problem import Problem
from privfit.losses import LOSSES, Loss
from privfit.questions import CurveNorms, HessianAt, Histograms, Magnitudes, Moments, Norms, SecondMoments

Layout = Callable[[np.ndarray], Any]

LAYOUTS: dict[str, Layout] = {
    "dense_c_f64": lambda X: np.ascontiguousarray(X),
    "dense_c_f32": lambda X: np.ascontiguousarray(X, dtype=np.float32),
    "dense_f_f64": lambda X: np.asfortranarray(X),
    "dense_f_f32": lambda X: np.asfortranarray(X, dtype=np.float32),
    "csr_f64": lambda X: sp.csr_array(X),
    "csr_f32": lambda X: sp.csr_matrix(X.astype(np.float32)),
}
# An engine is added to the contract by naming it here.
ENGINES: dict[str, Callable[..., Problem]] = {"local": Problem.of}

NUMPY_VALUES: dict[str, Callable[[Any], Any]] = {
    "logistic": lambda m: np.logaddexp(0, -m),
    "hinge": lambda m: np.maximum(1 - m, 0),
    "smoothed_hinge": lambda m: np.where(
        m > 1.5, 0, np.where(m < 0.5, 1 - m, (1.5 - np.clip(m, 0.5, 1.5)) ** 2 / 2)
    ),
}
NUMPY_DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    "logistic": lambda m: -1 / (1 + np.exp(m)),
    "hinge": lambda m: np.where(m < 1, -1.0, 0.0),
    "smoothed_hinge": lambda m: -np.clip((1.5 - m), 0, 1),
}


class Oracle:
    """The same sums with every per-record gradient written out."""

    def __init__(self, X: Any, y: np.ndarray, loss: Loss, intercept: bool) -> None:
        X = np.asarray(X.todense() if sp.issparse(X) else X, dtype=np.float64)
        self.X = np.column_stack([X, np.ones(len(X))]) if intercept else X
        self.y, self.value, self.derivative = y, NUMPY_VALUES[loss.name], NUMPY_DERIVATIVES[loss.name]

    def gradient_sum(self, w: np.ndarray, clip: float = inf) -> np.ndarray:
        gradients = (self.y * self.derivative(self.y * (self.X @ w)))[:, None] * self.X
        norms = np.linalg.norm(gradients, axis=1)
        too_long = norms > clip
        gradients[too_long] *= (clip / norms[too_long])[:, None]
        return gradients.sum(axis=0)

    def loss_sum(self, w: np.ndarray, clip: float = inf) -> float:
        return float(np.minimum(self.value(self.y * (self.X @ w)), clip).sum())


def moments(
    Z: np.ndarray, folds: np.ndarray, radius: float, curve_radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """The sums of shrunken rows and of their curves, written out."""
    curves = Z * (Z - folds)
    norms, curved = (np.maximum(np.linalg.norm(rows, axis=1), 1e-300) for rows in (Z, curves))
    f = np.minimum(1, np.minimum(radius / norms, curve_radius / curved))[:, None]
    return (f * Z).sum(axis=0), (f * curves).sum(axis=0)


def products(Z: np.ndarray, curvatures: Any, radius: float) -> np.ndarray:
    """The sum of outer products of rows weighted by curvature, each clipped to a norm, written out."""
    rows = np.sqrt(np.broadcast_to(curvatures, len(Z)))[:, None] * Z
    rows = rows * np.minimum(1, radius / np.maximum(np.linalg.norm(rows, axis=1), 1e-300))[:, None]
    return rows.T @ rows


class Case:
    def __init__(self, build: Callable[..., Problem], layout: Layout, loss: Loss, intercept: bool) -> None:
        self.build, self.layout, self.loss, self.intercept = build, layout, loss, intercept

    def make(self, X: np.ndarray, y: np.ndarray) -> tuple[Problem, Oracle]:
        data = self.layout(X)
        return self.build(data, y, self.loss, intercept=self.intercept), Oracle(
            data, y, self.loss, self.intercept
        )


@pytest.fixture(params=[True, False], ids=["intercept", "no_intercept"])
def intercept(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(params=LOSSES)
def loss(request: pytest.FixtureRequest) -> Loss:
    return LOSSES[request.param]


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> Layout:
    return LAYOUTS[request.param]


@pytest.fixture(params=ENGINES)
def case(request: pytest.FixtureRequest, layout: Layout, loss: Loss, intercept: bool) -> Case:
    return Case(ENGINES[request.param], layout, loss, intercept)


def records(n: int = 203, p: int = 13) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.5)
    return X, np.where(rng.random(n) < 0.4, 1, -1)


def weights(engine: Problem, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(engine.n_weights)


class TestEngine:
    def test_describes_itself(self, case: Case) -> None:
        engine, _ = case.make(*records())
        assert (engine.n_records, engine.n_weights) == (203, 13 + case.intercept)
        assert engine.loss is case.loss
        assert engine.table.intercept is case.intercept

    @pytest.mark.parametrize("clip", [inf, 1.0, 0.3, 1e-3, 50.0])
    def test_gradient_sum_matches_oracle(self, case: Case, clip: float) -> None:
        engine, oracle = case.make(*records())
        w = weights(engine)
        rounding = 0 if clip == inf else engine.n_records * grid(clip)
        gradient = engine.at(w).gradient_sum(clip)
        assert gradient.shape == (engine.n_weights,)
        np.testing.assert_allclose(gradient, oracle.gradient_sum(w, clip), rtol=1e-12, atol=1e-12 + rounding)

    @pytest.mark.parametrize("clip", [inf, 1.0, 1e-3, 50.0, 500.0])
    def test_loss_sum_matches_oracle(self, case: Case, clip: float) -> None:
        engine, oracle = case.make(*records())
        w = weights(engine)
        rounding = 0 if clip == inf else engine.n_records * grid(clip)
        assert engine.at(w).loss_sum(clip) == pytest.approx(oracle.loss_sum(w, clip), rel=1e-12, abs=rounding)

    @pytest.mark.parametrize("clip", [inf, 1.0, 1e-3, 50.0, 500.0])
    def test_loss_sums_match_oracle(self, case: Case, clip: float) -> None:
        engine, oracle = case.make(*records())
        w, direction = weights(engine), weights(engine, 1)
        sums = engine.at(w).along(direction).loss_sums(0.07, 20, clip)
        rounding = 0 if clip == inf else engine.n_records * grid(clip)
        expected = [oracle.loss_sum(w - k * 0.07 * direction, clip) for k in range(21)]
        np.testing.assert_allclose(sums, expected, rtol=1e-11, atol=rounding)

    def test_far_steps_match_oracle(self, case: Case) -> None:
        engine, oracle = case.make(*records())
        w, direction = 1e3 * weights(engine), 1e3 * weights(engine, 1)
        sums = engine.at(w).along(direction).loss_sums(0.5, 9, 5.0)
        expected = [oracle.loss_sum(w - 0.5 * k * direction, 5.0) for k in range(10)]
        np.testing.assert_allclose(sums, expected, rtol=1e-11, atol=engine.n_records * grid(5.0))

    def test_move_lands_where_at_does(self, case: Case) -> None:
        engine, _ = case.make(*records())
        w, direction = weights(engine), weights(engine, 1)
        moved, direct = engine.at(w).along(direction).move(0.3), engine.at(w - 0.3 * direction)
        np.testing.assert_array_equal(moved.w, direct.w)
        # The hinge's slope jumps, but no record of this table sits on the kink.
        np.testing.assert_allclose(moved.gradient_sum(), direct.gradient_sum(), rtol=1e-10, atol=1e-10)
        assert moved.loss_sum() == pytest.approx(direct.loss_sum(), rel=1e-12)

    def test_zero_direction_stays(self, case: Case) -> None:
        engine, _ = case.make(*records())
        point = engine.at(weights(engine))
        line = point.along(np.zeros(engine.n_weights))
        np.testing.assert_allclose(line.loss_sums(1.0, 2, 1.0), point.loss_sum(1.0), rtol=1e-4)
        np.testing.assert_array_equal(line.move(1.0).gradient_sum(1.0), point.gradient_sum(1.0))

    @pytest.mark.parametrize("n", [0, 1])
    def test_few_records(self, case: Case, n: int) -> None:
        X, y = records()
        engine, oracle = case.make(X[:n], y[:n])
        w = weights(engine)
        point = engine.at(w)
        np.testing.assert_allclose(point.gradient_sum(1.0), oracle.gradient_sum(w, 1.0), atol=grid(1.0))
        assert point.loss_sum(1.0) == pytest.approx(oracle.loss_sum(w, 1.0), abs=grid(1.0))
        assert point.along(w).loss_sums(1.0, 1, 1.0).shape == (2,)

    def test_records_without_features_have_loss_but_no_gradient(self, case: Case) -> None:
        engine, _ = case.make(np.zeros((5, 3)), np.ones(5))
        point = engine.at(np.zeros(engine.n_weights))
        np.testing.assert_array_equal(point.gradient_sum(1.0)[:3], 0)
        assert point.loss_sum(10.0) == pytest.approx(5 * case.loss.value(0.0, 1.0), abs=1e-4)

    @pytest.mark.parametrize("huge", [1e30, 1e38])
    def test_huge_features_stay_within_the_bound(self, case: Case, huge: float) -> None:
        engine, _ = case.make(np.array([[huge, -huge, huge]]), np.array([1]))
        point = engine.at(np.array([1e3, 1e3, 1e3, 0.0])[: engine.n_weights])
        for at in (point, point.along(np.ones(engine.n_weights)).move(1e10)):
            gradient = at.gradient_sum(1.0)
            assert np.linalg.norm(gradient) <= engine.gradient_bound(1.0)
        sums = point.along(-huge * np.ones(engine.n_weights)).loss_sums(1e10, 20, 1.0)
        assert np.all((sums >= 0) & (sums <= 1 + loss_slack(1.0)))

    def test_subset_sums_these_records(self, case: Case) -> None:
        X, y = records()
        engine, _ = case.make(X, y)
        rows = np.array([3, 1, 1, 200])
        subset, (_, oracle) = engine.subset(rows), case.make(X[rows], y[rows])
        w = weights(engine)
        assert subset.n_records == 4
        np.testing.assert_allclose(
            subset.at(w).gradient_sum(), oracle.gradient_sum(w), rtol=1e-12, atol=1e-12
        )
        assert engine.subset(np.array([], dtype=int)).at(w).loss_sum(1.0) == 0

    def test_weights_are_copied_and_read_only(self, case: Case) -> None:
        engine, _ = case.make(*records())
        w = weights(engine)
        point = engine.at(w)
        w[0] = 7
        assert point.w[0] != 7
        with pytest.raises(ValueError, match="read-only"):
            point.w[0] = 1

    def test_unanswerable_questions_are_refused(self, case: Case) -> None:
        engine, _ = case.make(*records())
        with pytest.raises(ValueError, match=f"expected {engine.n_weights} weights"):
            engine.at(np.zeros(99))
        point = engine.at(weights(engine))
        with pytest.raises(ValueError, match="count must be between"):
            point.along(point.w).loss_sums(1.0, MAX_CANDIDATES + 1)
        with pytest.raises(ValueError, match="clip must be"):
            point.gradient_sum(0.0)

    @pytest.mark.parametrize("clip", [1.0, 0.3, 1e-3, 50.0])
    def test_gradient_at_is_gradient_sum_bit_for_bit(self, case: Case, clip: float) -> None:
        engine, _ = case.make(*records(1203))
        w = weights(engine)
        np.testing.assert_array_equal(engine.gradient_at(w, clip), engine.at(w).gradient_sum(clip))

    def test_gradient_at_without_a_clip_matches_oracle(self, case: Case) -> None:
        engine, oracle = case.make(*records())
        w = weights(engine)
        np.testing.assert_allclose(engine.gradient_at(w, inf), oracle.gradient_sum(w), rtol=1e-12, atol=1e-12)

    def test_gradient_bound_is_the_clip_and_rounding(self, case: Case) -> None:
        engine, _ = case.make(*records())
        for clip in (0.3, 1.0, 50.0, inf):
            assert engine.gradient_bound(clip) == gradient_bound(clip, engine.n_weights)

    @pytest.mark.parametrize("slope_clip", [0.5, 100.0])
    def test_rise_sums_match_oracle(self, case: Case, slope_clip: float) -> None:
        engine, oracle = case.make(*records())
        w, direction = weights(engine), weights(engine, 1)
        sums = engine.at(w).along(direction).rise_sums(0.07, 9, slope_clip)
        slopes = np.clip(oracle.y * (oracle.X @ direction), -slope_clip, slope_clip)
        losses = oracle.value(oracle.y * (oracle.X @ w) - 0.07 * np.arange(10)[:, None] * slopes)
        bound = rise_bound(case.loss.lipschitz, 0.07, 9, slope_clip)
        rounding = engine.n_records * rise_slack(bound)
        np.testing.assert_allclose(sums, (losses - losses.min(axis=0)).sum(axis=1), atol=rounding)

    def test_norm_counts_match_oracle(self, case: Case) -> None:
        engine, oracle = case.make(*records())
        norms = np.linalg.norm(oracle.X[:, :13], axis=1)
        np.testing.assert_array_equal(
            Norms(np.array([4.0, 3.0, 1.0])).counts(engine.table), [np.sum(norms > 3.0), np.sum(norms <= 3.0)]
        )

    def test_norm_on_an_edge_counts_below_it(self, case: Case) -> None:
        engine, _ = case.make(np.array([[3.0, 4.0], [0.0, 0.0], [30.0, 40.0]]), np.ones(3))
        np.testing.assert_array_equal(Norms(np.array([10.0, 5.0, 2.0, 1.0])).counts(engine.table), [1, 1, 1])
        with pytest.raises(ValueError, match="strictly descending"):
            Norms(np.array([1.0, 2.0])).counts(engine.table)

    @pytest.mark.parametrize(("radius", "curve_radius"), [(0.8, 100.0), (2.0, 0.3), (100.0, 100.0)])
    def test_moment_sums_match_oracle(self, case: Case, radius: float, curve_radius: float) -> None:
        X, y = records()
        engine, oracle = case.make(np.clip(X, -1, 1), y)
        folds = np.arange(13) % 2.0
        first, second = moments(oracle.X[:, :13], folds, radius, curve_radius)
        sums = Moments(radius, curve_radius, folds).sums(engine.table)
        np.testing.assert_allclose(sums[0], first, atol=engine.n_records * grid(radius))
        np.testing.assert_allclose(sums[1], second, atol=engine.n_records * grid(curve_radius))
        for bound, clip in zip(
            Moments(radius, curve_radius, folds).bounds(engine.table), (radius, curve_radius), strict=True
        ):
            assert clip < bound < clip * (1 + 2e-5)

    @pytest.mark.parametrize("radius", [0.3, 2.0, 100.0])
    def test_second_moments_match_oracle(self, case: Case, radius: float) -> None:
        engine, oracle = case.make(*records())
        w = 0.3 * weights(engine)
        m = oracle.y * (oracle.X @ w)
        curvatures = (oracle.derivative(m + 0.5) - oracle.derivative(m - 0.5)) / 1.0
        atol = engine.n_records * radius**2 * 2.0**-14
        moments, hessian = SecondMoments(radius), HessianAt(w, radius)
        np.testing.assert_allclose(moments.sums(engine.table), products(oracle.X, 1.0, radius), atol=atol)
        np.testing.assert_allclose(hessian.sums(engine), products(oracle.X, curvatures, radius), atol=atol)
        assert radius**2 < moments.bounded(engine).sensitivity < radius**2 * (1 + 5e-4)
        assert hessian.bounded(engine).sensitivity == moments.bounded(engine).sensitivity

    def test_curve_counts_match_oracle(self, case: Case) -> None:
        engine, oracle = case.make(*records())
        folds, Z = np.arange(13) % 2.0, oracle.X[:, :13]
        norms = np.linalg.norm(Z * (Z - folds), axis=1)
        np.testing.assert_array_equal(
            CurveNorms(np.array([9.0, 4.0, 2.0, 1.0]), folds).counts(engine.table),
            [np.sum(norms > 4), np.sum((norms > 2) & (norms <= 4)), np.sum(norms <= 2)],
        )

    def test_magnitude_sums_match_oracle(self, case: Case) -> None:
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

    def test_value_counts_match_oracle(self, case: Case) -> None:
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

    def test_clipped_features_are_those_of_clipped_records(self, case: Case) -> None:
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

    @pytest.mark.parametrize("other", LOSSES.values(), ids=LOSSES)
    def test_with_another_loss_sums_that_loss_over_the_same_records(self, case: Case, other: Loss) -> None:
        X, y = records()
        engine, _ = case.make(X, y)
        expected, _ = Case(case.build, case.layout, other, case.intercept).make(X, y)
        changed, w = engine.with_loss(other), weights(engine)
        assert changed.loss is other
        np.testing.assert_array_equal(changed.gradient_at(w, 1.0), expected.gradient_at(w, 1.0))
        assert changed.at(w).loss_sum() == expected.at(w).loss_sum()
        assert engine.loss is case.loss, "the engine itself must not change"

    @pytest.mark.parametrize("shrink_only", [False, True])
    def test_rows_of_a_norm_match_oracle(self, case: Case, shrink_only: bool) -> None:
        X, y = records()
        X[0] = 0.0
        engine, oracle = case.make(X, y)
        norms = np.linalg.norm(oracle.X, axis=1)
        changed = norms > (2.0 if shrink_only else 0.0)
        oracle.X = oracle.X * np.where(changed, 2.0 / np.maximum(norms, 1e-9), 1.0)[:, None]
        scaled, w = engine.with_rows_of(2.0, shrink_only=shrink_only), weights(engine)
        assert scaled.n_weights == engine.n_weights
        assert not scaled.table.intercept, (
            "the constant is scaled with its row, so it is no constant any more"
        )
        np.testing.assert_allclose(scaled.at(w).gradient_sum(), oracle.gradient_sum(w), rtol=1e-5, atol=1e-5)
        longer = Norms(np.array([9.0, 2.0 * (1 + 2.0**-20), 0.0])).counts(scaled.table)[0]
        assert longer == 0
        with pytest.raises(ValueError, match="before transforming"):
            engine.transformed(np.zeros(13), np.full(13, 2.0)).with_rows_of(1.0)

    @pytest.mark.parametrize("n", [0, 1])
    def test_few_records_are_described(self, case: Case, n: int) -> None:
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


class ViewCase(Case):
    """Tables whose columns need a transformation, and the matrix that it should give written out."""

    center = np.array([0.0, 1.0, -0.3, 2000.0, 5.0, 1e6, 1e-9, 0.2, 0.0, -40.0, 0.1, 0.0, 3.0])
    scale = np.array([1.0, 0.5, 2.0, 1.0, 0.0, 1e-6, 1e8, 0.1, 3.0, 0.3, 0.7, 0.0, 0.25])
    bias = 0.4

    def records(self, n: int = 203) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(n)
        Z = rng.standard_normal((n, 13)) * (rng.random((n, 13)) < 0.7)
        X = self.center + Z / np.where(self.scale > 0, self.scale, 1e-3)
        X[rng.random((n, 13)) < 0.3] = 0  # absent in a sparse matrix
        return X, np.where(rng.random(n) < 0.4, 1.0, -1.0)

    def make(self, X: np.ndarray, y: np.ndarray) -> tuple[Problem, Oracle]:
        engine, oracle = super().make(X, y)
        oracle.X[:, :13] = self.scale * (oracle.X[:, :13] - self.center)
        oracle.X[:, 13] = self.bias
        return engine.transformed(self.center, self.scale, self.bias), oracle


@pytest.fixture(params=ENGINES)
def view_case(request: pytest.FixtureRequest, layout: Layout, loss: Loss) -> ViewCase:
    return ViewCase(ENGINES[request.param], layout, loss, True)


class TestView:
    @pytest.mark.parametrize("clip", [inf, 1.0, 0.05, 1e4])
    def test_gradient_sum_matches_oracle(self, view_case: ViewCase, clip: float) -> None:
        engine, oracle = view_case.make(*view_case.records())
        w = weights(engine) / np.array([1, 1, 1, 100, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
        gradient = engine.at(w).gradient_sum(clip)
        # the column of years is 5000 biases from zero, hence its grid and the sums' cancellation
        rounding = 1e-9 if clip == inf else engine.n_records * clip * 6000 * 2.0**-20
        expected = oracle.gradient_sum(w, clip)
        np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-7 + rounding)
        near = np.abs(view_case.center * view_case.scale) < 10
        tight = 1e-9 if clip == inf else engine.n_records * clip * 30 * 2.0**-20
        np.testing.assert_allclose(gradient[:-1][near], expected[:-1][near], rtol=1e-7, atol=1e-7 + tight)

    @pytest.mark.parametrize("clip", [1.0, 0.05, 1e4])
    def test_gradient_at_is_gradient_sum_bit_for_bit(self, view_case: ViewCase, clip: float) -> None:
        engine, _ = view_case.make(*view_case.records(1203))
        w = weights(engine)
        np.testing.assert_array_equal(engine.gradient_at(w, clip), engine.at(w).gradient_sum(clip))

    def test_losses_match_oracle(self, view_case: ViewCase) -> None:
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

    def test_norm_counts_match_oracle(self, view_case: ViewCase) -> None:
        engine, oracle = view_case.make(*view_case.records())
        norms = np.linalg.norm(oracle.X[:, :13], axis=1)
        edges = np.array([3000.0, 1000.0, 20.0, 5.0, 2.0, 1.0])
        expected = np.histogram(norms, [0, *edges[-2:0:-1], inf])[0][::-1]
        np.testing.assert_array_equal(Norms(edges).counts(engine.table), expected)

    @pytest.mark.parametrize(("radius", "curve_radius"), [(0.5, 30.0), (30.0, 30.0), (30.0, 0.1)])
    def test_moment_sums_match_oracle(self, view_case: ViewCase, radius: float, curve_radius: float) -> None:
        engine, oracle = view_case.make(*view_case.records())
        shrink = 1 / (8 + np.abs(view_case.center * view_case.scale))
        engine, Z = engine.transformed(np.zeros(13), shrink), oracle.X[:, :13] * shrink
        folds = np.arange(13) % 2.0
        expected = moments(Z, folds, radius, curve_radius)
        radii = radius, curve_radius
        for sums, right, clip in zip(Moments(*radii, folds).sums(engine.table), expected, radii, strict=True):
            np.testing.assert_allclose(sums, right, atol=engine.n_records * 2.0**-20 * (2 + clip))
        for bound, clip in zip(Moments(*radii, folds).bounds(engine.table), radii, strict=True):
            assert clip < bound < clip + 2e-5 * (1 + clip)

    @pytest.mark.parametrize("radius", [0.3, 30.0])
    def test_second_moments_match_oracle(self, view_case: ViewCase, radius: float) -> None:
        engine, oracle = view_case.make(*view_case.records())
        w = 1e-3 * weights(engine)
        m = oracle.y * (oracle.X @ w)
        curvatures = (oracle.derivative(m + 0.5) - oracle.derivative(m - 0.5)) / 1.0
        atol = engine.n_records * radius**2 * 2.0**-14
        moments, hessian = SecondMoments(radius), HessianAt(w, radius)
        np.testing.assert_allclose(moments.sums(engine.table), products(oracle.X, 1.0, radius), atol=atol)
        np.testing.assert_allclose(hessian.sums(engine), products(oracle.X, curvatures, radius), atol=atol)

    def test_curve_counts_match_oracle(self, view_case: ViewCase) -> None:
        engine, oracle = view_case.make(*view_case.records())
        folds, Z = np.arange(13) % 2.0, oracle.X[:, :13]
        norms = np.linalg.norm(Z * (Z - folds), axis=1)
        np.testing.assert_array_equal(
            CurveNorms([1e9, 1e4, 100.0, 0.0], folds).counts(engine.table),
            [np.sum(norms > 1e4), np.sum((norms > 100) & (norms <= 1e4)), np.sum(norms <= 100)],
        )

    def test_weights_and_gradients_translate(self, view_case: ViewCase) -> None:
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

    def test_magnitudes_are_those_of_the_raw_features(self, view_case: ViewCase) -> None:
        X, y = view_case.records()
        engine, _ = view_case.make(X, y)
        raw, _ = Case.make(view_case, X, y)
        np.testing.assert_array_equal(Magnitudes().sums(engine.table), Magnitudes().sums(raw.table))

    def test_views_compose(self, view_case: ViewCase) -> None:
        engine, oracle = view_case.make(*view_case.records())
        center, scale = np.linspace(-1, 1, 13), np.linspace(0.0, 2, 13)
        again = engine.transformed(center, scale, 2.0)
        dropped = view_case.scale == 0
        oracle.X[:, :13] = np.where(dropped, 0.0, scale * (oracle.X[:, :13] - center))
        oracle.X[:, 13] = 2.0
        w = 1e-3 * weights(engine)
        np.testing.assert_allclose(again.at(w).gradient_sum(), oracle.gradient_sum(w), rtol=1e-7, atol=1e-7)

    def test_the_view_that_changes_nothing_changes_nothing(self, view_case: ViewCase) -> None:
        engine, _ = Case.make(view_case, *view_case.records())
        same = engine.transformed(np.zeros(13), np.ones(13))
        w = 1e-3 * weights(engine)
        np.testing.assert_array_equal(same.gradient_at(w, 1.0), engine.gradient_at(w, 1.0))
        assert same.gradient_bound(1.0) == engine.gradient_bound(1.0)

    def test_subset_keeps_the_view(self, view_case: ViewCase) -> None:
        X, y = view_case.records()
        rows = np.array([3, 1, 1, 200])
        engine, part = view_case.make(X, y)[0], view_case.make(X[rows], y[rows])[0]
        w = weights(engine)
        np.testing.assert_array_equal(engine.subset(rows).gradient_at(w, 1.0), part.gradient_at(w, 1.0))
        np.testing.assert_array_equal(
            Norms([9.0, 3.0, 1.0]).counts(engine.subset(rows).table),
            Norms([9.0, 3.0, 1.0]).counts(part.table),
        )

    @pytest.mark.parametrize("n", [0, 1])
    def test_few_records(self, view_case: ViewCase, n: int) -> None:
        X, y = view_case.records()
        engine, oracle = view_case.make(X[:n], y[:n])
        w = 1e-3 * weights(engine)
        np.testing.assert_allclose(
            engine.gradient_at(w, 1.0), oracle.gradient_sum(w, 1.0), atol=2 * (engine.gradient_bound(1.0) - 1)
        )
        assert Norms([2.0, 1.0]).counts(engine.table) == n
        if n == 0:
            np.testing.assert_array_equal(Moments(1.0, 1.0, np.zeros(13)).sums(engine.table), 0)

    def test_clipping_after_transforming_is_refused(self, view_case: ViewCase) -> None:
        engine, _ = view_case.make(*view_case.records())
        with pytest.raises(ValueError, match="clip before transforming"):
            engine.clipped(-np.ones(13), np.ones(13))

    def test_bad_views_are_refused(self, view_case: ViewCase) -> None:
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

    def test_without_an_intercept_features_can_be_scaled(self, view_case: ViewCase) -> None:
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
