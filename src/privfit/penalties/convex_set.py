"""What a constraint set is: a public convex set that the weights of a model must stay in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from privfit.penalties.penalty import Vector


class ConvexSet(ABC):
    """A convex set of weights, one for each column; the intercept is never constrained.

    It is public and knows no records, so staying in it costs nothing.

    """

    is_cone = False  # whether all multiples, from 0 on, of a point of the set belong to it

    @property
    @abstractmethod
    def described(self) -> str:
        """The set in words that complete "the weights must satisfy: ..."."""

    @abstractmethod
    def holds(self, w: Vector) -> bool:
        """Tell whether these weights belong to the set."""

    @abstractmethod
    def nearest(self, w: Vector, metric: Vector) -> Vector:
        """Return the point of the set nearest to w, for which `holds` is true; w itself if it belongs to it.

        Distances are the root of sum metric_j (w_j - v_j)^2. Where the metric is infinite, w is 0.
        """

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """Return the set of all points of this one, multiplied by a positive factor."""

    def check(self, n_columns: int) -> None:
        """Raise ValueError unless the set is one of so many weights."""
        return
