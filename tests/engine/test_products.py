"""Sums of outer products are integers: a record's share is its own, and bounded, whatever the others are."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from one_output import LOSSES

from privfit.engine.exact.bounds import product_bound, product_step
from privfit.engine.exact.grids import MAX_RECORDS
from privfit.engine.problem import Problem
from privfit.engine.products import ROWS_AT_ONCE, product_sums
from privfit.engine.table import Table
from privfit.losses.loss import Loss
from privfit.questions import HessianAt, SecondMoments
from privfit.questions.products import symmetric, triangle

LAYOUTS = {
    "dense": np.ascontiguousarray,
    "float32": np.float32,
    "by columns": np.asfortranarray,
    "csr": sp.csr_array,
}
N = 2 * ROWS_AT_ONCE + 7  # rows are written out in parts, of which the last is not full


@pytest.fixture(params=LAYOUTS.values(), ids=LAYOUTS)
def arrange(request: pytest.FixtureRequest) -> Any:
    return request.param


def viewed(arrange: Any, p: int, rows: Any = slice(None)) -> Problem:
    rng = np.random.default_rng(p)
    X = rng.standard_normal((N, p)) * (rng.random((N, p)) < 0.5)
    y = np.where(rng.random(N) < 0.4, 1.0, -1.0)
    center, scale = 0.1 * rng.standard_normal(p), np.exp(rng.standard_normal(p))
    return Problem.of(arrange(X[rows]), y[rows], LOSSES["logistic"]).transformed(center, scale, 0.4)


@pytest.mark.parametrize("p", [1, 7, 8, 23])
def test_a_sum_is_that_of_its_parts_and_moves_by_a_records_own_share(arrange: Any, p: int) -> None:
    w = np.random.default_rng(0).standard_normal(p + 1)

    def sums(rows: Any) -> np.ndarray:
        problem = viewed(arrange, p, rows)
        return np.stack([SecondMoments(1.3).sums(problem.table), HessianAt(w, 0.6).sums(problem)])

    everybody = np.arange(N)
    whole = sums(everybody)
    order = np.random.default_rng(1).permutation(N)
    np.testing.assert_array_equal(sums(order), whole)
    np.testing.assert_array_equal(sums(order[:500]) + sums(order[500:]), whole)
    for i in (0, ROWS_AT_ONCE, N - 1):
        np.testing.assert_array_equal(whole - sums(np.delete(everybody, i)), sums([i]))


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_a_record_whose_norm_overflows_adds_nothing(layout: str) -> None:
    for x in ([1e200, -1.0], [1e308, 1e308]):
        table = Table(LAYOUTS[layout](np.array([x])), intercept=True).transformed([0.0, 1.0], [1e9, 1e-9])
        assert not SecondMoments(1.0).sums(table).any()


def test_without_rounding_the_order_would_matter() -> None:
    """The test above is about something: real numbers do not add up to the same in any order."""
    Z = np.random.default_rng(0).standard_normal((N, 8))
    order = np.random.default_rng(1).permutation(N)
    assert not np.array_equal(Z.T @ Z, Z[order].T @ Z[order])


def test_shares_are_whole_multiples_of_the_squared_step(arrange: Any) -> None:
    for radius in (1e-3, 0.7, 1.0):
        multiples = SecondMoments(radius).sums(viewed(arrange, 9).table) / product_step(radius) ** 2
        np.testing.assert_array_equal(multiples, np.rint(multiples))
        assert np.any(np.abs(multiples) > 1e9), "and the step is fine"


@pytest.mark.parametrize("p", [1, 100, 2000])
def test_the_longest_share_keeps_within_its_bound(arrange: Any, p: int) -> None:
    """Equal entries, all half a step off a multiple and rounded away from 0, make a share longest."""
    step = product_step(1.0)
    entry = (math.floor(1.0 / math.sqrt(p) / step - 0.5) + 0.5) * step
    even = (entry - step / 2) / step % 2 == 0
    X = np.full((1, p), entry - step if even else entry)  # halves go to even multiples
    share = np.linalg.norm(SecondMoments(1.0).sums(Table(arrange(X), intercept=False)))
    bound = SecondMoments(1.0).bounded(Table(arrange(X), intercept=False)).sensitivity
    assert np.sum(X**2) <= 1.0
    assert np.sum(X**2) < share <= bound < 1.0 + 2.0 * step * math.sqrt(p)


@pytest.mark.parametrize("radius", [1e-100, 1e-3, 1.0, 1.0001, 1e100])
def test_all_records_that_there_may_be_have_sums_below_two_to_the_sixty_third(radius: float) -> None:
    for d in (1, 2000, 2**20):
        assert MAX_RECORDS * product_bound(radius, d) / product_step(radius) ** 2 < 2.0**63


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_curvature_is_the_rise_of_the_derivative_across_the_window(loss: Loss) -> None:
    margins = np.linspace(-3.0, 2.0, 29)  # so that no curvature is beyond the radius
    problem = Problem.of(margins[:, None], np.ones(29), loss, intercept=False)
    for window in (0.01, 1.0):
        found = [
            float(HessianAt(np.ones(1), 10.0, window).sums(problem.subset(np.array([i])))[0, 0])
            for i in range(29)
        ]
        rise = [loss.derivative(m + window / 2, 1.0) - loss.derivative(m - window / 2, 1.0) for m in margins]
        np.testing.assert_allclose(found, np.array(rise) / window * margins**2, atol=0.02)
    assert max(found) > 0.05


def test_weights_of_records_multiply_their_curvature() -> None:
    problem = viewed(np.ascontiguousarray, 3)
    half = Problem(problem.table, problem.targets, problem.loss, np.full(N, 0.25))
    w = np.ones(4)
    whole, part = (HessianAt(w, 50.0).sums(each) for each in (problem, half))
    np.testing.assert_allclose(part, 0.25 * whole, rtol=0.02, atol=N * 1e-4)


def test_a_triangle_is_as_long_as_its_matrix_and_turns_back_into_it() -> None:
    matrix = np.random.default_rng(0).standard_normal((6, 6))
    matrix = matrix + matrix.T
    assert np.linalg.norm(triangle(matrix)) == pytest.approx(np.linalg.norm(matrix))
    np.testing.assert_allclose(symmetric(triangle(matrix)), matrix, rtol=1e-15)
    assert len(triangle(matrix)) == 21


def test_rows_without_columns_have_sums_of_no_size() -> None:
    assert product_sums(Table(np.zeros((3, 0)), intercept=False), 1.0, 1.0).shape == (0, 0)
    np.testing.assert_allclose(product_sums(Table(np.zeros((3, 0))), 1.0, 2.0), [[3.0]])


def test_bad_questions_are_refused_before_any_look() -> None:
    problem = viewed(np.ascontiguousarray, 3)
    for radius in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="radius must be in"):
            SecondMoments(radius).bounded(problem)
    for window in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="window must be positive and finite"):
            HessianAt(np.ones(4), 1.0, window).bounded(problem)
