"""Points and lines in the space of weights of a problem, with the predictions of all records there.

Predictions are linear in the weights. So neither trying more steps along a line nor moving along it needs a
pass over X. An iteration with a line search takes two passes, however many steps it tries.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privfit.engine import general
from privfit.engine.combination import shrunk
from privfit.engine.exact.bounds import MAX_CANDIDATES, MAX_PRODUCT_CLIP, MIN_PRODUCT_CLIP, rise_bound
from privfit.engine.exact.grids import FloatArray, magic, rounded_sum
from privfit.engine.kernels.ladder import softplus_sums
from privfit.engine.kernels.limits import LARGEST_PREDICTION
from privfit.engine.kernels.pointwise import loops, shift
from privfit.engine.parallel import threads
from privfit.engine.products import as_matrix, product_multiples

if TYPE_CHECKING:
    from privfit.engine.problem import Problem


class Point:
    """A weight vector w and the predictions of all records there."""

    def __init__(self, problem: Problem, w: FloatArray, predictions: FloatArray) -> None:
        self.problem, self.w, self.predictions = problem, w, predictions

    def gradient_sum(self, clip: float = math.inf) -> FloatArray:
        """Sum the records' gradients, each clipped to L2 norm `clip`. One pass over X.

        A record's gradient is a multiple of (z, bias), so clipping scales one number per record.

        Guarantee: with a finite clip the sum is exact (bit-identical in any order of the records), and
        one record more moves it by at most `Problem.gradient_bound(clip)` in L2 norm.
        """
        return self.problem.table.viewed_sums(self.gradient_sums(clip))

    def gradient_sums(self, clip: float = math.inf) -> FloatArray:
        """Return the sums of `gradient_sum` before the view is applied; see `Table.viewed_sums`."""
        coefficients = general.coefficients(self.problem, self.predictions)
        return self.problem.table.combination_sums(coefficients, clip)

    def slopes(self) -> FloatArray:
        """Return the derivative of each record's loss, whatever its weight is. No pass over X."""
        return general.derivatives(self.problem, self.predictions)

    def second_derivatives(self) -> FloatArray:
        """Return each record's weight times the second derivative of its loss. No pass over X.

        The loss is convex, so a negative value or NaN comes from rounding, and counts as 0.
        """
        problem = self.problem
        assert problem.loss.second_derivative is not None
        found = problem.loss.second_derivative(self.slopes(), self.predictions, problem.targets)
        found = np.fmin(np.fmax(found, 0.0), LARGEST_PREDICTION)
        return found if problem.weights is None else found * problem.weights

    def slope_sum(self, clip: float) -> FloatArray:
        """Sum the derivatives of the records' losses, clipped to norm `clip`, by output. No pass over X.

        Guarantee: exact, and one record more moves it by at most `bounds.slope_bound(clip, outputs)`.
        """
        slopes = shrunk(np.nan_to_num(general.coefficients(self.problem, self.predictions)), clip)
        return np.atleast_1d(rounded_sum(slopes, clip))

    def scale_slope_sum(self, clip: float) -> FloatArray:
        """Sum the derivatives of the losses with respect to one scale of all features, and each intercept.

        The features of the records are the scores of the outputs. A record with derivatives c and scores m
        adds c.m and, if there is an intercept, c. Both together are clipped to norm `clip`. No pass over
        other columns.

        Guarantee: exact, and one record more moves it by at most `bounds.slope_bound(clip, outputs + 1)`.
        """
        problem, outputs, table = self.problem, self.problem.outputs, self.problem.table
        slopes = np.nan_to_num(general.coefficients(problem, self.predictions)).reshape(-1, outputs)
        scores = table.predictions(np.eye(problem.n_weights, outputs))
        along = np.zeros(problem.n_records)
        # one after the other, so that a record's sum depends on that record alone
        for output in range(outputs):
            along += slopes[:, output] * scores[:, output]
        derivatives = np.column_stack([along, slopes] if table.intercept else [along])
        constant = magic(clip)
        sums: FloatArray = np.sum((shrunk(np.nan_to_num(derivatives), clip) + constant) - constant, axis=0)
        return sums

    def hessian_sum(self, radius: float, window: float) -> FloatArray:
        """Sum the outer products of sqrt(c) * (z, bias), each such row clipped to norm `radius`. One pass.

        c is a record's weight times its curvature, of one output: see `general.curvatures`.

        Guarantee: as `products.product_sums` says.
        """
        return as_matrix(self.hessian_multiples(radius, window), radius)

    def hessian_multiples(self, radius: float, window: float) -> NDArray[np.int64]:
        """Return `hessian_sum` as `products.product_multiples`."""
        c = general.curvatures(self.problem, self.predictions, window)
        return product_multiples(self.problem.table, np.sqrt(c), radius)

    def loss_sum(self, clip: float = math.inf) -> float:
        """Sum the losses, each at most `clip`. No pass over X."""
        return float(_rounded_sums(self.problem, self.predictions, self.predictions, 0.0, 0, clip)[0])

    def along(self, direction: ArrayLike) -> Line:
        """Return the line from here against `direction`. One pass over X."""
        direction = frozen(direction)
        return Line(self, direction, self.problem._predictions(direction))


