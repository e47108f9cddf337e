"""How the in-memory engine treats its input: in place where it can, checked where it must."""

import multiprocessing
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from privfit.engine.kernels.gradients import gradients
from privfit.engine.kernels.ladder import softplus_sums
from privfit.engine.layouts.dense import DenseLayout
from privfit.engine.problem import Problem
from privfit.losses.hinge import HINGE
from privfit.losses.logistic import LOGISTIC
from privfit.questions import CurveNorms, HessianAt, Histograms, Magnitudes, Moments, Norms, SecondMoments


def table(n: int = 300, p: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.integers(-3, 4, (n, p)).astype(np.float64), np.where(rng.random(n) < 0.5, 1.0, -1.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_features_are_used_in_place(order: Any, dtype: Any) -> None:
    X, y = table()
    X = X.astype(dtype, order=order)
    assert Problem.of(X, y, HINGE).table.layout.take(slice(None)).base is X


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_csr_features_are_used_in_place(index: Any) -> None:
    X, y = table()
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    engine = Problem.of(X, y, HINGE)
    assert engine.table.layout.X is X
    w = np.arange(8.0)
    np.testing.assert_array_equal(
        engine.at(w).gradient_sum(1.0), Problem.of(X.toarray(), y, HINGE).at(w).gradient_sum(1.0)
    )


CONVERSIONS = {
    "int64": lambda X: X.astype(np.int64),
    "float16": lambda X: X.astype(np.float16),
    "big endian": lambda X: X.astype(">f8"),
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "list": lambda X: X.tolist(),
    "csc": sp.csc_array,
    "coo": sp.coo_matrix,
    "int csr": lambda X: sp.csr_matrix(X.astype(int)),
}


def read_only(X: np.ndarray) -> np.ndarray:
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("convert", [*CONVERSIONS.values(), read_only], ids=[*CONVERSIONS, "read-only"])
def test_other_features_give_the_same_sums(convert: Any) -> None:
    X, y = table()
    w = np.linspace(-1, 1, 8)
    expected = Problem.of(X.copy(), y, LOGISTIC).at(w)
    point = Problem.of(convert(X), y, LOGISTIC).at(w)
    np.testing.assert_allclose(point.gradient_sum(1.0), expected.gradient_sum(1.0), atol=1e-6)
    np.testing.assert_allclose(point.along(w).loss_sums(0.1, 3), expected.along(w).loss_sums(0.1, 3))


def test_a_column_stored_twice_counts_once_with_its_sum() -> None:
    # Norm 2, not sqrt(2): the wrong one would let this record exceed its clip.
    twice = sp.csr_array(([1.0, 1.0], [0, 0], [0, 2]), shape=(1, 1))
    twice.has_canonical_format = True
    gradient = Problem.of(twice, [1], HINGE, intercept=False).at([0.0]).gradient_sum(1.0)
    np.testing.assert_array_equal(gradient, [-1.0])
    assert twice.nnz == 2, "the caller's matrix is left alone"


def test_a_column_that_does_not_exist_is_refused() -> None:
    wrong = sp.csr_array(([1.0], [0], [0, 1]), shape=(1, 1))
    wrong.indices[0] = 10**6
    with pytest.raises(ValueError, match="indices"):
        Problem.of(wrong, [1], HINGE)


def test_moving_does_not_read_the_features() -> None:
    X, y = table()
    w = np.linspace(-1, 1, 8)
    line = Problem.of(X, y, LOGISTIC).at(w).along(w)
    expected = line.loss_sums(0.1, 20, 1.0), line.move(0.1).loss_sum()
    X[:] = np.nan
    np.testing.assert_array_equal(line.loss_sums(0.1, 20, 1.0), expected[0])
    assert line.move(0.1).loss_sum() == expected[1]


@pytest.mark.parametrize("arrange", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
def test_overflowing_norms_contribute_nothing(arrange: Any) -> None:
    X = arrange(np.array([[1e200, -1e200, 1e200], [3.0, 0.0, 4.0]]))
    point = Problem.of(X, [1, -1], HINGE, intercept=False).at(np.zeros(3))
    np.testing.assert_allclose(point.gradient_sum(1.0), [0.6, 0.0, 0.8], atol=1e-6)


@pytest.mark.parametrize("arrange", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
def test_margins_stay_finite(arrange: Any) -> None:
    signs = np.resize([1.0, -1.0], 40)
    X = arrange(1e300 * np.array([signs, np.sort(signs), np.ones(40)]))
    line = Problem.of(X, [1, 1, 1], HINGE, intercept=False).at(np.full(40, 1e300)).along(np.full(40, -1e300))
    for margins in (line.origin.predictions, line.slopes, line.move(1e5).predictions):
        assert np.all(np.abs(margins) <= 1e300)
    assert line.move(1e5).predictions[2] == 1e300


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("arrange", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
def test_features_that_are_not_finite_are_refused(arrange: Any, bad: float) -> None:
    X, y = table()
    X[17, 3] = bad
    with pytest.raises(ValueError, match="X must be finite"):
        Problem.of(arrange(X), y, HINGE)


def test_labels_and_shapes_are_checked() -> None:
    X, y = table()
    with pytest.raises(ValueError, match=r"targets must have shape \(300,\)"):
        Problem.of(X, y[:-1], HINGE)
    with pytest.raises(ValueError, match=r"\+1 and -1 only"):
        Problem.of(X, np.abs(y) - 1, HINGE)
    with pytest.raises(ValueError, match="two dimensions"):
        Problem.of(X[0], y, HINGE)


def iterate(engine: Problem) -> np.ndarray:
    gradient = engine.at(np.zeros(engine.n_weights)).gradient_sum(1.0)
    return engine.at(gradient / engine.n_records).along(gradient).loss_sums(1e-6, 20, 1.0)


def test_several_threads_may_use_one_engine() -> None:
    engine = Problem.of(*table(30_000), LOGISTIC)
    expected = iterate(engine)
    with ThreadPoolExecutor(4) as pool:
        for sums in pool.map(lambda _: iterate(engine), range(20)):
            np.testing.assert_array_equal(sums, expected)


def _iterate_in_child(queue: Any) -> None:
    queue.put(iterate(Problem.of(*table(30_000), LOGISTIC)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_may_go_on() -> None:
    expected = iterate(Problem.of(*table(30_000), LOGISTIC))  # the parent's threads are running now
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_iterate_in_child, args=(queue,))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    np.testing.assert_array_equal(queue.get(), expected)


class Counted(DenseLayout):
    """A layout that counts the passes over X, chunk by chunk."""

    rows = 0

    def parts(self, rows: slice) -> Any:
        type(self).rows += rows.stop - rows.start
        return super().parts(rows)


def test_passes_are_as_many_as_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(30_000)
    problem = Problem.of(X, y, LOGISTIC)
    problem.table.layout = Counted(X)
    w = np.ones(problem.n_weights)

    def passes(ask: Callable[[], Any]) -> tuple[float, Any]:
        Counted.rows = 0
        answer = ask()
        return Counted.rows / len(X), answer

    count, point = passes(lambda: problem.at(w))
    assert count == 1
    assert passes(lambda: point.loss_sum(1.0))[0] == 0
    assert passes(lambda: point.gradient_sum(1.0))[0] == 1
    assert passes(lambda: problem.gradient_at(w, 1.0))[0] == 1
    count, line = passes(lambda: point.along(w))
    assert count == 1
    for free in (
        lambda: line.loss_sums(0.1, 20, 1.0),
        lambda: line.rise_sums(0.1, 20, 1.0),
        lambda: line.move(0.1).loss_sum(),
        lambda: Norms([9.0, 1.0]).counts(problem.table),
    ):
        assert passes(free)[0] == 0
    folds = np.zeros(7)
    assert passes(lambda: CurveNorms([9.0, 1.0], folds).counts(problem.table))[0] == 1
    assert passes(lambda: Moments(1.0, 1.0, folds).sums(problem.table))[0] == 1, "norms are known"
    assert passes(lambda: Moments(1.0, 1.0, folds + 1.0).sums(problem.table))[0] == 2
    assert passes(lambda: problem.at(0.0 * w))[0] == 0, "its predictions are zero"
    assert passes(lambda: SecondMoments(1.0).sums(problem.table))[0] == 1
    assert passes(lambda: HessianAt(w, 1.0).sums(problem))[0] == 2
    assert passes(lambda: Magnitudes().sums(problem.table))[0] == 1
    assert passes(lambda: Histograms(np.zeros((7, 1))).counts(problem.table))[0] == 1


@pytest.mark.parametrize("arrange", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
def test_a_pickled_problem_gives_the_same_bits_on_the_same_path(
    arrange: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = table()
    problem = Problem.of(arrange(X), y, LOGISTIC).transformed(np.full(7, 0.1), np.full(7, 2.0), 0.4)
    expected = iterate(problem)
    copy = pickle.loads(pickle.dumps(problem))
    assert gradients(copy.loss) is gradients(LOGISTIC), "compiled once"
    ladders: list[int] = []
    monkeypatch.setattr(
        "privfit.engine.points.softplus_sums", lambda *a: (ladders.append(1), softplus_sums(*a))
    )
    np.testing.assert_array_equal(iterate(copy), expected)
    assert ladders
