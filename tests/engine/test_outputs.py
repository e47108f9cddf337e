"""Several outputs and weights of records: predictions, combinations, and their bounds."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from one_output import LOSSES

from privfit.engine.combination import shrunk
from privfit.engine.exact.grids import grid
from privfit.engine.problem import Problem
from privfit.engine.table import Table
from privfit.losses import Loss

FORMS = {"dense": np.asarray, "float32": np.float32, "csr": sp.csr_array}
VIEWS = {"raw": None, "standardised": (np.array([0.5, -1.0, 0.0]), np.array([2.0, 0.5, 1.0]), 0.7)}


def rows(n: int = 200) -> np.ndarray:
    rng = np.random.default_rng(1)
    X = rng.integers(-4, 5, (n, 3)) * 0.25
    X[rng.random((n, 3)) < 0.3] = 1.0
    return X


def seen(form: str, view: str, X: np.ndarray) -> tuple[Table, np.ndarray]:
    """Return a table, and the features (z, bias) written out."""
    table = Table(FORMS[form](X))
    if VIEWS[view] is None:
        return table, np.column_stack([X, np.ones(len(X))])
    center, scale, bias = VIEWS[view]
    return table.transformed(center, scale, bias), np.column_stack(
        [scale * (X - center), np.full(len(X), bias)]
    )


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=VIEWS)
def view(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_every_output_is_predicted_as_if_it_were_alone(form: str, view: str) -> None:
    table, Z = seen(form, view, rows())
    w = np.random.default_rng(2).normal(size=(4, 3))
    predictions = table.predictions(w)
    np.testing.assert_allclose(predictions, Z @ w, atol=1e-12)
    for output in range(3):
        np.testing.assert_array_equal(predictions[:, output], table.predictions(w[:, output].copy()))


@pytest.mark.parametrize("clip", [math.inf, 3.0, 0.1])
@pytest.mark.parametrize("outputs", [(), (1,), (5,)])
def test_a_combination_is_the_sum_of_clipped_outer_products(
    form: str, view: str, outputs: tuple[int, ...], clip: float
) -> None:
    table, Z = seen(form, view, rows())
    coefficients = np.random.default_rng(3).normal(size=(200, *outputs))
    shares = Z[:, :, None] * coefficients.reshape(200, 1, -1)
    norms = np.linalg.norm(shares, axis=(1, 2))
    expected = (shares * np.minimum(1.0, clip / norms)[:, None, None]).sum(axis=0)
    if clip == 0.1:
        assert np.mean(norms > clip) > 0.8, "most are clipped"
    tolerance = 1e-9 if clip == math.inf else 200 * 4 * grid(clip)
    combination = table.combination(coefficients, clip)
    assert combination.shape == (4, *outputs)
    np.testing.assert_allclose(combination.reshape(4, -1), expected, atol=tolerance, rtol=0)


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1.0, 1e9, 1e300])
def test_one_record_more_moves_a_combination_by_its_bound_at_most(form: str, view: str, size: float) -> None:
    X, clip = rows(), 0.3
    coefficients = np.random.default_rng(4).normal(size=(200, 4))
    for x in ([1.0, 1.0, 1.0], [3e4, -2.0, 0.5], [0.0, 0.0, 0.0], [1e-30, 3.0, -7.0]):
        table, _ = seen(form, view, X)
        more, _ = seen(form, view, np.vstack([X, x]))
        own = size * np.array([1.0, -1.0, 0.3, 0.9])
        moved = more.combination(np.vstack([coefficients, own]), clip) - table.combination(coefficients, clip)
        assert np.linalg.norm(moved) <= table.combination_bound(clip, 4) < 1.001 * clip
        if size >= 1e9:
            assert np.linalg.norm(moved) > 0.999 * clip, "a long share is cut to the clip, not to less"


def test_the_bound_of_several_outputs_allows_for_the_rounding_of_each() -> None:
    step = 2.0**-21
    each = (209_715 + 0.51) * step  # of 4 columns and 16 outputs, all of which round up
    table = Table(np.ones((1, 4)), intercept=False)
    clip = 8.0 * each
    assert grid(clip) == step
    length = np.linalg.norm(table.combination(np.full((1, 16), 1e6), clip))
    assert length > table.combination_bound(clip), "the bound of one output would not do"
    assert length <= table.combination_bound(clip, 16)


def test_one_output_has_the_bound_of_a_gradient() -> None:
    problem = Problem.of(rows(), np.ones(200), LOSSES["hinge"])
    assert problem.gradient_bound(0.5) == problem.table.combination_bound(0.5)
    assert problem.gradient_bound(0.5) == problem.table.rounding(0.5).bound
    assert problem.table.combination_bound(math.inf, 3) == math.inf


def test_coefficients_of_other_records_are_refused() -> None:
    for shape in ((199,), (200, 2, 1), ()):
        with pytest.raises(ValueError, match="expected coefficients for each of 200 records"):
            Table(rows()).combination(np.ones(shape))


@pytest.mark.parametrize("most", [1e-254, 1.0, 1e100])
def test_records_are_shrunk_to_a_length_however_extreme(most: float) -> None:
    rng = np.random.default_rng(5)
    values = 10.0 ** rng.uniform(-320, 307, (400, 1)) * rng.normal(size=(400, 3))
    values[0] = 0.0
    short = shrunk(values, most)
    lengths = np.array([math.hypot(*row) for row in values])
    np.testing.assert_array_equal(short[lengths <= 0.999 * most], values[lengths <= 0.999 * most])
    too_long = lengths > 1.001 * most
    assert too_long.any()
    np.testing.assert_allclose([math.hypot(*row) for row in short[too_long]], most, rtol=1e-14)
    alone = np.vstack([shrunk(row[None], most) for row in values])
    np.testing.assert_array_equal(short, alone)


# -- weights of records --------------------------------------------------------------------------------


def weighted(loss: Loss, form: str, weights: np.ndarray | None) -> Problem:
    signs = np.where(rows()[:, 0] > 0.3, 1.0, -1.0)
    return Problem.of(FORMS[form](rows()), loss.targets.nearest(signs), loss, weights=weights)


@pytest.fixture(params=LOSSES)
def loss(request: pytest.FixtureRequest) -> Loss:
    return LOSSES[request.param]


W, DIRECTION = np.array([1.0, -0.5, 2.0, 0.25]), np.array([0.5, 1.0, -1.0, 0.125])


def sums(problem: Problem) -> list[np.ndarray]:
    """Return everything that is summed over the records of a problem, with clips that bite."""
    point = problem.at(W)
    line = point.along(DIRECTION)
    gradients = [point.gradient_sum(0.7), problem.gradient_at(W, 0.7), line.move(0.3).gradient_sum(0.7)]
    bounded = problem.loss.lipschitz < math.inf
    return [
        *gradients,
        np.array(point.loss_sum(0.7)),
        line.loss_sums(0.2, 4, 0.01),
        *([line.rise_sums(0.2, 4, 0.7)] if bounded else []),
    ]


def test_weights_of_0_and_1_leave_records_out_and_in_bit_for_bit(loss: Loss, form: str) -> None:
    kept = np.random.default_rng(6).integers(0, 2, 200)
    found = sums(weighted(loss, form, kept))
    for mine, expected in zip(
        found, sums(weighted(loss, form, None).subset(np.flatnonzero(kept))), strict=True
    ):
        np.testing.assert_array_equal(mine, expected)


def test_losses_of_weighted_records_agree_where_those_of_plain_ones_are_products(form: str) -> None:
    plain, ones = (weighted(LOSSES["logistic"], form, w).at(W).along(DIRECTION) for w in (None, np.ones(200)))
    np.testing.assert_allclose(
        ones.loss_sums(0.2, 4, 2.0), plain.loss_sums(0.2, 4, 2.0), atol=200 * grid(2.0)
    )


def test_weights_multiply_losses_and_gradients_before_they_are_clipped(form: str) -> None:
    loss, weights = LOSSES["hinge"], np.random.default_rng(7).random(200)
    problem = weighted(loss, form, weights)
    Z = np.column_stack([rows(), np.ones(200)])
    margins = problem.targets * (Z @ W)
    gradients = (weights * np.where(margins < 1.0, -problem.targets, 0.0))[:, None] * Z
    norms = np.maximum(np.linalg.norm(gradients, axis=1), 1e-300)
    assert 20 < np.sum(norms > 0.7) < 180, "some are clipped, and some are not"
    expected = (gradients * np.minimum(1.0, 0.7 / norms)[:, None]).sum(axis=0)
    losses = np.minimum(weights * np.maximum(1.0 - margins, 0.0), 0.7).sum()
    found = sums(problem)
    np.testing.assert_allclose(found[0], expected, atol=200 * grid(0.7))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[3], losses, atol=200 * grid(0.7))


def test_weights_stay_with_their_records() -> None:
    weights = np.random.default_rng(8).random(200)
    problem = weighted(LOSSES["hinge"], "dense", weights)
    some = np.array([5, 3, 3])
    np.testing.assert_array_equal(problem.subset(some).weights, weights[some])
    for other in (problem.with_loss(LOSSES["logistic"]), problem.with_rows_of(1.0)):
        np.testing.assert_array_equal(other.weights, weights)


@pytest.mark.parametrize("bad", [-1e-9, 1.0 + 1e-9, math.nan, math.inf])
def test_weights_that_would_break_a_bound_are_refused(bad: float) -> None:
    weights = np.ones(200)
    weights[17] = bad
    with pytest.raises(ValueError, match="weights of records must be between 0 and 1; divide them"):
        weighted(LOSSES["hinge"], "dense", weights)
    with pytest.raises(ValueError, match=r"weights must have shape \(200,\), one for each row"):
        weighted(LOSSES["hinge"], "dense", np.ones(199))


def test_a_loss_of_one_output_takes_one_vector_of_weights() -> None:
    with pytest.raises(ValueError, match="expected 4 weights, got shape"):
        weighted(LOSSES["hinge"], "dense", None).at(np.ones((4, 2)))
