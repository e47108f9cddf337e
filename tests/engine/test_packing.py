"""A sparse matrix's layout holds what the matrix holds, and nothing that is computed depends on it."""

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from one_output import LOSSES

from privfit.engine.exact.bounds import column_clips, view_gradient_bound
from privfit.engine.exact.grids import grids
from privfit.engine.kernels import sparse, views
from privfit.engine.kernels.packing import PHRASES, ROWS_PER_TILE, Packed
from privfit.engine.kernels.sparse import weight_magic
from privfit.engine.layouts import packed as packing
from privfit.engine.layouts.csr import SparseLayout
from privfit.engine.parallel.chunks import chunk_size, cut, shares
from privfit.engine.problem import Problem
from privfit.losses.logistic import LOGISTIC

N = 3 * ROWS_PER_TILE + 77


def one_hot(n: int, levels: int, rng: np.random.Generator) -> np.ndarray:
    return np.eye(levels)[rng.integers(0, levels, n)]


def table(n: int = N) -> np.ndarray:
    """Categories, a dense column with some ones, one of mixed sizes, rare values, and a column of ones."""
    rng = np.random.default_rng(0)
    dense, mixed = rng.random(n), rng.standard_normal(n) * 3
    dense[::7] = 1.0
    mixed[::5] = 1.0
    rare = rng.random((n, 3)) * (rng.random((n, 3)) < 0.05)
    categories = [one_hot(n, levels, rng) for levels in (5, 2, 9, 40, 3)]
    return np.column_stack([categories[0], dense, *categories[1:], mixed, rare, np.ones(n)])


TABLES: dict[str, Callable[[], np.ndarray]] = {
    "mixed": table,
    "categories": lambda: np.column_stack([one_hot(N, 6, np.random.default_rng(k)) for k in range(4)]),
    "many patterns": lambda: (np.random.default_rng(1).random((N, 40)) < 0.5) * 1.0,
    "rare ones": lambda: (np.random.default_rng(6).random((N, 60)) < 0.004) * 1.0,
    "dense": lambda: np.random.default_rng(2).random((N, 6)),
    "dense with ones": lambda: np.where(
        np.random.default_rng(7).random((N, 3)) < 0.05, 1.0, np.random.default_rng(8).random((N, 3))
    ),
    "counts": lambda: np.random.default_rng(3).poisson(0.5, (N, 12)) * 1.0,
    "loose": lambda: (
        np.random.default_rng(4).random((N, 30)) * (np.random.default_rng(5).random((N, 30)) < 0.2)
    ),
    "empty": lambda: np.zeros((N, 4)),
    "no rows": lambda: np.zeros((0, 4)),
    "no columns": lambda: np.zeros((N, 0)),
}
tables = pytest.mark.parametrize("name", TABLES)


def unpacked(layout: Packed, shape: tuple[int, int]) -> np.ndarray:
    X = np.zeros(shape)
    for codes in layout.codes:
        for row, code in enumerate(codes):
            while layout.parents[code] != code:
                X[row, layout.lasts[code]] += 1.0
                code = layout.parents[code]
    for plane, column in zip(layout.planes, layout.plane_columns, strict=True):
        X[:, column] += plane
    for r, row in enumerate(layout.loose_rows):
        entries = slice(layout.indptr[r], layout.indptr[r + 1])
        X[row, layout.indices[entries]] += layout.data[entries]
    return X


@tables
def test_a_layout_holds_the_matrix(name: str) -> None:
    X = TABLES[name]()
    for layout in (packing.packed(sp.csr_array(X)), packing.loose(sp.csr_array(X))):
        np.testing.assert_array_equal(unpacked(layout, X.shape), X)
        starts = range(0, len(X) + ROWS_PER_TILE, ROWS_PER_TILE)
        borders = [np.searchsorted(layout.loose_rows, row) for row in starts]
        np.testing.assert_array_equal(layout.loose_tiles, borders)


def test_the_parts_of_a_layout() -> None:
    layout = packing.packed(sp.csr_array(table()))
    assert len(layout.codes) > 0
    assert len(layout.planes) == 1, "the dense column; the mixed one has values above 1"
    assert len(layout.data) > 0
    assert layout.has_wild
    assert len(layout.parents) <= len(layout.codes) * PHRASES
    assert not packing.packed(sp.csr_array(TABLES["categories"]())).has_wild


