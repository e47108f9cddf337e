"""Add Gaussian noise to values, and round each sum once to a grid (N2)."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privfit.mechanisms.exact.definition import rounded_normal
from privfit.mechanisms.exact.digits import Digits
from privfit.mechanisms.exact.kernels import GRID_BITS, RESERVE, add_normals

Vector = NDArray[np.float64]

DIGITS_A_SAMPLE = 20  # 18 on average
# Scales between these powers of two leave room for every product in float64, whatever the values.
_LEAST_EXPONENT, _MOST_EXPONENT = -900, 900


def add_gaussian(values: Vector, sigma: float, digits: Digits | None = None) -> Vector:
    """Return values + N(0, sigma^2), each sum rounded to the nearest point of a grid and to a float64.

    The grid's step is 2^-40 of the power of two above sigma. Sums beyond the largest float64 become that.
    """
    flat = np.ascontiguousarray(values, dtype=np.float64).ravel()
    out = np.empty_like(flat)
    fraction, exponent = math.frexp(sigma)
    mantissa, grid = int(math.ldexp(fraction, 53)), exponent - GRID_BITS
    fast = _LEAST_EXPONENT <= exponent <= _MOST_EXPONENT
    done = 0
    with digits or Digits(DIGITS_A_SAMPLE * flat.size + 2 * RESERVE) as digits:
        while done < flat.size:
            if fast:
                done, digits.position = add_normals(
                    digits.array, digits.position, flat, out, done, mantissa, grid, 2.0**grid
                )
            if fast and digits.left < RESERVE:
                digits.refill()
            elif done < flat.size:
                out[done] = _noisy_value(Fraction(flat[done]), Fraction(sigma), Fraction(2) ** grid, digits)
                done += 1
    return out.reshape(values.shape)


def _noisy_value(value: Fraction, sigma: Fraction, step: Fraction, digits: Digits) -> float:
    """Do for one value what the compiled loop does, for any digits."""
    return _nearest_float(step * rounded_normal(digits, value / step, sigma / step))


def _nearest_float(number: Fraction) -> float:
    """Return the nearest float64, the largest one for numbers beyond it."""
    try:
        return number.numerator / number.denominator
    except OverflowError:
        return sys.float_info.max if number > 0 else -sys.float_info.max
