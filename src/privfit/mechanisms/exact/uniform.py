"""Poisson samples with exact probabilities (N4), and the radial distribution in floating point."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privfit.mechanisms.exact.definition import Uniform
from privfit.mechanisms.exact.digits import BASE, MOST_DIGITS, Digits
from privfit.mechanisms.exact.gaussian import add_gaussian

Vector = NDArray[np.float64]


def poisson_rows(n_rows: int, probability: float, digits: Digits | None = None) -> NDArray[np.intp]:
    """Return a subset of rows, each in it independently with exactly this probability."""
    whole, rest = divmod(Fraction(probability) * BASE, 1)
    rows = []
    with digits or Digits(n_rows) as digits:
        for start in range(0, n_rows, MOST_DIGITS):
            coins = digits.take(min(MOST_DIGITS, n_rows - start))
            inside = coins < whole
            for tie in np.flatnonzero(coins == whole):
                inside[tie] = rest > 0 and Uniform(digits).below(rest)
            rows.append(start + np.flatnonzero(inside))
    return np.concatenate([np.empty(0, dtype=np.intp), *rows])


def radial(size: int, scale: float) -> Vector:
    """Return a uniform direction times a length of density proportional to r^(size - 1) exp(-r / scale).

    The length is a sum of `size` exponential numbers. It is computed in floating point.
    """
    direction = np.zeros(size)
    while size and not direction.any():
        direction = add_gaussian(direction, 1.0)
    with Digits(2 * size) as digits:
        high, low = digits.take(2 * size).reshape(2, size).astype(np.float64)
    uniforms = (high + (low + 0.5) / BASE) / BASE
    length = scale * -np.log(uniforms).sum()
    vector: Vector = direction * (length / np.linalg.norm(direction)) if size else direction
    return vector
