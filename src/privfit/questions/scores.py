"""Sums of what public tables say of a record's label and score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from privfit.engine.bounded import Bounded
from privfit.engine.exact.grids import FloatArray

if TYPE_CHECKING:  # what computes brings numba, which only a fit needs
    from privfit.engine.problem import Point

SHARE_GRID = 2.0**-20  # sums of 2^32 multiples of it, each at most 1, are exact in float64


@dataclass(frozen=True, eq=False)
class ScoreSums:
    """The sum over records of the shares that their label and the bin of their score are given (Q16).

    A record's score is its prediction at a point. Bin k takes scores with edges[k - 1] < score <= edges[k];
    the first bin takes all below and the last one all above, so there is a bin more than edges. Row k of
    `shares` is what a record of the first label in bin k adds; after the rows of all bins come those of the
    second label. Counts of cells are one example, weighted sums of such counts another.
    """

    what: ClassVar[str] = "scores"

    edges: ArrayLike
    shares: ArrayLike

    def checked(self) -> tuple[FloatArray, FloatArray]:
        """Return edges and shares, refused unless edges ascend and sums of shares are exact."""
        edges, shares = (np.asarray(given, dtype=np.float64) for given in (self.edges, self.shares))
        if edges.ndim != 1 or not np.all(edges[1:] > edges[:-1]):
            raise ValueError("edges must be strictly ascending numbers")
        if shares.ndim != 2 or len(shares) != 2 * (len(edges) + 1):
            raise ValueError("shares must have a row for each bin of either label, one bin more than edges")
        if not np.all(np.abs(shares) <= 1.0) or np.any(shares / SHARE_GRID % 1.0):
            raise ValueError("shares must be multiples of 2^-20 between -1 and 1, so that sums are exact")
        return edges, shares

    def bounded(self, of: Point) -> Bounded:
        """Return the sums. Sensitivity: the norm of the longest row of shares. No pass over the data."""
        edges, shares = self.checked()

        def look() -> FloatArray:
            bins = np.searchsorted(edges, of.predictions, side="left")
            cells = bins + (len(edges) + 1) * (of.problem.targets > 0.0)
            sums: FloatArray = np.bincount(cells, minlength=len(shares)).astype(np.float64) @ shares
            return sums

        # fsum rounds once and sqrt once more, each by at most 2^-53 of the number
        longest = max(math.sqrt(math.fsum(row * row)) for row in shares)
        return Bounded(look, longest * (1.0 + 2.0**-50), "Q16")
