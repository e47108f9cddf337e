"""What the privacy proof takes from views and summaries: one record's share is its own, and bounded."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from one_output import LOSSES

from privfit.engine.exact.bounds import rise_bound, rise_slack
from privfit.engine.exact.grids import grid, rounded_up
from privfit.engine.parallel import threads
from privfit.engine.problem import Problem
from privfit.engine.table import Table
from privfit.losses.hinge import HINGE
from privfit.losses.logistic import LOGISTIC
from privfit.questions import CurveNorms, HessianAt, Magnitudes, Moments, Norms, SecondMoments

LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "dense_c": np.ascontiguousarray,
    "dense_f": np.asfortranarray,
    "csr": sp.csr_array,
}
layouts = pytest.mark.parametrize("arrange", LAYOUTS.values(), ids=LAYOUTS)
N, P = 20_011, 13


def viewed(arrange: Any, dtype: Any = np.float64) -> tuple[Problem, np.ndarray]:
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((N, P)) * (rng.random((N, P)) < 0.6)).astype(dtype)
    X[:, 3] += 2000 * (X[:, 3] != 0)
    y = np.where(rng.random(N) < 0.4, 1.0, -1.0)
    center, scale = rng.standard_normal(P), 0.3 * np.exp(rng.standard_normal(P))
    center[3], scale[5] = 2000.3, 0.0
    return Problem.of(arrange(X), y, LOGISTIC).transformed(center, scale, 0.4), rng.standard_normal(P + 1)


def everything(engine: Problem, w: np.ndarray) -> np.ndarray:
    line = engine.at(w).along(np.ones(len(w)))
    return np.concatenate(
        [
            engine.gradient_at(w, 0.7),
            line.origin.gradient_sum(0.7),
            line.rise_sums(0.01, 5, 2.0),
            *Moments(1.5, 0.8, np.arange(P) % 2.0).sums(engine.table),
            CurveNorms([100.0, 3.0, 1.0, 0.5], np.arange(P) % 2.0).counts(engine.table),
            Norms([100.0, 3.0, 1.0, 0.5]).counts(engine.table),
            Magnitudes().sums(engine.table).ravel(),
            SecondMoments(0.9).sums(engine.table).ravel(),
            HessianAt(w, 0.3).sums(engine).ravel(),
        ]
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@layouts
def test_sums_are_the_same_in_any_order(arrange: Any, dtype: Any) -> None:
    engine, w = viewed(arrange, dtype)
    shuffled = engine.subset(np.random.default_rng(1).permutation(N))
    np.testing.assert_array_equal(everything(shuffled, w), everything(engine, w))


@layouts
def test_sums_do_not_depend_on_the_number_of_threads(arrange: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, w = viewed(arrange)
    results = []
    for n_threads in (1, 2, 3):
        monkeypatch.setattr(threads, "n_threads", lambda n=n_threads: n)
        results.append(everything(engine, w))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 13, 37, 120])
@layouts
def test_one_pass_gives_the_bits_of_two(arrange: Any, p: int, dtype: Any) -> None:
    rng = np.random.default_rng(p)
    X, y = rng.standard_normal((N, p)).astype(dtype), np.where(rng.random(N) < 0.4, 1.0, -1.0)
    w = rng.standard_normal(p + 1)
    for loss in LOSSES.values():
        engine = Problem.of(arrange(X), loss.targets.nearest(y), loss)
        np.testing.assert_array_equal(engine.gradient_at(w, 1.0), engine.at(w).gradient_sum(1.0))


FEATURES = st.one_of(
    st.floats(-10, 10),
    st.floats(1999, 2001),
    st.sampled_from([0.0, 0.0, 1e-310, -1e-160, 1e-20, 1e5, -1e100, 1e150, 1e160, -1.7e308]),
)
RECORDS = st.tuples(st.lists(FEATURES, min_size=3, max_size=3), st.sampled_from([-1.0, 1.0]))
WEIGHTS = st.lists(st.one_of(st.floats(-5, 5), st.sampled_from([1e8, -1e200])), min_size=4, max_size=4)
CENTERS = st.one_of(
    st.floats(-10, 10), st.floats(1999, 2001), st.sampled_from([0.0, 1e-20, -1e8, 1e60, 0.1 + 0.2])
)
FOLDS = np.array([0.0, 1.0, 0.0])
SCALES = st.one_of(st.floats(0.01, 10), st.sampled_from([0.0, 1.0, 1e-30, 1e-9, 1e6, 1e30]))


@settings(max_examples=300)
@given(
    others=st.lists(RECORDS, max_size=40),
    record=RECORDS,
    position=st.integers(0, 40),
    w=WEIGHTS,
    center=st.lists(CENTERS, min_size=3, max_size=3),
    scale=st.lists(SCALES, min_size=3, max_size=3),
    bias=st.sampled_from([1e-3, 0.4, 1.0, 50.0]),
    clip=st.sampled_from([1e-60, 1e-3, 0.7, 1.0, 3.0, 1e5]),
)
@example(
    others=[([2000.5, 0.1, 0.0], 1.0)] * 3,
    record=([2000.2, 1e5, 2000.0], 1.0),
    position=1,
    w=[1e-3, 0.0, 1.0, -2.0],
    center=[2000.1, 0.0, 2000.0],
    scale=[1.0, 1e-5, 0.01],
    bias=0.4,
    clip=1.0,
)
def test_one_record_moves_a_view_by_its_bounds_at_most(
    others: Any, record: Any, position: int, w: Any, center: Any, scale: Any, bias: float, clip: float
) -> None:
    more = [*others[:position], record, *others[position:]]
    for arrange in (np.ascontiguousarray, sp.csr_array):
        sums = []
        for rows in (others, more):
            X = np.array([x for x, _ in rows]).reshape(len(rows), 3)
            raw = Problem.of(arrange(X), [label for _, label in rows], LOGISTIC)
            engine = raw.transformed(center, scale, bias)
            sums.append(
                (
                    engine.gradient_at(np.array(w), clip),
                    SecondMoments(clip).bounded(engine).look(),
                    HessianAt(np.array(w), clip).bounded(engine).look(),
                    *Moments(clip, 0.4 * clip, FOLDS).sums(engine.table),
                    Norms([1e3, 10.0, 1.0, 0.1]).counts(engine.table),
                    CurveNorms([1e3, 10.0, 1.0, 0.1], FOLDS).counts(engine.table),
                    Magnitudes(-5, 12).sums(engine.table),
                    engine.at(w).along([1.0, -1e9, 2.0, 1e200]).rise_sums(0.3, 4, clip),
                )
            )
        gradient, products, hessian, straight, curved, norms, curve_norms, magnitudes, rises = (
            there - here for here, there in zip(*sums, strict=True)
        )
        bounds = Moments(clip, 0.4 * clip, FOLDS).bounds(engine.table)
        assert np.linalg.norm(gradient) <= engine.gradient_bound(clip)
        for moved, question in ((products, SecondMoments(clip)), (hessian, HessianAt(np.array(w), clip))):
            assert np.linalg.norm(moved) <= question.bounded(engine).sensitivity
        assert np.linalg.norm(straight) <= bounds[0]
        assert np.linalg.norm(curved) <= bounds[1]
        assert sorted(norms) == sorted(curve_norms) == [0, 0, 1]
        assert np.linalg.norm(magnitudes) <= Magnitudes().bound(engine.table) < 1 + 1e-5
        bound = rise_bound(1.0, 0.3, 4, clip)
        assert np.all(rises >= -rise_slack(bound))
        assert np.all(rises <= bound + rise_slack(bound))


@layouts
def test_a_clipped_record_far_from_the_center_has_the_norm_of_the_clip(arrange: Any) -> None:
    """The bound is not loose: this share must reach the clip, and a norm without the center would pass it."""
    x, center, scale = np.array([[2010.0, 3.0, 0.0]]), np.array([2000.0, 0.0, 0.9]), np.array([1.0, 2.0, 4.0])
    engine = Problem.of(arrange(x), [1], HINGE).transformed(center, scale, 0.4)
    gradient = engine.gradient_at(np.zeros(4), 1.0)
    z = np.append(scale * (x[0] - center), 0.4)
    excess = engine.gradient_bound(1.0) - 1
    assert excess < 0.02
    np.testing.assert_allclose(gradient, -z / np.linalg.norm(z), atol=excess)


@pytest.mark.parametrize("center", [1.0, 2000.0, 1e7])
def test_norms_of_sparse_rows_are_never_too_small(center: float) -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 30)) * (rng.random((200, 30)) < 0.5)
    centers = center * rng.random(30)
    X[:20] = centers * (1 + 1e-14 * rng.standard_normal(30))  # every large term cancels
    engine = Problem.of(sp.csr_array(X), np.ones(200), HINGE).transformed(centers, np.full(30, 0.7), 0.4)
    for i in range(40):
        squares = sum(
            (Fraction(0.7) * (Fraction(x) - Fraction(c))) ** 2 for x, c in zip(X[i], centers, strict=True)
        )
        exact = squares + Fraction(0.4) ** 2
        computed = Fraction(engine.table.norms[i]) ** 2
        assert computed >= exact * (1 - Fraction(2) ** -45)
        assert computed <= exact * (1 + Fraction(2) ** -45) + Fraction(2) ** -44 * Fraction(center) ** 2


@layouts
@pytest.mark.parametrize("size", [1 + 2.0**-20, 3.0, 100.0, 1e60, 1e100, 1e200])
def test_values_beyond_one_keep_within_the_moment_bound(arrange: Any, size: float) -> None:
    for pattern in ([1, 1, 1, 1], [1, 0, 0, 0], [1, 0.3, -0.2, 0]):
        engine = Problem.of(arrange(size * np.array([pattern])), [1], HINGE)
        for folds in (np.zeros(4), np.ones(4)):
            shares = [np.linalg.norm(sums) for sums in Moments(0.9, 0.5, folds).sums(engine.table)]
            bounds = Moments(0.9, 0.5, folds).bounds(engine.table)
            assert shares[0] <= bounds[0]
            assert shares[1] <= bounds[1]
            if size < 1e60:
                assert shares[0] > 0.89 or shares[1] > 0.49, "shrunk, not dropped"


def test_absent_values_whose_curves_overflow_contribute_nothing() -> None:
    far = Problem.of(sp.csr_array([[1e80, 0.0]]), [1], HINGE).transformed([1e80, 1e80], [1.0, 1.0])
    np.testing.assert_array_equal(Moments(1.0, 1.0, np.zeros(2)).sums(far.table), 0)


@layouts
def test_ordinary_bounds_are_close_to_the_clip(arrange: Any) -> None:
    X = np.ones((1, 120))
    for ratio, slack in ((1.0, 3e-5), (30.0, 8e-4)):
        view = Problem.of(arrange(X), [1], HINGE).transformed(np.full(120, 0.4 * ratio), np.ones(120), 0.4)
        assert 1 < view.gradient_bound(1.0) < 1 + slack
    center = np.zeros(120)
    center[0] = 12.0
    view = Problem.of(arrange(X), [1], HINGE).transformed(center, np.ones(120), 0.4)
    assert view.gradient_bound(1.0) < 1 + 1e-4


@given(
    st.lists(st.one_of(st.floats(0, 1e3), st.sampled_from([1e-300, 1e150, 5e-324, 0.1])), max_size=12),
    st.data(),
)
def test_sums_of_rounded_up_values_are_exact(values: list[float], data: st.DataObject) -> None:
    *rounded, total = rounded_up(np.array(values)).tolist()
    assert all(r >= v for r, v in zip(rounded, values, strict=True))
    assert sum(map(Fraction, rounded)) == Fraction(total)
    assert Fraction(total) <= Fraction(sum(map(Fraction, values))) * (1 + Fraction(2) ** -44)
    left, exact = total, Fraction(total)
    for value in data.draw(st.permutations(rounded)):
        left, exact = left - value, exact - Fraction(value)
        assert Fraction(left) == exact


@layouts
def test_clipping_copies_only_what_it_changes(arrange: Any) -> None:
    X = np.array([[1.0, -2.0], [0.0, 3.0]])
    engine = Problem.of(arrange(X), [1, -1], HINGE)
    assert engine.clipped([-1.0, -2.0], [1.0, 3.0]) is engine
    clipped = engine.clipped([-np.inf, -1.5], [0.5, np.inf])
    change = clipped.table.layout.take(slice(None))
    np.testing.assert_array_equal(change.toarray() if sp.issparse(change) else change, [[0.5, -1.5], [0, 3]])
    np.testing.assert_allclose(clipped.table.norms, np.sqrt([0.25 + 2.25 + 1, 10]))
    kept = engine.table.layout.take(slice(None))
    np.testing.assert_array_equal(kept.toarray() if sp.issparse(kept) else kept, X)


def test_sparse_bounds_must_include_zero() -> None:
    engine = Problem.of(sp.csr_array(np.eye(2)), [1, -1], HINGE)
    with pytest.raises(ValueError, match="must include 0"):
        engine.clipped([0.1, 0.0], [1.0, 1.0])


@layouts
def test_views_share_the_features(arrange: Any) -> None:
    engine = Problem.of(arrange(np.eye(3)), [1, -1, 1], HINGE)
    assert engine.transformed(np.ones(3), np.ones(3), 0.4).table.layout is engine.table.layout


CHANGES: dict[str, Callable[[Table], Table]] = {
    "transformed": lambda table: table.transformed(np.full(3, 0.1), np.array([0.5, 2.0, 7.0]), 0.3),
    "clipped": lambda table: table.clipped(np.full(3, -0.1), np.full(3, 0.1)),
    "rows": lambda table: table.subset(np.array([7, 3, 3])),
    "first rows": lambda table: table.first(5),
}


@layouts
@pytest.mark.parametrize("name", CHANGES)
def test_nothing_that_was_computed_of_a_table_is_taken_for_that_of_another(name: str, arrange: Any) -> None:
    """Norms and roundings decide how far a record moves a sum."""

    def computed(table: Table) -> list[Any]:
        sums = table.combination(np.ones(table.n_records), 1.0)
        return [
            *(table.squares, table.norms, table.reciprocals, table.coordinate_reciprocals),
            *(table.rounding(1.0).bound, table.combination_bound(1.0), sums),
        ]

    X = np.random.default_rng(0).standard_normal((20, 3))
    used = Table(arrange(X))
    computed(used)
    expected = computed(CHANGES[name](Table(arrange(X))))
    for found, fresh in zip(computed(CHANGES[name](used)), expected, strict=True):
        np.testing.assert_array_equal(found, fresh)


def test_extreme_questions_are_refused() -> None:
    engine = Problem.of(np.eye(3), [1, -1, 1], HINGE)
    with pytest.raises(ValueError, match="radius must be"):
        Moments(0.0, 1.0, np.zeros(3)).bounds(engine.table)
    with pytest.raises(ValueError, match="radius must be"):
        Moments(1.0, -1.0, np.zeros(3)).bounds(engine.table)
    far = engine.transformed(np.full(3, 1e200), np.full(3, 1e-100))
    with pytest.raises(ValueError, match="too extreme"):
        far.gradient_bound(1e90)
    with pytest.raises(ValueError, match="too extreme"):
        far.gradient_at(np.zeros(4), 1e90)
    line = engine.at(np.zeros(4)).along(np.ones(4))
    with pytest.raises(ValueError, match="count must be between"):
        line.rise_sums(0.1, 65, 1.0)
    with pytest.raises(ValueError, match="clip must be"):
        line.rise_sums(0.1, 3, 0.0)


def test_rises_start_at_the_least_loss() -> None:
    engine = Problem.of(np.array([[1.0], [-1.0]]), [1, 1], HINGE, intercept=False)
    rises = engine.at([0.0]).along([1.0]).rise_sums(0.5, 2, 1.0)  # margins 0 -+ k/2
    np.testing.assert_allclose(rises, [1.0, 1.0, 1.0], atol=2 * grid(1.0))
    tame = engine.at([0.0]).along([100.0]).rise_sums(0.5, 2, 0.1)
    np.testing.assert_allclose(tame, [0.1, 0.1, 0.1], atol=2 * grid(0.1))
