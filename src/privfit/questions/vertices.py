"""Scores of the corners of an L1 ball: in which direction, along one column, the loss falls fastest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privfit.engine.bounded import Scores
from privfit.engine.exact.grids import MAX_RECORDS, FloatArray

if TYPE_CHECKING:  # what computes brings numba, which only a fit needs
    from privfit.engine.problem import Problem

# Scores of 2**32 clips at most, plus `penalties` of up to twice that once the least is subtracted, are
# rounded by 2**-53 of themselves on either table: by 3 * 2**-20 clips on both.
TOTAL_SLACK = 2.0**-18


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

    def penalties(self, slopes: FloatArray) -> FloatArray:
        """Return what public slopes of the columns add to the scores, at most what 2^32 records can add.

        More would decide as surely, and rounding would move the scores further than they are blurred.
        """
        most = MAX_RECORDS * self.clip
        slopes = np.clip(slopes, -most, most)
        return np.concatenate([slopes, -slopes])

    def bounded(self, of: Problem) -> Scores:
        """Return the scores. One pass over the data."""
        if of.loss.outputs > 1:
            raise ValueError("the corners of an L1 ball are scored for losses with one output only")
        columns = of.table.n_columns

        def look() -> FloatArray:
            slopes = of.gradient_at(self.w, self.clip, each_coordinate=True)[:columns]
            return np.concatenate([slopes, -slopes])

        bound = of.gradient_bound(self.clip) + TOTAL_SLACK * self.clip
        return Scores(look, bound, 2 * columns, False, "Q15")
