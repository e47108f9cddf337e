"""The base class of constraint sets: public convex sets in which the weights of a model must stay."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from privfit.penalties.penalty import Vector


class ConvexSet(ABC):
    """A convex set of weights, one for each column; the intercept is never constrained.

    The set is public and does not depend on the records, so a constraint costs no privacy budget.

    """

    is_cone = False  # whether all non-negative multiples of each point of the set belong to it

    @property
    @abstractmethod
    def described(self) -> str:
        """The set, in words that complete "the weights must satisfy: ..."."""

    @abstractmethod
    def holds(self, w: Vector) -> bool:
        """Return whether these weights belong to the set."""

    @abstractmethod
    def nearest(self, w: Vector, metric: Vector) -> Vector:
        """Return the point of the set nearest to w, for which `holds` is true, or w itself if it is one.

        The distance of v is the root of sum metric_j (w_j - v_j)^2. If metric_j is infinite, w_j is 0.
        """

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """Return the set of all points of this one, multiplied by a positive factor."""

    def check(self, n_columns: int) -> None:
        """Raise ValueError unless the set can constrain this many weights."""
        return
