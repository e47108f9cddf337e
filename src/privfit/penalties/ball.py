"""Weights whose Euclidean norm is bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privfit.penalties.convex_set import ConvexSet
from privfit.penalties.penalty import Vector

SIZES = 1e-60, 1e60  # of radii
SHY = 1.0 - 2.0**-40  # how much of the radius a projected point uses, so that every way to add up holds it
MOST_ITERATIONS = 100  # Newton's steps to the root; about ten are taken


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
        if not (isinstance(self.radius, int | float) and SIZES[0] <= self.radius <= SIZES[1]):
            raise ValueError(
                f"The radius of a Ball must be a number between {SIZES[0]:g} and {SIZES[1]:g}, "
                f"got {self.radius!r}."
            )

    @property
    def described(self) -> str:
        """The set in words."""
        return f"the norm of the weights is at most {self.radius:g}"

    def holds(self, w: Vector) -> bool:
        """Tell whether the norm is at most the radius."""
        return math.hypot(*w) <= self.radius

    def nearest(self, w: Vector, metric: Vector) -> Vector:
        """Return v_j = m_j w_j / (m_j + k), the metric being m, with the k for which v has the radius's norm.

        Newton's method finds k as in trust-region methods: the reciprocal norm is concave in k, so that the
        steps from 0 never overshoot.
        """
        if self.holds(w):
            return w
        finite = np.isfinite(metric)
        m = np.where(finite, metric, 1.0) / np.max(metric[finite])
        w, k = np.where(finite, w, 0.0), 0.0
        for _ in range(MOST_ITERATIONS):
            v = m * w / (m + k)
            norm = math.hypot(*v)
            step = (norm / self.radius - 1.0) * norm**2 / float(np.sum(v * v / (m + k)))
            k += step
            if step <= 1e-14 * k:
                break
        v = m * w / (m + k)
        nearest: Vector = v * (SHY * self.radius / math.hypot(*v))
        return nearest

    def scaled(self, factor: float) -> Ball:
        """Return the ball whose radius is so many times as large."""
        return Ball(self.radius * factor)
