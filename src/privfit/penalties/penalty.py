"""What a penalty is: a public function of the raw weights, and what else is public about them."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Penalty(Protocol):
    """A convex function of the raw weights, the intercept's included, and a convex set for the others.

    It knows no records, so nothing of it costs anything.

    """

    @property
    def alpha(self) -> float:
        """Strength of its part alpha/2 ||w||^2, for solvers whose formulas know only this part."""
        ...

    @property
    def smoothness(self) -> float:
        """Largest slope of its gradient."""
        ...

    @property
    def is_constraint(self) -> bool:
        """Whether the weights must stay in a set; solvers that do not call `nearest` refuse that."""
        ...

    @property
    def is_cone(self) -> bool:
        """Whether the set holds all multiples, from 0 on, of the weights that it holds."""
        ...

    @property
    def start(self) -> Vector | None:
        """Public raw weights, the intercept last, from which a search starts; None: none were declared."""
        ...

    def value(self, w: Vector) -> float:
        """Return what is added to the mean loss at these raw weights."""
        ...

    def gradient(self, w: Vector) -> Vector:
        """Return its gradient at these raw weights."""
        ...

    def retargeted(self, center: float, scale: float) -> Penalty:
        """Return the same for raw weights of (targets - center) / scale; without intercept center is 0."""
        ...

    def nearest(self, w: Vector, metric: Vector) -> Vector:
        """Return the point of the set nearest to these raw weights, the intercept's left out.

        Distances are the root of sum metric_j (w_j - v_j)^2. A point of the set is returned as it is, the
        same array.
        """
        ...