def test_planes_leave_their_ones_to_the_loose_entries() -> None:
    """Numbers at their upper bound are ones. A few of them must not make their whole column loose."""
    X = TABLES["dense with ones"]()
    layout = packing.packed(sp.csr_array(X))
    assert len(layout.planes) == 3
    assert not (layout.planes == 1.0).any()
    np.testing.assert_array_equal(layout.data, 1.0)
    np.testing.assert_array_equal(layout.loose_rows, np.flatnonzero((X == 1.0).any(axis=1)))


@pytest.mark.parametrize("name", ["loose", "rare ones"])
def test_what_does_not_pack_stays_where_it_is(name: str) -> None:
    X = sp.csr_array(TABLES[name]())
    assert packing.packed(X).data is X.data


def engines(X: np.ndarray, dtype: Any = np.float64, intercept: bool = True) -> list[Problem]:
    """The same records, packed and as they are."""
    y = np.where(np.random.default_rng(9).random(len(X)) < 0.4, 1.0, -1.0)
    engine = Problem.of(sp.csr_array(X.astype(dtype)), y, LOGISTIC, intercept=intercept)
    plain = Problem.of(sp.csr_array(X.astype(dtype)), y, LOGISTIC, intercept=intercept)
    assert isinstance(plain.table.layout, SparseLayout)
    plain.table.layout.pack = False
    return [engine, plain]


def answers(engine: Problem, w: np.ndarray) -> list[np.ndarray]:
    results = []
    for loss in LOSSES.values():
        problem = Problem(engine.table, loss.targets.nearest(engine.targets), loss)
        point = problem.at(w)
        gradient = point.gradient_sum(0.7)
        np.testing.assert_array_equal(problem.gradient_at(w, 0.7), gradient)
        results += [point.predictions, gradient, point.along(gradient).loss_sums(1e-3, 4, 1.0)]
    return results


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("intercept", [True, False])
@tables
def test_nothing_depends_on_the_layout(name: str, intercept: bool, dtype: Any) -> None:
    X = TABLES[name]()
    rng = np.random.default_rng(1)
    p = X.shape[1]
    w = rng.standard_normal(p + intercept) * np.exp(3 * rng.standard_normal(p + intercept))
    views = [lambda engine: engine]
    for spread in (0.3, 30.0):  # scales so different that ones are not rounded alike
        center, scale = rng.random(p) * intercept, np.exp(spread * rng.standard_normal(p)).clip(1e-9, 1e9)
        scale[: p // 5] = 0.0
        views.append(lambda engine, c=center, s=scale: engine.transformed(c, s, 0.4))
    for view in views:
        packed, plain = (answers(view(engine), w) for engine in engines(X, dtype, intercept))
        for there, here in zip(packed, plain, strict=True):
            np.testing.assert_array_equal(there, here)


@pytest.mark.parametrize("size", [1e-320, 1e-290, 1e289, 1e300, np.inf])
def test_nor_for_the_smallest_and_largest_weights(size: float) -> None:
    X = table()
    w = size * np.random.default_rng(2).uniform(-1, 1, X.shape[1] + 1)
    w[1::3] = 0.1 * min(size, 1.0)
    packed, plain = (engine.at(w).predictions for engine in engines(X))
    np.testing.assert_array_equal(packed, plain)
    tame = np.clip(X, -1.0, 1.0)
    one_wild = np.vstack([tame, X[np.argmax(np.abs(X).max(axis=1))]])
    margins, without = (engines(rows)[0].at(w).predictions for rows in (one_wild, tame))
    np.testing.assert_array_equal(margins[:-1], without)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 64])
