"""What every engine promises, for every layout of the features and every loss, against plain NumPy."""

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from privfit.engine.base import Engine
from privfit.engine.local import LocalEngine
from privfit.engine.rounding import MAX_CANDIDATES, gradient_bound, grid, loss_slack
from privfit.losses import LOSSES, Loss

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
ENGINES: dict[str, Callable[..., Engine]] = {"local": LocalEngine}

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


class Case:
    def __init__(self, build: Callable[..., Engine], layout: Layout, loss: Loss, intercept: bool) -> None:
        self.build, self.layout, self.loss, self.intercept = build, layout, loss, intercept

    def make(self, X: np.ndarray, y: np.ndarray) -> tuple[Engine, Oracle]:
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


def weights(engine: Engine, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(engine.n_weights)


class TestEngine:
    def test_describes_itself(self, case: Case) -> None:
        engine, _ = case.make(*records())
        assert isinstance(engine, Engine)
        assert (engine.n_records, engine.n_weights) == (203, 13 + case.intercept)
        assert engine.loss is case.loss
        assert engine.intercept is case.intercept

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
        assert point.loss_sum(10.0) == pytest.approx(5 * case.loss.value(0.0), abs=1e-4)

    @pytest.mark.parametrize("huge", [1e30, 1e38])
    def test_huge_features_stay_within_the_bound(self, case: Case, huge: float) -> None:
        engine, _ = case.make(np.array([[huge, -huge, huge]]), np.array([1]))
        point = engine.at(np.array([1e3, 1e3, 1e3, 0.0])[: engine.n_weights])
        for at in (point, point.along(np.ones(engine.n_weights)).move(1e10)):
            gradient = at.gradient_sum(1.0)
            assert np.linalg.norm(gradient) <= gradient_bound(1.0, engine.n_weights)
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
