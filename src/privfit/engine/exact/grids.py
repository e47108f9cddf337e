"""The grid that makes sums exact.

Floating-point addition is not associative. So adding one record can change the rounding of all other
contributions, and move a sum by more than the record's own share. Here each contribution is first rounded to
a multiple of a power of two. This power is so coarse that float64 adds up to `MAX_RECORDS` contributions
without further rounding. The sum is then the same in every order, and two neighbouring data sets differ by
exactly one record's rounded contribution.
"""

import math

import numpy as np
from numpy.typing import NDArray

from privfit.losses.arithmetic import compilable

FloatArray = NDArray[np.float64]

MAX_RECORDS = 2**32
GRID_BITS = 21  # 2**32 records times 2**21 grid steps = 2**53, the integers float64 holds exactly
SMALLEST_COEFFICIENT = 2.0**-1000  # a normal float64 that is small enough not to matter
MIN_CLIP, MAX_CLIP = 1e-100, 1e100
MIN_COLUMN_CLIP, MAX_COLUMN_CLIP = 1e-250, 1e250  # after division by a column's scale


def grid(clip: float) -> float:
    """Return the grid's step for values in [-clip, clip]: 2**(ceil(log2 clip) - 21)."""
    if not MIN_CLIP <= clip <= MAX_CLIP:
        raise ValueError(f"clip must be infinite or in [{MIN_CLIP}, {MAX_CLIP}], got {clip!r}")
    mantissa, exponent = math.frexp(clip)
    return math.ldexp(1.0, exponent - (mantissa == 0.5) - GRID_BITS)


def magic(clip: float) -> float:
    """Return M such that (v + M) - M is v rounded to the grid of `clip`; 0, no rounding, if it is infinite.

    Near M = 1.5 * 2**52 * step the spacing of float64 is one step, so the addition itself rounds, and the
    subtraction is exact. This holds for |v| < 2**51 steps; clipped values stay below 2**21 + 1.
    """
    return 0.0 if clip == math.inf else 1.5 * 2.0**52 * grid(clip)


def rounded_sum(values: FloatArray, clip: float) -> FloatArray:
    """Sum rows of values of size at most `clip`, each rounded to its grid: exact, in any order."""
    constant = magic(clip)
    total: FloatArray = np.sum((values + constant) - constant, axis=0)
    return total


@compilable
def odd(coefficient: float) -> float:
    """Set the last bit of a coefficient, or return 0 if it is tiny, so that its products are never ties.

    Then products need not be rounded one by one: added to a sum that began at M, in one operation with one
    rounding, a product v counts as the multiple of the step that is next to it. As the sum is a multiple,
    too, the rounded result is the sum plus that neighbour. Only if v lay half-way between two of them would
    the sum decide, because ties go to even results, and a record could move all later ties.

    It never does. A float64 of normal size c has 53 bits, so with the last one set it is an odd multiple of
    2**-52 of its leading bit, at most 2**-52 |c|. For x an odd multiple of s <= |x|, v = c x is an odd
    multiple of a power of two of at most 2**-52 |v|, which is below 2**-30 steps because |v| is below
    2**21 + 1 steps. Half-way points are odd multiples of half a step.

    Near M the spacing stays a step while the sum is within 2**51 steps of it, for 2**29 rows at least. A
    loop is given no more than that (`parallel.shares`).
    """
    bits = np.int64(np.float64(coefficient).view(np.int64) | 1)
    return bits.view(np.float64) if abs(coefficient) >= SMALLEST_COEFFICIENT else 0.0


def grids(clips: FloatArray) -> FloatArray:
    """Return the grid's step of every column, 0 where its clip is infinite."""
    finite = np.isfinite(clips)
    if not np.all((clips[finite] >= MIN_COLUMN_CLIP) & (clips[finite] <= MAX_COLUMN_CLIP)):
        raise ValueError(
            f"values of columns must be bounded by [{MIN_COLUMN_CLIP}, {MAX_COLUMN_CLIP}]; "
            "the clip, scale or center is too extreme"
        )
    mantissa, exponent = np.frexp(np.where(finite, clips, 1.0))
    steps = np.ldexp(1.0, exponent - (mantissa == 0.5) - GRID_BITS)
    return np.where(finite, steps, 0.0)


def magics(clips: FloatArray) -> FloatArray:
    """Return the `magic` of every column's clip."""
    return 1.5 * 2.0**52 * grids(clips)


def rounded_up(values: FloatArray) -> FloatArray:
    """Round non-negative values up to a grid on which all sums of some of them are exact; append the sum.

    With 2**e above twice their sum, the step is 2**(e - 50): rounded up, they sum to less than
    2**50 + len(values) <= 2**53 steps. Each value grows by less than a step, and none shrinks.
    """
    total = float(np.sum(values))
    if not 0.0 < total < math.inf:
        return np.append(values, total)
    step = math.ldexp(1.0, max(math.frexp(total)[1] - 49, -1074))
    rounded = np.maximum(np.ceil(values / step), values > 0.0) * step  # a tiny quotient may underflow
    return np.append(rounded, np.sum(rounded))
