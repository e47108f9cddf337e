"""Losses and slopes of records with weights or several outputs, which the fast loops do not support.

The result for a record depends on that record alone, and its summands are rounded as in the fast loops. So
the sums are exact, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from privfit.engine.combination import shrunk
from privfit.engine.exact.grids import FloatArray
from privfit.engine.kernels.limits import LARGEST_PREDICTION
from privfit.engine.kernels.pointwise import loops

if TYPE_CHECKING:
    from privfit.engine.problem import Problem


def checked_weights(weights: ArrayLike, n_records: int) -> FloatArray:
    """Return a copy of the records' weights, which must be between 0 and 1.

    Weights of at most 1 do not increase any sensitivity.
    """
    weights = np.array(weights, dtype=np.float64)
    if weights.shape != (n_records,):
        raise ValueError(f"weights must have shape ({n_records},), one for each row, got {weights.shape}")
    if not np.all((weights >= 0.0) & (weights <= 1.0)):
        raise ValueError("weights of records must be between 0 and 1; divide them by a public bound")
    return weights


def derivatives(problem: Problem, predictions: FloatArray) -> FloatArray:
    """Return the derivatives of each record's loss, one for each prediction."""
    slopes = np.empty_like(predictions)
    write = loops(problem.loss).derivatives

    def fill(rows: slice) -> None:
        write(predictions[rows], problem.targets[rows], slopes[rows])

    problem.table.for_each_chunk(fill)
    return slopes


def coefficients(problem: Problem, predictions: FloatArray) -> FloatArray:
    """Return each record's weight times the derivatives of its loss, one for each prediction."""
    slopes = derivatives(problem, predictions)
    if problem.weights is not None:
        slopes *= problem.weights if problem.outputs == 1 else problem.weights[:, None]
    return slopes


def curvatures(problem: Problem, predictions: FloatArray, window: float) -> FloatArray:
    """Return each record's weight times the mean curvature of its loss over a window around its prediction.

    The loss is convex, so a negative value or NaN comes from rounding at extreme predictions, and counts as
    0. For a user's loss the difference of slopes may overflow; it is limited, because infinity times a weight
    of 0 would be NaN.
    """
    sides = np.empty((2, len(predictions)))
    derivatives = loops(problem.loss).derivatives

    def fill(rows: slice) -> None:
        for side, shift in zip(sides, (-0.5 * window, 0.5 * window), strict=True):
            derivatives(predictions[rows] + shift, problem.targets[rows], side[rows])

    problem.table.for_each_chunk(fill)
    with np.errstate(over="ignore"):
        found: FloatArray = np.fmin(np.fmax((sides[1] - sides[0]) / window, 0.0), LARGEST_PREDICTION)
    return found if problem.weights is None else found * problem.weights


def losses(
    problem: Problem, rows: slice, predictions: FloatArray, slopes: FloatArray, spacing: float, count: int
) -> FloatArray:
    """Return weight times loss of these records at predictions - k * spacing * slopes, one row for each k."""
    found = np.empty((count + 1, rows.stop - rows.start))
    values = loops(problem.loss).values
    for k, out in enumerate(found):
        with np.errstate(over="ignore"):
            there = np.clip(
                predictions[rows] - (spacing * k) * slopes[rows], -LARGEST_PREDICTION, LARGEST_PREDICTION
            )
        values(there, problem.targets[rows], out)
    if problem.weights is not None:
        found = (
            np.fmin(found, LARGEST_PREDICTION) * problem.weights[rows]
        )  # limited, because 0 times infinity is NaN
    return found


def loss_sums(
    problem: Problem,
    predictions: FloatArray,
    slopes: FloatArray,
    spacing: float,
    count: int,
    clip: float,
    magic: float,
) -> FloatArray:
    """Sum the losses, clipped and rounded."""

    def add(rows: slice, out: FloatArray) -> None:
        clipped = np.minimum(losses(problem, rows, predictions, slopes, spacing, count), clip)
        out += np.sum((clipped + magic) - magic, axis=1)

    return problem.table.sums(count + 1, add, exact=magic > 0.0)


def rise_sums(
    problem: Problem,
    predictions: FloatArray,
    slopes: FloatArray,
    spacing: float,
    count: int,
    slope_clip: float,
    bound: float,
    magic: float,
) -> FloatArray:
    """Sum the losses minus their minima, with the length of each record's slopes clipped."""
    slopes = shrunk(slopes, slope_clip)

    def add(rows: slice, out: FloatArray) -> None:
        found = losses(problem, rows, predictions, slopes, spacing, count)
        rises = np.clip(found - np.min(found, axis=0), 0.0, bound)
        out += np.sum((rises + magic) - magic, axis=1)

    return problem.table.sums(count + 1, add)
