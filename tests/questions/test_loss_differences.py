"""What one held-out record adds to the comparison of several models, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from test_score_sums import EXTREMES, Rows

from privfit.engine.table import Table
from privfit.questions import LossDifferences

CLIP, LEVEL = 0.3, 0.125
LONGEST = math.sqrt(2 * LEVEL**2 + CLIP**2)
numbers = st.sampled_from(EXTREMES) | st.floats(-1e3, 1e3) | st.floats(0.0, 1.0)


def question(*, weighted=False):
    return LossDifferences(CLIP, LEVEL, weighted)


def sums(rows, *, weighted=False):
    return question(weighted=weighted).bounded(Table(np.asarray(rows), intercept=False)).look()


def test_a_record_adds_itself_its_mean_loss_and_its_differences():
    np.testing.assert_allclose(sums([[0.2, 0.3, 0.4]]), [0.125, -0.05, -0.1, 0.0, 0.1], atol=2.0**-20)
    np.testing.assert_allclose(sums([[0.2, 0.3, 0.4]] * 3), 3 * sums([[0.2, 0.3, 0.4]]), rtol=1e-12)


def test_differences_are_shortened_as_a_vector_and_keep_their_direction():
    added = sums([[0.0, 1.0, 0.5]])[2:]
    np.testing.assert_allclose(added, np.array([-0.5, 0.5, 0.0]) * CLIP / math.sqrt(0.5), atol=2.0**-20)


def test_a_weight_multiplies_all_that_a_record_adds():
    row = [0.2, 0.3, 0.4]
    np.testing.assert_allclose(sums([[*row, 0.5]], weighted=True), 0.5 * sums([row]), atol=2.0**-20)
    np.testing.assert_array_equal(sums([[*row, 7.0]], weighted=True), sums([row]))
    assert not sums([[*row, -1.0]], weighted=True).any()


def test_the_bound_does_not_grow_with_the_number_of_models_and_some_record_reaches_it():
    bounds = [question().bounded(Table(np.zeros((1, k)), intercept=False)).sensitivity for k in (2, 5, 40)]
    assert bounds == pytest.approx([LONGEST] * 3, rel=1e-4)
    alone = np.eye(40)[:1]  # one model fails where all others do well, so the mean loss is near an end
    assert 0.99 * LONGEST < np.linalg.norm(sums(alone)) <= bounds[-1]


@given(rows=arrays(np.float64, (4, 4), elements=numbers), weighted=st.booleans())
def test_no_record_moves_the_sums_by_more_than_the_bound(rows, weighted):
    """Whatever it holds; sums are exact, so others do not matter."""
    bound = question(weighted=weighted).bounded(Table(rows, intercept=False)).sensitivity
    assert bound == pytest.approx(LONGEST, rel=1e-4)
    moved = np.linalg.norm(sums(rows, weighted=weighted) - sums(rows[:-1], weighted=weighted))
    assert moved <= bound
    np.testing.assert_array_equal(sums(rows[::-1], weighted=weighted), sums(rows, weighted=weighted))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", range(4))
def test_what_is_no_number_moves_the_sums_by_no_more_either(bad, column):
    record = np.array([0.0, 1.0, 0.2, 1.0])
    record[column] = bad
    others = np.tile([0.1, 0.5, 0.5, 0.5], (3, 1))
    without, within = (
        question(weighted=True).bounded(Rows(rows)).look() for rows in (others, [*others, record])
    )
    assert np.isfinite(within).all()
    assert np.linalg.norm(within - without) <= LONGEST * (1 + 1e-4)


@pytest.mark.parametrize(
    ("asked", "columns", "message"),
    [
        (LossDifferences(CLIP, LEVEL, weighted=True), 1, "a column of losses for each"),
        (LossDifferences(0.0, LEVEL), 2, "clip must be"),
        (LossDifferences(np.nan, LEVEL), 2, "clip must be"),
        (LossDifferences(CLIP, 0.0), 2, "level above 0"),
        (LossDifferences(CLIP, 0.1), 2, "a multiple of"),
    ],
)
def test_other_parameters_are_refused(asked, columns, message):
    with pytest.raises(ValueError, match=message):
        asked.bounded(Table(np.zeros((1, columns)), intercept=False))
