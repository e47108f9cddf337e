"""The protocol of penalties: public functions of the raw weights, with an optional constraint and start."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Penalty(Protocol):
    """A convex function of all raw weights, and a convex set for all but the intercept.

    It does not depend on the records, so it costs no privacy budget.

    """

    @property
    def alpha(self) -> float:
        """The alpha of its part alpha/2 ||w||^2, for solvers whose formulas use only this part."""
        ...

    @property
    def smoothness(self) -> float:
        """Largest slope of its gradient."""
        ...

    @property
    def is_constraint(self) -> bool:
        """Whether the weights must stay in a set; solvers that do not call `nearest` refuse this."""
        ...

    @property
    def is_cone(self) -> bool:
        """Whether the set holds all non-negative multiples of each of its points."""
        ...

    @property
    def start(self) -> Vector | None:
        """Public raw weights, the intercept last, from which a search starts; None if none were declared."""
        ...

    def value(self, w: Vector) -> float:
        """Return the value at these raw weights, which is added to the mean loss."""
        ...

    def gradient(self, w: Vector) -> Vector:
        """Return its gradient at these raw weights."""
        ...

    def retargeted(self, center: float, scale: float) -> Penalty:
        """Return the same penalty for raw weights of (targets - center) / scale.

        Without an intercept, center is 0.
        """
        ...

    def nearest(self, w: Vector, metric: Vector) -> Vector:
        """Return the point of the set nearest to these raw weights, the intercept's left out.

        The distance of v is the root of sum metric_j (w_j - v_j)^2. If the weights belong to the set, the
        same array is returned.
        """
        ...
