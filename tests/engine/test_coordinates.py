"""Gradient sums whose records are clipped by their largest coordinate: what Q15 takes from the engine."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from one_output import LOSSES

from privfit.engine.problem import Problem
from privfit.losses.logistic import LOGISTIC

LAYOUTS: dict[str, Any] = {"dense_c": np.ascontiguousarray, "dense_f": np.asfortranarray, "csr": sp.csr_array}
layouts = pytest.mark.parametrize("arrange", LAYOUTS.values(), ids=LAYOUTS)


def table(n: int = 3_001, p: int = 13) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.4) * np.exp(rng.standard_normal((n, 1)))
    return X, np.where(rng.random(n) < 0.4, 1.0, -1.0), rng.standard_normal(p + 1)


def transcription(Z: np.ndarray, y: np.ndarray, w: np.ndarray, clip: float) -> np.ndarray:
    gradients = (-y / (1.0 + np.exp(y * (Z @ w))))[:, None] * Z
    return (gradients * np.minimum(1.0, clip / np.abs(gradients).max(axis=1))[:, None]).sum(axis=0)


@pytest.mark.parametrize("clip", [0.05, 0.6, 1e3])
@layouts
def test_each_record_is_shrunk_until_its_largest_coordinate_fits(arrange: Any, clip: float) -> None:
    X, y, w = table()
    Z = np.column_stack([X, np.ones(len(y))])
    found = Problem.of(arrange(X), y, LOGISTIC).gradient_at(w, clip, each_coordinate=True)
    np.testing.assert_allclose(found, transcription(Z, y, w, clip), atol=len(y) * clip * 2.0**-20)


@layouts
def test_the_largest_coordinate_is_that_of_the_view(arrange: Any) -> None:
    """Sparse rows count as if they held the largest value of an absent column, which may shrink them more."""
    X, y, w = table()
    scale = np.exp(np.linspace(-2.0, 1.0, X.shape[1]))
    problem = Problem.of(arrange(X), y, LOGISTIC)
    for center in (np.zeros(X.shape[1]), np.linspace(-1.0, 2.0, X.shape[1])):
        Z = np.column_stack([scale * (X - center), np.full(len(y), 0.3)])
        viewed = problem.transformed(center, scale, 0.3)
        expected = np.abs(Z).max(axis=1)
        if arrange is sp.csr_array:
            expected = np.maximum(expected, np.abs(scale * center).max())
        np.testing.assert_allclose(1.0 / viewed.table.coordinate_reciprocals, expected, rtol=1e-12)
        if not center.any() or arrange is not sp.csr_array:
            found = viewed.gradient_at(w, 0.4, each_coordinate=True)
            np.testing.assert_allclose(found, transcription(Z, y, w, 0.4), atol=len(y) * 2.0**-18)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@layouts
def test_the_sum_is_the_same_in_any_order(arrange: Any, loss: Any) -> None:
    X, y, w = table()
    problem = Problem.of(arrange(X), loss.targets.nearest(y), loss)
    problem = problem.transformed(np.full(13, 0.2), np.full(13, 0.7), 0.4)
    shuffled = problem.subset(np.random.default_rng(1).permutation(len(y)))
    sums = [each.gradient_at(w, 0.7, each_coordinate=True) for each in (problem, shuffled)]
    np.testing.assert_array_equal(*sums)


FEATURES = st.one_of(
    st.floats(-10, 10),
    st.sampled_from([0.0, 0.0, 5e-324, 1e-310, -1e-160, 1e-20, 1e5, -1e100, 1e150, -1.7e308]),
)
RECORDS = st.tuples(st.lists(FEATURES, min_size=3, max_size=3), st.sampled_from([-1.0, 1.0]))


@layouts
@settings(max_examples=150)
@given(
    others=st.lists(RECORDS, max_size=20),
    record=RECORDS,
    w=st.lists(st.one_of(st.floats(-5, 5), st.sampled_from([1e8, -1e200])), min_size=4, max_size=4),
    center=st.lists(st.sampled_from([0.0, 0.3, -7.0, 1e8]), min_size=3, max_size=3),
    scale=st.lists(st.sampled_from([0.0, 1e-9, 0.3, 1.0, 1e6]), min_size=3, max_size=3),
    clip=st.sampled_from([1e-3, 0.7, 1.0, 1e5]),
    intercept=st.booleans(),
)
def test_no_record_moves_a_coordinate_beyond_the_bound(
    arrange: Any, others: Any, record: Any, w: Any, center: Any, scale: Any, clip: float, intercept: bool
) -> None:
    sums = []
    for records in ([*others, record], others):
        X = np.array([x for x, _ in records]).reshape(-1, 3)
        problem = Problem.of(arrange(X), [y for _, y in records], LOGISTIC, intercept=intercept)
        problem = problem.transformed(np.array(center) * intercept, scale, 0.4)
        sums.append(problem.gradient_at(w[: 3 + intercept], clip, each_coordinate=True))
    assert np.max(np.abs(sums[0] - sums[1])) <= problem.gradient_bound(clip)