class Line:
    """The points w - step * direction, with the predictions of both."""

    def __init__(self, origin: Point, direction: FloatArray, slopes: FloatArray) -> None:
        self.origin, self.direction, self.slopes = origin, direction, slopes

    def loss_sums(self, spacing: float, count: int, clip: float = math.inf) -> FloatArray:
        """Sum the losses, each at most `clip`, at the steps k * spacing for k = 0..count. No pass over X."""
        _check_count(count)
        problem, predictions, slopes = self.origin.problem, self.origin.predictions, self.slopes
        is_product = problem.is_plain and problem.loss.is_softplus and not problem.is_part
        if not (is_product and MIN_PRODUCT_CLIP <= clip <= MAX_PRODUCT_CLIP):
            return _rounded_sums(problem, predictions, slopes, spacing, count, clip)
        chunks = problem.table.chunks
        sums = np.zeros((len(chunks), 2, count + 1))

        def add(number: int) -> None:
            rows = chunks[number]
            records = predictions[rows], slopes[rows], problem.targets[rows]
            softplus_sums(*records, spacing, clip, sums[number])

        threads.run([partial(add, number) for number in range(len(chunks))])
        return np.array([math.fsum(column) for column in sums.reshape(-1, count + 1).T.tolist()])

    def rise_sums(self, spacing: float, count: int, slope_clip: float) -> FloatArray:
        """Sum the differences between each record's loss at k * spacing and its minimum. No pass over X.

        Record i contributes l(p_i - k s d_i) - min over j of l(p_i - j s d_i). The slope d_i of its
        prediction is clipped to +-slope_clip first; with several outputs, the norm of the slopes is clipped.

        Guarantee: one record more moves each sum by a value in [-tau, bound + tau] with
        bound = `bounds.rise_bound(loss.lipschitz, spacing, count, slope_clip)` and
        tau = `bounds.rise_slack(bound)`.
        """
        _check_count(count)
        problem, predictions, slopes = self.origin.problem, self.origin.predictions, self.slopes
        bound = rise_bound(problem.loss.lipschitz, spacing, count, slope_clip)
        constant, rise_sums = magic(bound), loops(problem.loss).rise_sums
        if not problem.is_plain:
            where = predictions, slopes, spacing, count
            return general.rise_sums(problem, *where, slope_clip, bound, constant)

        def add(rows: slice, out: FloatArray) -> None:
            records = predictions[rows], slopes[rows], problem.targets[rows]
            rise_sums(*records, spacing, slope_clip, bound, constant, out)

        return problem.table.sums(count + 1, add)

    def move(self, step: float) -> Point:
        """Return the point w - step * direction. No pass over X, because predictions are linear."""
        problem = self.origin.problem
        predictions = np.empty_like(self.slopes)

        def fill(rows: slice) -> None:
            records = self.origin.predictions[rows], self.slopes[rows], predictions[rows]
            here, slopes, there = (values.reshape(-1) for values in records)  # of all outputs, not copied
            shift(here, slopes, step, there)

        problem.table.for_each_chunk(fill)
        return Point(problem, frozen(self.origin.w - step * self.direction), predictions)


def _check_count(count: int) -> None:
    if not 0 <= count <= MAX_CANDIDATES:
        raise ValueError(f"count must be between 0 and {MAX_CANDIDATES}, got {count}")


def _rounded_sums(
    problem: Problem, predictions: FloatArray, slopes: FloatArray, spacing: float, count: int, clip: float
) -> FloatArray:
    loss_sums, rounding = loops(problem.loss).loss_sums, magic(clip)
    if not problem.is_plain:
        return general.loss_sums(problem, predictions, slopes, spacing, count, clip, rounding)

    def add(rows: slice, out: FloatArray) -> None:
        records = predictions[rows], slopes[rows], problem.targets[rows]
        loss_sums(*records, spacing, clip, rounding, out)

    return problem.table.sums(count + 1, add, exact=clip < math.inf)


def frozen(w: ArrayLike) -> FloatArray:
    """Return a read-only copy of w."""
    w = np.array(w, dtype=np.float64)
    w.flags.writeable = False
    return w