@pytest.mark.parametrize("n", [0, 1, N, 12_289, 50_000, 786_433, 10**6 + 7, 2**32])
def test_shares_are_of_whole_chunks_and_of_a_size(n: int, n_threads: int) -> None:
    size = chunk_size(n, 50)
    assert size % ROWS_PER_TILE == 0
    assert n <= 64 * size
    chunks = list(cut(slice(0, n), size))
    groups = shares(chunks, n_threads)
    assert [rows for group in groups for rows in group] == chunks
    assert sum(rows.stop - rows.start for rows in chunks) == n
    assert all(before.stop == after.start for before, after in itertools.pairwise(chunks))
    lengths = [len(group) for group in groups]
    assert not lengths or max(lengths) - min(lengths) <= 1
    assert len(groups) >= min(len(chunks), n_threads)


def test_both_kinds_of_views_were_seen() -> None:
    """The test above is about two roundings; this is when each is used."""
    engine = engines(table())[0]
    p = engine.table.layout.shape[1]
    assert engine.table.rounding(1.0).ones_alike
    assert engine.transformed(np.full(p, 0.2), np.full(p, 2.0), 0.4).table.rounding(1.0).ones_alike
    steep = np.full(p, 2.0)
    steep[0] = 1e6
    assert not engine.transformed(np.full(p, 0.2), steep, 0.4).table.rounding(1.0).ones_alike


def test_a_neighbour_with_another_layout_differs_by_its_record() -> None:
    """One record makes a dense column wild and a block overflow; all others must count as before."""
    n = 4000
    rng = np.random.default_rng(3)
    blocks = [one_hot(n, 8, rng) for _ in range(3)]  # 512 phrases, and the empty one
    X = np.column_stack([*blocks, rng.random(n)])
    newcomer = np.append(rng.random(24) < 0.6, 5.0) * 1.0
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    w, center, scale = rng.standard_normal(26), rng.random(25), 0.5 + rng.random(25)
    sums, layouts = [], []
    for rows, labels in ((X, y), (np.vstack([newcomer, X]), np.append(1.0, y))):
        engine = Problem.of(sp.csr_array(rows), labels, LOGISTIC)
        assert isinstance(engine.table.layout, SparseLayout)
        layouts.append(engine.table.layout.packed)
        view = engine.transformed(center, scale, 0.4)
        sums.append((view.gradient_at(w, 0.7), view.at(w).predictions[-n:], engine.gradient_at(w, 0.7)))
    assert len(layouts[0].planes) != len(layouts[1].planes)
    assert layouts[0].parents.shape != layouts[1].parents.shape
    (viewed, margins, plain), (viewed_more, margins_more, plain_more) = sums
    np.testing.assert_array_equal(margins_more, margins)
    assert np.linalg.norm(viewed_more - viewed) <= view.gradient_bound(0.7)
    alone = Problem.of(sp.csr_array(newcomer[None]), [1.0], LOGISTIC).gradient_at(w, 0.7)
    np.testing.assert_array_equal(plain_more - plain, alone)


VALUES = st.sampled_from([0.0, 0.0, 1.0, 1.0, 1.0, -1.0, 0.3, 1 / 3, 1 + 2.0**-40, 7.1, -1e9])


@settings(max_examples=150)
@given(
    others=st.lists(
        st.tuples(st.lists(VALUES, min_size=4, max_size=4), st.sampled_from([-1.0, 1.0])), max_size=60
    ),
    record=st.lists(VALUES, min_size=4, max_size=4),
    w=st.lists(st.sampled_from([0.1, -3.0, 1e5, 1 / 3, -1e-9, 1e295]), min_size=5, max_size=5),
    scale=st.lists(st.sampled_from([0.0, 1.0, 0.7, 5.0, 1e4]), min_size=4, max_size=4),
    clip=st.sampled_from([1e-3, 0.7, 1.0, 1e4]),
)
def test_one_record_moves_packed_sums_by_the_bound_at_most(
    others: Any, record: Any, w: Any, scale: Any, clip: float
) -> None:
    gradients = []
    for rows in ([x for x, _ in others], [record, *(x for x, _ in others)]):
        X = sp.csr_array(np.array(rows).reshape(len(rows), 4))
        labels = [1.0] * (len(rows) - len(others)) + [label for _, label in others]
        raw = Problem.of(X, labels, LOGISTIC)
        for engine in (raw, raw.transformed([0.3, 0.0, -2.0, 0.1], scale, 0.4)):
            gradients.append((engine.gradient_at(w, clip), engine.gradient_bound(clip)))
    for (before, bound), (after, _) in zip(gradients[:2], gradients[2:], strict=True):
        assert np.linalg.norm(after - before) <= bound


