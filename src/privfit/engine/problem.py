"""A table with targets and a loss; points and lines in its space of weights.

Predictions are linear in the weights. So trying further steps along a line costs no pass over X, nor does
moving along it: an iteration with a line search takes two passes however many steps are tried.
"""

import copy
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privfit.engine import general, person_gradients
from privfit.engine.combination import shrunk
from privfit.engine.exact import bounds
from privfit.engine.exact.bounds import MAX_CANDIDATES, MAX_PRODUCT_CLIP, MIN_PRODUCT_CLIP, rise_bound
from privfit.engine.exact.grids import FloatArray, magic, rounded_sum
from privfit.engine.general import checked_weights
from privfit.engine.kernels.ladder import softplus_sums
from privfit.engine.kernels.pointwise import loops, shift
from privfit.engine.parallel import threads
from privfit.engine.persons import Persons
from privfit.engine.products import product_sums
from privfit.engine.table import Table
from privfit.losses.loss import Loss

LARGEST_SCORE = 1e30  # larger ones could leave float32


class Problem:
    """Sums of losses and gradients over the records of a table. All arguments are finite, but for clips.

    Parameters
    ----------
    table : Table
    targets : array of shape (n_records,)
        What the loss takes; see `Loss.targets`.
    loss : Loss
    weights : array of shape (n_records,), optional
        Between 0 and 1: what a record's loss and gradient are multiplied by, before they are clipped. None
        is 1 for all, and faster.
    persons : Persons, optional
        Which records belong to one person. None: that is not known.

    Notes
    -----
    Guarantee: one record more moves each clipped loss sum by a value in [-tau, clip + tau] with
    tau = `bounds.loss_slack(clip)`, and gradient sums as `Point.gradient_sum` says.
    """

    def __init__(
        self,
        table: Table,
        targets: ArrayLike,
        loss: Loss,
        weights: ArrayLike | None = None,
        persons: Persons | None = None,
    ) -> None:
        self.table, self.loss = table, loss
        self.targets = np.array(targets, dtype=np.float64)
        if self.targets.shape != (table.n_records,):
            raise ValueError(
                f"targets must have shape ({table.n_records},), one for each row, got {self.targets.shape}"
            )
        if not loss.targets.hold(self.targets):
            raise ValueError(f"targets of the {loss.name} loss must be {loss.targets.described}")
        self.weights = None if weights is None else checked_weights(weights, table.n_records)
        if persons is not None and persons.starts[-1] != table.n_records:
            raise ValueError("persons must have all records of the table, and no others")
        self.persons = persons

    @classmethod
    def of(
        cls,
        X: Any,
        targets: ArrayLike,
        loss: Loss,
        *,
        intercept: bool = True,
        weights: ArrayLike | None = None,
        persons: Persons | None = None,
    ) -> "Problem":
        """Return the problem of predicting targets from the rows of a matrix."""
        return cls(Table(X, intercept=intercept), targets, loss, weights, persons)

    @property
    def n_records(self) -> int:
        """Number of records."""
        return self.table.n_records

    @property
    def n_weights(self) -> int:
        """Number of columns, plus one with an intercept: the weights of one output."""
        return self.table.n_weights

    @property
    def outputs(self) -> int:
        """Number of predictions of a record."""
        return self.loss.outputs

    @property
    def weighted(self) -> bool:
        """Whether records have weights."""
        return self.weights is not None

    @property
    def is_plain(self) -> bool:
        """Whether there is one output and no weights, for which there are faster loops."""
        return self.weights is None and self.outputs == 1

    @property
    def total_weight(self) -> float:
        """The sum of the records' weights: their number if they have none. It is not public."""
        return float(self.n_records if self.weights is None else rounded_sum(self.weights, 1.0))

    # -- the same records, or some of them, in another form --------------------------------------------------

    def _with(self, **changed: Any) -> "Problem":
        problem = copy.copy(self)
        vars(problem).update(changed)
        return problem

    def subset(self, rows: NDArray[np.integer]) -> "Problem":
        """Return the problem of these records (indices, repeats allowed), for mini-batches."""
        rows = np.asarray(rows, dtype=np.intp)
        weights = None if self.weights is None else self.weights[rows]
        persons = None if self.persons is None else self.persons.subset(rows)
        return self._with(
            table=self.table.subset(rows), targets=self.targets[rows], weights=weights, persons=persons
        )

    def sampled(self, draw: Callable[[int], NDArray[np.integer]]) -> "Problem":
        """Return the problem of the persons, or of the records if persons are not known, that are drawn.

        `draw` is given how many there are, and returns the indices of some of them, in order.
        """
        if self.persons is None:
            return self.subset(draw(self.n_records))
        return self.subset(self.persons.rows(draw(self.persons.count)))

    def projected(self, w: FloatArray) -> "Problem":
        """Return the problem of records with a single feature, their scores z.w; the intercept is kept.

        With several outputs there are as many scores. One pass over X for each. Guarantee: a record's score
        is finite, and a function of that record and of w alone.
        """
        direction = np.array(w)
        direction[self.table.n_columns :] = 0.0
        scores = np.clip(np.nan_to_num(self.table.predictions(direction)), -LARGEST_SCORE, LARGEST_SCORE)
        columns = self.table.layout.column(scores) if scores.ndim == 1 else scores
        alone = Table(columns, intercept=self.table.intercept)
        return Problem(alone, self.targets, self.loss, self.weights, self.persons)

    def transformed(self, center: ArrayLike, scale: ArrayLike, bias: float = 1.0) -> "Problem":
        """Return the same problem with transformed features; see `Table.transformed`."""
        return self._with(table=self.table.transformed(center, scale, bias))

    def clipped(self, low: ArrayLike, high: ArrayLike) -> "Problem":
        """Return the same problem with clipped features; see `Table.clipped`."""
        table = self.table.clipped(low, high)
        return self if table is self.table else self._with(table=table)

    def with_rows_of(self, radius: float, *, shrink_only: bool = False) -> "Problem":
        """Return the same problem with rows of one norm; see `Table.with_rows_of`."""
        return self._with(table=self.table.with_rows_of(radius, shrink_only=shrink_only))

    def weighing(self, weights: ArrayLike) -> "Problem":
        """Return the same problem with these weights of the records. X is shared; no pass."""
        return self._with(weights=checked_weights(weights, self.n_records))

    def with_loss(self, loss: Loss) -> "Problem":
        """Return the problem with another loss. X is shared; no pass."""
        return Problem(self.table, self.targets, loss, self.weights, self.persons)

    def retargeted(self, center: float, scale: float, loss: Loss) -> "Problem":
        """Return the problem of predicting (target - center) / scale with a loss. X is shared; no pass.

        What its targets do not hold counts as the nearer of their ends.
        """
        targets = loss.targets.nearest((self.targets - center) / scale)
        return Problem(self.table, targets, loss, self.weights)

    # -- places ----------------------------------------------------------------------------------------------

    def at(self, w: ArrayLike) -> "Point":
        """Return the point w. One pass over X for each output.

        Its shape is (n_weights,), or (n_weights, outputs) with several outputs.
        """
        w = frozen(w)
        return Point(self, w, self._predictions(w))

    def _predictions(self, w: FloatArray) -> FloatArray:
        self._check_shape(w)
        return self.table.predictions(w)

    def _check_shape(self, w: FloatArray) -> None:
        if self.outputs > 1 and w.shape != (self.n_weights, self.outputs):
            raise ValueError(f"expected weights of shape {(self.n_weights, self.outputs)}, got {w.shape}")
        if self.outputs == 1 and w.ndim != 1:
            raise ValueError(f"expected {self.n_weights} weights, got shape {w.shape}")

    def gradient_at(self, w: ArrayLike, clip: float, *, each_coordinate: bool = False) -> FloatArray:
        """Sum the clipped gradients at w in one pass over X.

        With `each_coordinate` a record's gradient is only shrunk until no coordinate is larger than `clip`,
        which leaves more of it than shrinking its norm.

        Guarantee: with a finite clip the sum is exact, and it is `at(w).gradient_sum(clip)`, bit for bit,
        without `each_coordinate`. With it, one record more moves no coordinate by more than
        `gradient_bound(clip)`.
        """
        if self.outputs > 1:
            return self._gradients_at(np.asarray(w, dtype=np.float64), clip)
        if not self.is_plain:
            return self.at(w).gradient_sum(clip)
        layout = self.table.layout
        # Without a clip nothing is promised of the last bit, and predictions may as well keep theirs.
        unfolded = self.table.unfolded(np.asarray(w, dtype=np.float64))
        weights = layout.weights(*unfolded, exact=clip < math.inf)
        rounding = self.table.rounding(clip)
        sizes = self.table.coordinate_reciprocals if each_coordinate else self.table.reciprocals
        records = self.loss, self.targets, sizes

        def add(rows: slice, out: FloatArray) -> None:
            layout.add_gradient(rows, *records, weights, clip, rounding, out)

        sums = self.table.sums(layout.n_sums(rounding), add, exact=clip < math.inf)
        return self.table.view.fold(*layout.totals(sums))

    def _gradients_at(self, w: FloatArray, clip: float) -> FloatArray:
        """Sum the gradients of several outputs, each record's clipped as a whole. One visit of each row."""
        self._check_shape(w)
        table, layout = self.table, self.table.layout
        at = [layout.weights(*table.unfolded(np.ascontiguousarray(output))) for output in w.T]
        rounding = table.rounding(clip)
        weights = np.ones(self.n_records) if self.weights is None else self.weights
        records = self.loss, self.targets, table.reciprocals, weights
        size = layout.n_sums(rounding)

        def add(rows: slice, out: FloatArray) -> None:
            layout.add_gradients(rows, *records, at, clip, rounding, out.reshape(len(at), size))

        sums = table.sums(len(at) * size, add, exact=clip < math.inf).reshape(len(at), size)
        return np.stack([table.view.fold(*layout.totals(output)) for output in sums], axis=1)

    def gradient_bound(self, clip: float) -> float:
        """Bound the L2 distance that one record moves a gradient sum: `clip` and the rounding."""
        return self.table.combination_bound(clip, self.outputs)

    def person_gradient_at(self, w: ArrayLike, clip: float) -> FloatArray:
        """Sum the gradients at w with each person's sum clipped; see `person_gradients.gradient_at`."""
        return person_gradients.gradient_at(self, np.asarray(w, dtype=np.float64), clip)

    def person_gradient_bound(self, clip: float) -> float:
        """Bound the L2 distance that one person moves `person_gradient_at`: `clip` and the rounding."""
        assert self.persons is not None
        return bounds.person_bound(self.gradient_bound(clip), clip, self.persons.most)

    def gradient_error(self, w: FloatArray) -> float:
        """Bound the L2 distance of `gradient_at(w, inf)` from the sum in exact arithmetic, for these records.

        Not after `transformed`. It grows with the number of records, so it is not public.
        """
        if not self.table.view.is_plain:
            raise ValueError("the error is known of raw features only, not of transformed ones")
        if self.outputs > 1:
            raise ValueError("the error is known of losses with one output only")
        return bounds.unrounded_error(
            self.n_records,
            self.table.chunk_size,
            self.n_weights,
            lipschitz=self.loss.lipschitz,
            smoothness=self.loss.smoothness,
            longest=float(np.max(self.table.norms, initial=0.0)),
            length=float(np.linalg.norm(w)),
        )


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
        return self.problem.table.combination(general.coefficients(self.problem, self.predictions), clip)

    def slopes(self) -> FloatArray:
        """Return the derivative of each record's loss, whatever its weight is. No pass over X."""
        return general.derivatives(self.problem, self.predictions)

    def slope_sum(self, clip: float) -> FloatArray:
        """Sum the derivatives of the records' losses, clipped to norm `clip`, by output. No pass over X.

        Guarantee: exact, and one record more moves it by at most `bounds.slope_bound(clip, outputs)`.
        """
        slopes = shrunk(np.nan_to_num(general.coefficients(self.problem, self.predictions)), clip)
        return np.atleast_1d(rounded_sum(slopes, clip))

    def scale_slope_sum(self, clip: float) -> FloatArray:
        """Sum the derivatives of the losses in a common factor of all features, and in each intercept.

        For records whose features are the scores of as many outputs: a record's derivatives c and scores m
        give c.m and, if there is an intercept, c; both together are clipped to norm `clip`. No pass over
        other columns.

        Guarantee: exact, and one record more moves it by at most `bounds.slope_bound(clip, outputs + 1)`.
        """
        problem, outputs, table = self.problem, self.problem.outputs, self.problem.table
        slopes = np.nan_to_num(general.coefficients(problem, self.predictions)).reshape(-1, outputs)
        scores = table.predictions(np.eye(problem.n_weights, outputs))
        along = np.zeros(problem.n_records)
        for output in range(outputs):  # one after the other, so that a record's sum depends on it alone
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
        c = general.curvatures(self.problem, self.predictions, window)
        return product_sums(self.problem.table, np.sqrt(c), radius)

    def loss_sum(self, clip: float = math.inf) -> float:
        """Sum the losses, each at most `clip`. No pass over X."""
        return float(_rounded_sums(self.problem, self.predictions, self.predictions, 0.0, 0, clip)[0])

    def along(self, direction: ArrayLike) -> "Line":
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
        is_product = problem.is_plain and problem.loss.is_softplus
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
        """Sum how far each record's loss at the steps k * spacing lies above its least. No pass over X.

        Record i contributes l(p_i - k s d_i) - min over j of l(p_i - j s d_i), where the slope d_i of its
        prediction is clipped to +-slope_clip first; of several outputs, the length of the slopes.

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
