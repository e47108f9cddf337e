"""A histogram of the derivatives of the records' losses, which are residuals where the loss is squared."""

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
    """How many records' losses have a derivative between each two of some ascending edges (Q20).

    Of the squared loss the derivative is the residual, prediction - target, and at weights of zero it is
    minus the target. Bin k takes derivatives d with edges[k - 1] < d <= edges[k]; the first bin takes all
    below and the last one all above, so there is a bin more than edges. With `sizes` it is |d| that is
    counted. Every record is in one bin, whatever its weight is.
    """

    what: ClassVar[str] = "residuals"

    edges: ArrayLike
    sizes: bool = False

    def checked(self) -> FloatArray:
        """Return the edges, refused unless they ascend."""
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
            raise ValueError("slopes are counted of losses with one output only")
        self.checked()
        return Bounded(lambda: self.counts(of), 1.0, "Q20")
