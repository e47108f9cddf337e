"""Scores of the corners of an L1 ball: in which direction, along one column, the loss falls fastest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privfit.engine.bounded import Scores
from privfit.engine.exact.grids import FloatArray

if TYPE_CHECKING:  # what computes brings numba, which only a fit needs
    from privfit.engine.problem import Problem


@dataclass(frozen=True, eq=False)
class VerticesAt:
    """The corners +e_j, then -e_j, of all columns j, scored by the slope of the loss at w towards them (Q15).

    The slope is a coordinate of the sum of gradients, each shrunk until none of its coordinates, the
    intercept's included, is larger than `clip`. The intercept is no corner. One more record moves a score by
    at most `clip` either way, plus rounding, and the scores of +e_j and -e_j oppositely.
    """

    what: ClassVar[str] = "vertex"

    w: FloatArray
    clip: float

    def bounded(self, of: Problem) -> Scores:
        """Return the scores. One pass over the data."""
        if of.loss.outputs > 1:
            raise ValueError("the corners of an L1 ball are scored for losses with one output only")
        columns = of.table.n_columns

        def sums() -> FloatArray:
            return of.gradient_sums_at(self.w, self.clip, each_coordinate=True)

        def corners(total: FloatArray) -> FloatArray:
            slopes = of.table.folded(total)[:columns]
            return np.concatenate([slopes, -slopes])

        return Scores(sums, of.gradient_bound(self.clip), 2 * columns, False, "Q15", fold=corners)
