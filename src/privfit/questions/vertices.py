"""Scores of the vertices of an L1 ball, which tell the column and the direction of the steepest descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privfit.engine.bounded import Scores
from privfit.engine.exact.grids import FloatArray

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.problem import Problem


@dataclass(frozen=True, eq=False)
class VerticesAt:
    """The vertices +e_j, then -e_j, of all columns j, scored by the slope of the loss towards them (Q15).

    The slope is a coordinate of the sum of gradients. Each gradient is shrunk until none of its coordinates,
    including the intercept's, is larger than `clip`. The intercept has no vertex. One more record changes a
    score by at most `clip` in either direction, plus rounding; the scores of +e_j and -e_j change by opposite
    amounts.
    """

    what: ClassVar[str] = "vertex"

    w: FloatArray
    clip: float

    def bounded(self, of: Problem) -> Scores:
        """Return the scores. One pass over the data."""
        if of.loss.outputs > 1:
            raise ValueError("the vertices of an L1 ball are scored for losses with one output only")
        columns = of.table.n_columns

        def sums() -> FloatArray:
            return of.gradient_sums_at(self.w, self.clip, each_coordinate=True)

        def corners(total: FloatArray) -> FloatArray:
            slopes = of.table.viewed_sums(total)[:columns]
            return np.concatenate([slopes, -slopes])

        return Scores(sums, of.gradient_bound(self.clip), 2 * columns, False, "Q15", finish=corners)
