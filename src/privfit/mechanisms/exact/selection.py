"""The exponential mechanism, by rejection (N3)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privfit.mechanisms.exact.definition import accepts, uniform_index
from privfit.mechanisms.exact.digits import BASE, MOST_DIGITS, Digits
from privfit.mechanisms.exact.kernels import RESERVE, choose

Vector = NDArray[np.float64]
Ints = NDArray[np.int64]

# coins for a candidate; in the improbable case that it passes all, `definition` decides
_MOST_HALVES = 2.0**20


def exponential_mechanism(scores: Vector, scale: float, digits: Digits | None = None) -> int:
    """Return i with probability proportional to exp(scores[i] / scale).

    The largest score after Gumbel noise of this scale has the same distribution. The number of candidates
    that are proposed before one is accepted depends on the scores, and so does the time that this takes.
    """
    best = scores.max()
    halves, low, high = _bounds(scores, best, scale)
    with digits or Digits(min(8 * scores.size + 2 * RESERVE, MOST_DIGITS)) as digits:
        while True:
            i, digits.position = choose(digits.array, digits.position, halves, low, high)
            if i >= 0:
                return int(i)
            if digits.left < RESERVE:
                digits.refill()
                continue
            i = uniform_index(digits, scores.size)
            gamma = (Fraction(best) - Fraction(scores[i])) / Fraction(scale)
            if accepts(digits, gamma, int(halves[i])):
                return i


def _bounds(scores: Vector, best: float, scale: float) -> tuple[Ints, Ints, Ints]:
    """Return for every gamma = (best - score) / scale a number of halves, and bounds on the remainder.

    The bounds are in units of 2^-32 and enclose gamma - halves / 2, which is in [0, 1]. Difference and
    quotient each have a relative rounding error of at most 2^-53, so gamma is within 2^-51 of the quotient,
    relative to it. (If the quotient underflows, gamma is within 2^-1074; `high` is a whole unit larger.) The
    subtraction after that is exact, because a difference of two float64 numbers that is smaller than both is
    a float64 number.
    """
    with np.errstate(over="ignore", under="ignore"):
        gamma = (best - scores) / scale
        near, far = gamma * (1.0 - 2.0**-50), gamma * (1.0 + 2.0**-50)
        halves = np.minimum(np.floor(2.0 * near), _MOST_HALVES)
    low = np.floor(np.minimum(near - halves / 2.0, 1.0) * BASE)
    high = np.floor(np.minimum(far - halves / 2.0, 1.0) * BASE) + 1.0
    low[halves == _MOST_HALVES] = 0.0  # then the loop leaves the last coin to `definition`
    return halves.astype(np.int64), low.astype(np.int64), high.astype(np.int64)
