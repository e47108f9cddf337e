"""What one record adds to the sums that scores are made of, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privfit.engine.table import Table
from privfit.questions import ScoreSums

SHARES = np.array([[1.0, 0.0], [-0.25, 0.5], [0.75, 0.75]])
FACTORS = (0.5, 1.0)
LARGEST = np.finfo(np.float64).max
EXTREMES = [0.0, -0.0, 1.0, -1.0, 0.3, 1.0 + 2**-52, 5e-324, 1e154, LARGEST, -LARGEST]
numbers = st.sampled_from(EXTREMES) | st.floats(-1e3, 1e3)
LONGEST = math.sqrt(2 * 0.75**2 + 0.5**2 + 1.0)


class Rows:
    """A table that says anything of its records, also what no table may hold."""

    def __init__(self, rows):
        self.rows = np.asarray(rows, dtype=np.float64)
        self.n_columns = self.n_weights = self.rows.shape[1]
        self.table = self

    def predictions(self, w):
        return self.rows[:, : w.shape[1]]


def sums(rows, *, weighted=False):
    question = ScoreSums(SHARES, FACTORS, weighted)
    return question.bounded(Table(np.asarray(rows), intercept=False)).look()


def test_a_record_adds_its_row_of_shares_and_its_clipped_numbers():
    rows = [[0, 0.5, -0.25], [2, 7.0, -7.0], [1, 0.0, 0.0]]
    np.testing.assert_array_equal(sums(rows[:1]), [1.0, 0.0, 0.25, -0.25])
    np.testing.assert_array_equal(sums(rows), [1.5, 1.25, 0.75, -1.25])
    halves = [[*row, weight] for row, weight in zip(rows, (0.5, 9.0, -1.0), strict=True)]
    np.testing.assert_array_equal(sums(halves, weighted=True), [1.25, 0.75, 0.625, -1.125])


@pytest.mark.parametrize("weighted", [False, True])
def test_the_bound_is_the_longest_row_with_all_factors_and_some_record_reaches_it(weighted):
    row = [[2.0, 1.0, 1.0, 1.0][: 3 + weighted]]
    bound = ScoreSums(SHARES, FACTORS, weighted).bounded(Table(np.array(row), intercept=False)).sensitivity
    assert np.linalg.norm(sums(row, weighted=weighted)) <= bound
    assert bound == pytest.approx(LONGEST, rel=1e-12)


@given(rows=arrays(np.float64, (4, 4), elements=numbers), weighted=st.booleans())
def test_no_record_moves_the_sums_by_more_than_the_bound(rows, weighted):
    """Whatever it holds; sums are exact, so others do not matter, and a bound a tenth smaller would fail."""
    rows = rows[:, : 3 + weighted]
    moved = np.linalg.norm(sums(rows, weighted=weighted) - sums(rows[:-1], weighted=weighted))
    assert moved <= LONGEST * (1 + 2.0**-50)
    np.testing.assert_array_equal(sums(rows[::-1], weighted=weighted), sums(rows, weighted=weighted))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", range(4))
def test_what_is_no_number_moves_the_sums_by_no_more_either(bad, column):
    record = np.array([2.0, 1.0, -1.0, 1.0])
    record[column] = bad
    others = np.tile([1.0, 0.5, 0.5, 0.5], (3, 1))
    question = ScoreSums(SHARES, FACTORS, weighted=True)
    without, within = (question.bounded(Rows(rows)).look() for rows in (others, [*others, record]))
    assert np.isfinite(within).all()
    assert np.linalg.norm(within - without) <= LONGEST * (1 + 2.0**-50)


def test_weights_are_read_in_blocks_of_records():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 3, 20_000), rng.uniform(-1, 1, (20_000, 2)), rng.random(20_000)])
    weights = rows[:, 3:]
    exact = np.concatenate([
        (weights * SHARES[rows[:, 0].astype(int)]).sum(axis=0), (weights * rows[:, 1:3] * FACTORS).sum(axis=0)
    ])  # fmt: skip
    np.testing.assert_allclose(sums(rows, weighted=True), exact, atol=20_000 * 2.0**-21)


@pytest.mark.parametrize(
    ("shares", "factors", "message"),
    [
        (np.zeros((0, 2)), (), "a row for each cell"),
        (SHARES / 3.0, (), "shares must be multiples"),
        (2.0 * SHARES, (), "shares must be multiples"),
        (SHARES, (0.1,), "factors must be multiples"),
        (SHARES, (np.nan,), "factors must be multiples"),
        (SHARES, (0.5,), "are 2 columns, not 3"),
    ],
)
def test_other_shares_and_factors_are_refused(shares, factors, message):
    with pytest.raises(ValueError, match=message):
        ScoreSums(shares, factors).bounded(Table(np.zeros((1, 3)), intercept=False))
