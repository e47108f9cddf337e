"""Sums of targets and of derivatives of the loss, for fitting intercepts and a scale of all predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privfit.engine.bounded import Bounded
from privfit.engine.exact.bounds import slope_bound
from privfit.engine.exact.grids import FloatArray, rounded_sum

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.problem import Problem


@dataclass(frozen=True)
class TargetSums:
    """The sum over records of weight times target, as the loss's `Targets` add them up (Q17)."""

    what: ClassVar[str] = "targets"

    def bounded(self, of: Problem) -> Bounded:
        """Return the sum. Sensitivity: `Targets.bound`, with weights plus rounding. No pass over the data."""
        targets = of.loss.targets

        def look() -> FloatArray:
            summands = targets.summands(of.targets)
            if of.weights is None:
                return np.atleast_1d(np.sum(summands, axis=0))
            return rounded_sum(of.weights[:, None] * summands, targets.bound)

        bound = slope_bound(targets.bound, of.loss.outputs) if of.weighted else targets.bound
        return Bounded(look, bound, "Q17")


@dataclass(frozen=True, eq=False)
class SlopesAt:
    """The sum over records of the loss's derivative at the weights w, clipped to +-`clip` (Q17).

    It is the gradient with respect to an intercept alone.
    """

    what: ClassVar[str] = "slope of the intercept"

    w: FloatArray
    clip: float

    def bounded(self, of: Problem) -> Bounded:
        """Return the sum. Sensitivity: `clip` plus rounding. One pass over the data."""
        bound = slope_bound(self.clip, of.loss.outputs)
        return Bounded(lambda: of.at(self.w).slope_sum(self.clip), bound, "Q17")


@dataclass(frozen=True, eq=False)
class ScaleSlopesAt:
    """The sum over records of the loss's derivatives in one scale of all scores, and in each intercept (Q18).

    The features of the records are the scores of the outputs (`Curator.projected`). The prediction of an
    output is `scale` times its score plus its intercept. The vector of all derivatives of a record is clipped
    to norm `clip`.
    """

    what: ClassVar[str] = "slope of the scale"

    scale: float
    intercepts: FloatArray
    clip: float

    def bounded(self, of: Problem) -> Bounded:
        """Return the sum. Sensitivity: `clip` plus rounding. No pass over the columns of the table."""
        outputs, table = of.loss.outputs, of.table
        if table.n_columns != outputs:
            raise ValueError(f"expected a score for each of {outputs} outputs, got {table.n_columns} columns")
        w = self.scale * np.eye(table.n_weights, outputs)
        w[outputs:] = self.intercepts
        w = w.ravel() if outputs == 1 else w
        bound = slope_bound(self.clip, outputs + 1)
        return Bounded(lambda: of.at(w).scale_slope_sum(self.clip), bound, "Q18")
