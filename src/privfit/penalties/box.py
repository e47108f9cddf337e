"""Weights that each lie between public bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privfit.penalties.convex_set import ConvexSet
from privfit.penalties.penalty import Vector

Bound = float | Sequence[float]


@dataclass(frozen=True)
class Box(ConvexSet):
    """All weights with low <= w_j <= high.

    Parameters
    ----------
    low, high : float or sequence of float
        The bounds, in the units of `coef_`: one for all columns, or one for each. Infinity means no bound.

    Examples
    --------
    >>> from privfit.penalties import Box
    >>> Box(-1.0, [0.5, np.inf]).nearest(np.array([2.0, 2.0]), np.ones(2))
    array([0.5, 2. ])
    """

    low: Bound = -np.inf
    high: Bound = np.inf

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            bound = _numbers(getattr(self, name))
            if bound is None:
                raise ValueError(
                    f"{name} of a {type(self).__name__} must be a number, or one number for each column."
                )
            object.__setattr__(self, name, bound)
        low, high = np.asarray(self.low), np.asarray(self.high)
        if low.ndim and high.ndim and low.shape != high.shape:
            raise ValueError(f"low and high of a {type(self).__name__} must have one number for each column.")
        if not (np.all(low <= high) and np.all(low < np.inf) and np.all(high > -np.inf)):
            raise ValueError(f"A {type(self).__name__} needs low <= high for every column.")

    @property
    def is_cone(self) -> bool:  # type: ignore[override]  # a constant of other sets
        """Whether every bound is 0 or infinite."""
        return bool(np.all(np.isin(np.hstack([self.low, self.high]), (0.0, -np.inf, np.inf))))

    @property
    def described(self) -> str:
        """The set in words."""
        if isinstance(self.low, float) and isinstance(self.high, float):
            return f"every weight lies between {self.low:g} and {self.high:g}"
        return "every weight lies between the bounds declared for its column"

    def holds(self, w: Vector) -> bool:
        """Return whether every weight lies between its bounds."""
        return bool(np.all((w >= self.low) & (w <= self.high)))

    def nearest(self, w: Vector, metric: Vector) -> Vector:
        """Return the weights clipped to their bounds, which is the nearest point in any metric."""
        return w if self.holds(w) else np.clip(w, self.low, self.high)

    def scaled(self, factor: float) -> Box:
        """Return the box with all bounds multiplied by this factor."""
        low, high = (factor * np.asarray(bound) for bound in (self.low, self.high))
        return Box(low.tolist(), high.tolist())

    def check(self, n_columns: int) -> None:
        """Raise ValueError unless there is one bound, or one for each column."""
        for bound in (self.low, self.high):
            if isinstance(bound, tuple) and len(bound) != n_columns:
                raise ValueError(
                    f"The constraint has bounds for {len(bound)} columns, and the model has {n_columns} "
                    "weights; give one number for each, or one for all."
                )


def _numbers(bound: Bound) -> float | tuple[float, ...] | None:
    """Return a bound as a number or a tuple of numbers without NaN, or None if that is not possible."""
    try:
        numbers = np.asarray(bound, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    if numbers.ndim > 1 or np.isnan(numbers).any():
        return None
    return tuple(numbers.tolist()) if numbers.ndim else float(numbers)
