"""A regulariser together with a constraint set."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from privfit.penalties.convex_set import ConvexSet
from privfit.penalties.penalty import Vector
from privfit.penalties.ridge import Ridge


@dataclass(frozen=True)
class Within(Ridge):
    """alpha/2 ||w||^2, and weights that must stay in a set.

    Parameters
    ----------
    alpha : float
        Strength of the regulariser; 0 is none.
    start : array, optional
        Public raw weights, the intercept last, from which a search starts.
    constraint : ConvexSet
        The set.
    """

    constraint: ConvexSet = field(kw_only=True)

    @property
    def is_constraint(self) -> bool:
        """Whether the weights must stay in a set: yes."""
        return True

    @property
    def is_cone(self) -> bool:
        """Whether the set contains all multiples of its points."""
        return self.constraint.is_cone

    def retargeted(self, center: float, scale: float) -> Ridge:
        """Return the penalty with the set and the start in the new unit of the targets."""
        scaled = replace(self, constraint=self.constraint.scaled(1.0 / scale))
        return super(Within, scaled).retargeted(center, scale)

    def nearest(self, w: Vector, metric: Vector) -> Vector:
        """Return the point of the set nearest to these weights."""
        return self.constraint.nearest(w, metric)


def moved_into(constraint: ConvexSet, w: Vector) -> Vector:
    """Return weights that belong to the set even if a change of units has rounded them."""
    return constraint.nearest(w, np.ones_like(w))
