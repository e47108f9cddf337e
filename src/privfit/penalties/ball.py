"""Weights whose Euclidean norm is bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privfit.penalties.convex_set import ConvexSet
from privfit.penalties.penalty import Vector

RADII = 1e-60, 1e60  # the smallest and the largest radius
RADIUS_SHARE = (
    1.0 - 2.0**-40
)  # share of the radius at which points are projected, so that rounding of norms never excludes them
MOST_NEWTON_STEPS = 100  # usually about ten are enough


@dataclass(frozen=True)
class Ball(ConvexSet):
    """All weights with sum w_j^2 <= radius^2.

    Parameters
    ----------
    radius : float
        The largest norm, in the units of `coef_`.

    Examples
    --------
    >>> from privfit.penalties import Ball
    >>> Ball(5.0).nearest(np.array([6.0, 8.0]), np.ones(2)).round(6)
    array([3., 4.])
    """

    radius: float

    def __post_init__(self) -> None:
        if not (isinstance(self.radius, int | float) and RADII[0] <= self.radius <= RADII[1]):
            raise ValueError(
                f"The radius of a Ball must be a number between {RADII[0]:g} and {RADII[1]:g}, "
                f"got {self.radius!r}."
            )

    @property
    def described(self) -> str:
        """The set in words."""
        return f"the norm of the weights is at most {self.radius:g}"

    def holds(self, w: Vector) -> bool:
        """Return whether the norm is at most the radius."""
        return math.hypot(*w) <= self.radius

    def nearest(self, w: Vector, metric: Vector) -> Vector:
        """Return v_j = m_j w_j / (m_j + k), where m is the metric and k makes the norm of v the radius.

        Newton's method finds k, as in trust-region methods. The reciprocal norm is concave in k, so Newton's
        steps from 0 never overshoot.
        """
        if self.holds(w):
            return w
        finite = np.isfinite(metric)
        m = np.where(finite, metric, 1.0) / np.max(metric[finite])
        w, k = np.where(finite, w, 0.0), 0.0
        for _ in range(MOST_NEWTON_STEPS):
            v = m * w / (m + k)
            norm = math.hypot(*v)
            step = (norm / self.radius - 1.0) * norm**2 / float(np.sum(v * v / (m + k)))
            k += step
            if step <= 1e-14 * k:
                break
        v = m * w / (m + k)
        nearest: Vector = v * (RADIUS_SHARE * self.radius / math.hypot(*v))
        return nearest

    def scaled(self, factor: float) -> Ball:
        """Return the ball whose radius is so many times as large."""
        return Ball(self.radius * factor)
