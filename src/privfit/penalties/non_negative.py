"""Weights that are not negative."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from privfit.penalties.box import Bound, Box


@dataclass(frozen=True)
class NonNegative(Box):
    """All weights with w_j >= 0: no column lowers a score.

    Examples
    --------
    >>> from privfit.penalties import NonNegative
    >>> NonNegative().nearest(np.array([-1.0, 2.0]), np.ones(2))
    array([0., 2.])
    """

    low: Bound = field(default=0.0, init=False, repr=False)
    high: Bound = field(default=np.inf, init=False, repr=False)

    @property
    def described(self) -> str:
        """The set in words."""
        return "no weight is negative"