@given(
    st.lists(st.floats(-1e280, 1e280, allow_subnormal=False), min_size=1, max_size=8),
    st.data(),
)
def test_products_with_tame_values_add_up_exactly(weights: list[float], data: st.DataObject) -> None:
    w = np.array(weights)
    magic = weight_magic(w)
    values = data.draw(st.lists(st.floats(-1, 1), min_size=len(w), max_size=len(w)))
    terms = [(v * x + magic) - magic for v, x in zip(values, weights, strict=True)]
    total = 0.0
    for term in data.draw(st.permutations(terms)):
        total += term
    assert Fraction(total) == sum(map(Fraction, terms))
    largest = float(np.abs(w).sum())
    assert abs(
        sum(map(Fraction, terms))
        - sum(Fraction(v) * Fraction(x) for v, x in zip(values, weights, strict=True))
    ) <= (Fraction(len(w) * 2.0**-49) * Fraction(largest) + Fraction(2.0**-900))


def test_weights_that_are_too_large_are_not_rounded() -> None:
    assert weight_magic(np.array([1e300])) == 0.0
    assert weight_magic(np.array([np.inf])) == 0.0
    assert weight_magic(np.array([np.nan])) == 0.0


def test_ones_are_summed_apart_and_on_the_grid_of_the_coefficient() -> None:
    layout = packing.loose(sp.csr_array(np.array([[1.0, 0.3, 0.0], [0.3, 1.0, 1.0]])))
    coefficients = np.array([0.7, -0.6])
    magics = 1.5 * 2.0**52 * np.array([2.0**-3, 2.0**-4, 2.0**-5, 2.0**-1])
    out, scratch, phrases = np.zeros(7), np.empty(ROWS_PER_TILE), np.zeros((sparse.COPIES, 0))
    combine = njit(sparse.tile_combine)
    combine(layout, 0, coefficients, magics, True, scratch, phrases, out)
    np.testing.assert_array_equal(out, [-0.125, 0.1875, 0.0, 0.0, 0.5, -0.5, -0.5])
    out[:] = 0.0
    combine(layout, 0, coefficients, magics, False, scratch, phrases, out)
    np.testing.assert_array_equal(out, [0.75 - 0.125, 0.1875 - 0.625, -0.59375, 0.0, 0.0, 0.0, 0.0])


def test_what_adding_the_ones_loses_is_added_in_the_end() -> None:
    """2**53 + 1 is 2**53 in float64; the center takes the 2**53 away again, and the 1 must remain."""
    layout = SparseLayout(sp.csr_array(np.zeros((1, 2))))
    columns, lost = layout.totals(np.array([2.0**53, 3.0, 2.0**52, 1.0, 4.0]))
    np.testing.assert_array_equal(columns, [2.0**53, 7.0, 2.0**52])
    np.testing.assert_array_equal(lost, [1.0, 0.0])
    gradient = views.folded(columns, lost, np.array([2.0, 0.0]), np.array([0.5, 0.0]), True, 0.25)
    np.testing.assert_array_equal(gradient, [0.5, 0.0, 2.0**50])


def test_ones_may_be_rounded_more_coarsely_than_other_values() -> None:
    """What the bound of a sparse table allows for ones is half a step of the coarser of two grids."""
    center, scale = np.array([0.0, 0.5]), np.array([1.0, 8.0])
    steps = grids(column_clips(1.0, center, scale, 0.4))
    assert steps[1] < steps[-1]
    fine = view_gradient_bound(1.0, center, scale, 0.4, steps)
    coarse = view_gradient_bound(1.0, center, scale, 0.4, np.maximum(steps, steps[-1]), summands=2)
    assert fine < coarse
    for arrange, bound in ((np.asarray, fine), (sp.csr_array, coarse)):
        problem = Problem.of(arrange(np.ones((1, 2))), [1.0], LOGISTIC).transformed(center, scale, 0.4)
        assert problem.gradient_bound(1.0) == bound
