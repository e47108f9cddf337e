"""Weights of monotone columns, which may change a score in one direction only."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from privfit.penalties.box import Bound, Box


@dataclass(frozen=True)
class Monotone(Box):
    """All weights with the signs that are declared for their columns.

    Parameters
    ----------
    signs : tuple of int
        For each weight: 1 if it must not be negative, -1 if it must not be positive, 0 if it may be either.

    Examples
    --------
    >>> from privfit.penalties.monotone import Monotone
    >>> Monotone((1, -1, 0)).nearest(np.array([-1.0, 2.0, 3.0]), np.ones(3))
    array([0., 0., 3.])
    """

    low: Bound = field(init=False, repr=False)
    high: Bound = field(init=False, repr=False)
    signs: tuple[int, ...]

    def __post_init__(self) -> None:
        signs = np.asarray(self.signs)
        object.__setattr__(self, "low", np.where(signs > 0, 0.0, -np.inf))
        object.__setattr__(self, "high", np.where(signs < 0, 0.0, np.inf))
        super().__post_init__()

    @property
    def described(self) -> str:
        """The set in words."""
        return "the weights of monotone columns have the declared sign"

    def scaled(self, factor: float) -> Monotone:
        """Return the set itself, because signs have no unit."""
        return self
