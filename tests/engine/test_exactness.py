"""What the privacy proof takes from the engine: a record's share is its own, and bounded, to the last bit."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from one_output import LOSSES

from privfit.engine.exact.bounds import gradient_bound, loss_slack
from privfit.engine.exact.grids import grid, magic, odd
from privfit.engine.parallel import threads
from privfit.engine.problem import Problem
from privfit.losses import Loss
from privfit.losses.hinge import HINGE
from privfit.losses.logistic import LOGISTIC

LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "dense_c": np.ascontiguousarray,
    "dense_f": np.asfortranarray,
    "csr": sp.csr_array,
}
N = 20_011  # several chunks, and not a multiple of anything the loops could be unrolled by


def table(p: int, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(p)
    X = (rng.standard_normal((N, p)) * (rng.random((N, p)) < 0.6)).astype(dtype)
    return X, np.where(rng.random(N) < 0.4, 1.0, -1.0), rng.standard_normal(p + 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("p", [1, 13, 37])
def test_margin_does_not_depend_on_other_rows_or_on_position(p: int, layout: str, dtype: Any) -> None:
    X, y, w = table(p, dtype)
    arrange = LAYOUTS[layout]
    margins = Problem.of(arrange(X), y, HINGE).at(w).predictions
    order = np.random.default_rng(0).permutation(N)
    for rows in (order, np.delete(np.arange(N), 5000), order[:9000], np.arange(3, N), order[:1]):
        again = Problem.of(arrange(X[rows]), y[rows], HINGE).at(w).predictions
        np.testing.assert_array_equal(again, margins[rows])


def test_margin_does_not_depend_on_dense_order() -> None:
    X, y, w = table(37)
    by_row, by_column = (Problem.of(LAYOUTS[name](X), y, HINGE).at(w) for name in ("dense_c", "dense_f"))
    np.testing.assert_array_equal(by_row.predictions, by_column.predictions)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_clipped_gradient_sum_is_the_same_in_any_order_and_partition(layout: str, loss: Loss) -> None:
    X, y, w = table(13)
    engine = Problem.of(LAYOUTS[layout](X), loss.targets.nearest(y), loss)
    order = np.random.default_rng(0).permutation(N)
    whole = engine.at(w).gradient_sum(0.7)
    np.testing.assert_array_equal(engine.subset(order).at(w).gradient_sum(0.7), whole)
    halves = [engine.subset(part).at(w).gradient_sum(0.7) for part in (order[:777], order[777:])]
    np.testing.assert_array_equal(halves[0] + halves[1], whole)


def half_way(p: int, dtype: Any) -> np.ndarray:
    """Return values on the grid of 4, and half-way between two of its points.

    It takes both. After a tie the sum is even, and only a value that is an odd number of steps changes that.
    """
    halves = np.random.default_rng(p).integers(-(2**17), 2**17, (2_003, p))
    return np.asarray(halves * (grid(4.0) / 2), dtype=dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_half_way_between_grid_points_are_rounded_by_themselves(
    layout: str, p: int, dtype: Any
) -> None:
    """A hinge of slope 1 would make ties of them, which round to even sums: as the other records decide."""
    X = half_way(p, dtype)
    y = np.ones(len(X))

    def gradient(rows: np.ndarray) -> np.ndarray:
        return Problem.of(LAYOUTS[layout](X[rows]), y[rows], HINGE).gradient_at(np.zeros(p + 1), 4.0)

    everybody = np.arange(len(X))
    whole = gradient(everybody)
    shares = np.array([gradient(everybody[[i]]) for i in range(len(X))])
    np.testing.assert_array_equal(shares.sum(axis=0), whole)
    np.testing.assert_array_equal(gradient(everybody[::-1]), whole)
    for i in (0, 1, 1000, 2002):
        np.testing.assert_array_equal(whole - gradient(np.delete(everybody, i)), shares[i])


def test_those_products_would_otherwise_depend_on_the_other_records() -> None:
    """The test above is about something: with coefficients of exactly 1, the order matters."""
    values = half_way(1, np.float64)[:, 0]
    start = magic(4.0)

    def accumulated(values: np.ndarray) -> float:
        total = start
        for value in values:
            total += value
        return float(total - start)

    left_out = [accumulated(np.delete(values, i)) + accumulated(values[[i]]) for i in range(20)]
    assert len({*left_out, accumulated(values)}) > 1
    odds = np.array([odd(1.0) * value for value in values])
    assert accumulated(odds) == sum(accumulated(odds[i : i + 1]) for i in range(len(odds)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 7, 8, 9, 105])
def test_a_gradient_sum_is_the_sum_of_its_records_shares(p: int, dtype: Any) -> None:
    X, y, w = (part[:403] if len(part) == N else part for part in table(p, dtype))
    for clip in (1e-3, 0.7, 50.0):
        engine = Problem.of(X, y, LOGISTIC)
        shares = [Problem.of(X[[i]], y[[i]], LOGISTIC).gradient_at(w, clip) for i in range(len(X))]
        np.testing.assert_array_equal(np.sum(shares, axis=0), engine.gradient_at(w, clip))
        np.testing.assert_array_equal(engine.at(w).gradient_sum(clip), engine.gradient_at(w, clip))


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_rounded_loss_sums_are_the_same_in_any_order(loss: Loss) -> None:
    X, y, w = table(13)
    engine = Problem.of(X, loss.targets.nearest(y), loss)
    shuffled = engine.subset(np.random.default_rng(0).permutation(N))
    assert shuffled.at(w).loss_sum(0.7) == engine.at(w).loss_sum(0.7)


@pytest.mark.parametrize("clip", [math.inf, 1.0])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_do_not_depend_on_the_number_of_threads(
    layout: str, loss: Loss, clip: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, w = table(13)
    results = []
    for n_threads in (1, 2, 3):
        monkeypatch.setattr(threads, "n_threads", lambda n=n_threads: n)
        point = Problem.of(LAYOUTS[layout](X), loss.targets.nearest(y), loss).at(w)
        gradient = point.gradient_sum(clip)
        results.append(np.concatenate([gradient, point.along(gradient).loss_sums(1e-4, 5, clip)]))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


FEATURES = st.one_of(
    st.floats(-10, 10),
    st.sampled_from([0.0, 1e-310, -1e-160, 1e-20, 1e5, -1e100, 1e150, 1e160, -1.7e308]),
)
RECORDS = st.tuples(st.lists(FEATURES, min_size=3, max_size=3), st.sampled_from([-1.0, 1.0]))
WEIGHTS = st.lists(st.one_of(st.floats(-5, 5), st.sampled_from([1e8, -1e200])), min_size=4, max_size=4)


@settings(max_examples=150)
@given(
    others=st.lists(RECORDS, max_size=70),
    record=RECORDS,
    position=st.integers(0, 70),
    w=WEIGHTS,
    direction=WEIGHTS,
    spacing=st.sampled_from([0.0, 1e-3, 0.1, -2.0, 1e10]),
    clip=st.sampled_from([1e-90, 1e-3, 0.04, 0.7, 1.0, 3.0, 60.0, 1e5]),
)
def test_one_record_moves_sums_by_its_clip_at_most(
    others: list[Any], record: Any, position: int, w: Any, direction: Any, spacing: float, clip: float
) -> None:
    tau = loss_slack(clip)
    more = [*others[:position], record, *others[position:]]
    for loss in LOSSES.values():
        sums = []
        for rows in (others, more):
            X = np.array([x for x, _ in rows]).reshape(len(rows), 3)
            targets = loss.targets.nearest(np.array([label for _, label in rows]))
            point = Problem.of(X, targets, loss).at(w)
            line = point.along(direction)
            moved = line.move(spacing)
            sums.append(
                (point.gradient_sum(clip), moved.gradient_sum(clip), line.loss_sums(spacing, 5, clip))
            )
        (gradient, there, losses), (gradient_more, there_more, losses_more) = sums
        assert np.linalg.norm(gradient_more - gradient) <= gradient_bound(clip, 4)
        assert np.linalg.norm(there_more - there) <= gradient_bound(clip, 4)
        assert np.all(losses_more - losses >= -tau)
        assert np.all(losses_more - losses <= clip + tau)


def one_column(margins: np.ndarray) -> Problem:
    return Problem.of(margins[:, None], np.ones(len(margins)), LOGISTIC, intercept=False)


def ladder(margins: np.ndarray, clip: float) -> np.ndarray:
    return one_column(margins).at([1.0]).along([0.01]).loss_sums(1.0, 20, clip)


@pytest.mark.parametrize("clip", [2.0**-5, 1.0, 64.0])
@pytest.mark.parametrize("kind", ["normal", "constant", "tiny losses", "at the clip"])
def test_slack_covers_the_ladder_on_many_records(kind: str, clip: float) -> None:
    n = 700_000
    margins = {
        "normal": np.random.default_rng(0).normal(0, 3, n),
        "constant": np.full(n, 0.123456789),
        "tiny losses": np.full(n, 36.0),  # each factor is one plus a unit in the last place
        "at the clip": np.full(n, -100.0),
    }[kind]
    sums = ladder(margins, clip)
    for newcomer in (-100.0, 100.0):
        moved = ladder(np.append(newcomer, margins), clip) - sums  # in front: every block shifts
        assert np.all(moved >= -loss_slack(clip))
        assert np.all(moved <= clip + loss_slack(clip))


@pytest.mark.parametrize("clip", [2.0**-5, 1.0, 64.0])
def test_ladder_error_is_what_the_slack_assumes(clip: float) -> None:
    n = 2_000_000
    margins = np.random.default_rng(1).normal(0, 3, n)
    exact = math.fsum(np.minimum(np.logaddexp(0, -margins), clip))
    # 2 + 6 clip units per record are the ladder's; one more is for the error of the exponential.
    assert abs(ladder(margins, clip)[0] - exact) <= 2.0**-53 * n * (3 + 6 * clip)
