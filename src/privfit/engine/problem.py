"""A table with targets and a loss: sums of losses and gradients of its records, for any table."""

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privfit.engine import person_gradients
from privfit.engine.exact import bounds
from privfit.engine.exact.grids import FloatArray, rounded_sum
from privfit.engine.general import checked_weights
from privfit.engine.persons import Persons
from privfit.engine.points import Point, frozen
from privfit.engine.table import Table
from privfit.losses.loss import Loss

LARGEST_SCORE = 1e30  # larger scores could overflow float32


class Problem:
    """Sums of losses and gradients over the records of a table. All arguments but clips must be finite.

    Parameters
    ----------
    table : Table
    targets : array of shape (n_records,)
        The targets that the loss accepts; see `Loss.targets`.
    loss : Loss
    weights : array of shape (n_records,), optional
        Factors between 0 and 1. A record's loss and gradient are multiplied by them before they are clipped.
        None means 1 for all records, which is faster.
    persons : Persons, optional
        Which records belong to one person; None if that is not known.

    Attributes
    ----------
    is_part : bool
        Whether its sums will be added to those of other records. All of them must then be exact, so the
        faster sums of the logistic loss by products are not used.

    Notes
    -----
    Guarantee: one record more moves each clipped loss sum by a value in [-tau, clip + tau] with
    tau = `bounds.loss_slack(clip)`, and gradient sums as `Point.gradient_sum` says.
    """

    is_part = False

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
        """The sum of the records' weights, or the number of records without weights. It is not public."""
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

        With several outputs there are as many scores. One pass over X. Guarantee: a record's score is
        finite, and a function of that record and of w alone.
        """
        direction = np.array(w)
        direction[self.table.n_columns :] = 0.0
        scores = np.clip(np.nan_to_num(self.table.predictions(direction)), -LARGEST_SCORE, LARGEST_SCORE)
        columns = self.table.layout.column(scores) if scores.ndim == 1 else scores
        return self._with(table=Table(columns, intercept=self.table.intercept))

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

    def weighed_by(self, rule: Callable[["Problem"], FloatArray]) -> "Problem":
        """Return the same problem with the weights that a rule gives its records, each by itself."""
        return self.weighing(rule(self))

    def with_loss(self, loss: Loss) -> "Problem":
        """Return the problem with another loss. X is shared; no pass."""
        return self._of_targets(self.targets, loss)

    def retargeted(self, center: float, scale: float, loss: Loss) -> "Problem":
        """Return the problem of predicting (target - center) / scale with a loss. X is shared; no pass.

        Targets outside the range of the new loss are moved to its nearer end.
        """
        return self._of_targets(loss.targets.nearest((self.targets - center) / scale), loss)

    def _of_targets(self, targets: FloatArray, loss: Loss) -> "Problem":
        problem = Problem(self.table, targets, loss, self.weights, self.persons)
        problem.is_part = self.is_part
        return problem

    # -- places ----------------------------------------------------------------------------------------------

    def at(self, w: ArrayLike) -> Point:
        """Return the point w. One pass over X.

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
        return self.table.viewed_sums(self.gradient_sums_at(w, clip, each_coordinate=each_coordinate))

    def gradient_sums_at(self, w: ArrayLike, clip: float, *, each_coordinate: bool = False) -> FloatArray:
        """Return the sums of `gradient_at` before the view is applied; see `Table.viewed_sums`."""
        if self.outputs > 1:
            return self._gradient_sums_at(np.asarray(w, dtype=np.float64), clip)
        if not self.is_plain:
            return self.at(w).gradient_sums(clip)
        layout = self.table.layout
        # sums without a clip need not be exact, so predictions are not rounded either
        weights_and_offset = self.table.weights_and_offset(np.asarray(w, dtype=np.float64))
        weights = layout.weights(*weights_and_offset, exact=clip < math.inf)
        rounding = self.table.rounding(clip)
        sizes = self.table.coordinate_reciprocals if each_coordinate else self.table.reciprocals
        records = self.loss, self.targets, sizes

        def add(rows: slice, out: FloatArray) -> None:
            layout.add_gradient(rows, *records, weights, clip, rounding, out)

        return layout.by_columns(self.table.sums(layout.n_sums(rounding), add, exact=clip < math.inf))

    def _gradient_sums_at(self, w: FloatArray, clip: float) -> FloatArray:
        """Sum the gradients of several outputs; each record's are clipped together. Reads each row once."""
        self._check_shape(w)
        table, layout = self.table, self.table.layout
        at = [layout.weights(*table.weights_and_offset(np.ascontiguousarray(output))) for output in w.T]
        rounding = table.rounding(clip)
        weights = np.ones(self.n_records) if self.weights is None else self.weights
        records = self.loss, self.targets, table.reciprocals, weights
        size = layout.n_sums(rounding)

        def add(rows: slice, out: FloatArray) -> None:
            layout.add_gradients(rows, *records, at, clip, rounding, out.reshape(len(at), size))

        sums = table.sums(len(at) * size, add, exact=clip < math.inf).reshape(len(at), size)
        return np.stack([layout.by_columns(output) for output in sums])

    def gradient_bound(self, clip: float) -> float:
        """Bound the L2 distance that one record moves a gradient sum: `clip` and the rounding."""
        return self.table.combination_bound(clip, self.outputs)

    def person_gradient_at(self, w: ArrayLike, clip: float) -> FloatArray:
        """Sum the gradients at w with each person's sum clipped; see `person_gradients.gradient_sums_at`."""
        return self.table.viewed_sums(self.person_gradient_sums_at(w, clip))

    def person_gradient_sums_at(self, w: ArrayLike, clip: float) -> FloatArray:
        """Return the sums of `person_gradient_at` before the view is applied; see `Table.viewed_sums`."""
        return person_gradients.gradient_sums_at(self, np.asarray(w, dtype=np.float64), clip)

    def person_gradient_bound(self, clip: float) -> float:
        """Bound the L2 distance that one person moves `person_gradient_at`: `clip` and the rounding."""
        assert self.persons is not None
        return bounds.person_bound(self.gradient_bound(clip), clip, self.persons.most)

    def gradient_error(self, w: FloatArray) -> float:
        """Bound the L2 distance of `gradient_at(w, inf)` from the sum in exact arithmetic, for these records.

        Not after `transformed`. It grows with the number of records, so it is not public.
        """
        if not self.table.view.is_plain:
            raise ValueError("the error is available for raw features only, not for transformed ones")
        if self.outputs > 1:
            raise ValueError("the error is available for losses with one output only")
        return bounds.unrounded_error(
            self.n_records,
            self.table.chunk_size,
            self.n_weights,
            lipschitz=self.loss.lipschitz,
            smoothness=self.loss.smoothness,
            longest=float(np.max(self.table.norms, initial=0.0)),
            length=float(np.linalg.norm(w)),
        )
