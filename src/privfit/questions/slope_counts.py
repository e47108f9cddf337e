"""A histogram of the derivatives of the records' losses. For the squared loss these are the residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from privfit.engine.bounded import Bounded
from privfit.engine.exact.grids import FloatArray

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.points import Point


@dataclass(frozen=True, eq=False)
class SlopeCounts:
    """The number of records whose loss has a derivative between neighbouring ascending edges (Q20).

    For the squared loss the derivative is the residual, prediction - target; at weights of zero this is minus
    the target. Bin k counts derivatives d with edges[k - 1] < d <= edges[k]. The first bin counts all up to
    the first edge, and the last one all above the last edge, so there is one more bin than edges. With
    `sizes`, |d| is counted instead. Every record counts once, in one bin, whatever its weight is.
    """

    what: ClassVar[str] = "residuals"

    edges: ArrayLike
    sizes: bool = False

    def checked(self) -> FloatArray:
        """Return the edges; raise ValueError unless they ascend."""
        edges = np.asarray(self.edges, dtype=np.float64)
        if edges.ndim != 1 or len(edges) < 1 or not np.all(edges[1:] > edges[:-1]):
            raise ValueError("edges must be strictly ascending numbers")
        return edges

    def counts(self, of: Point) -> FloatArray:
        """Count the records. No pass over the data."""
        slopes = of.slopes()
        bins = np.searchsorted(self.checked(), np.abs(slopes) if self.sizes else slopes, side="left")
        return np.bincount(bins, minlength=len(self.checked()) + 1).astype(np.float64)

    def bounded(self, of: Point) -> Bounded:
        """Return the counts. Sensitivity: 1."""
        if of.problem.loss.outputs > 1:
            raise ValueError("slopes are counted for losses with one output only")
        self.checked()
        return Bounded(lambda: self.counts(of), 1.0, "Q20")
