"""How far one record can move a sum: the grid that makes sums exact, and the bounds that follow.

Floating-point addition is not associative, so adding one record can change the rounding of everybody
else's contributions and move a sum by more than the record's own share. Here each contribution is first
rounded to a multiple of a power of two so coarse that float64 adds up to `MAX_RECORDS` of them without
any further rounding. The sum is then the same number in every order, and the difference between two
neighbouring data sets is exactly one record's rounded contribution.
"""

import math

MAX_RECORDS = 2**32
GRID_BITS = 21  # 2**32 records times 2**21 grid steps = 2**53, the integers float64 holds exactly
MIN_CLIP, MAX_CLIP = 1e-100, 1e100
MAX_CANDIDATES = 64  # equal steps along a line; powers computed by repeated products stay accurate

# Clips for which the logistic ladder multiplies factors and takes few logarithms (see `loss_slack`).
MIN_PRODUCT_CLIP, MAX_PRODUCT_CLIP = 2.0**-5, 64.0


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


def gradient_bound(clip: float, n_weights: int) -> float:
    """Bound the L2 norm of one record's share of `gradient_sum(clip)`.

    The record's gradient is coef * (x, 1), scaled by clip / (|coef| * norm) if that is below one. In real
    arithmetic its norm is at most `clip`. In float64 the computed norm is a sum of n_weights rounded
    squares, off by a factor within 1 +- (n_weights/2 + 2) u with u = 2**-53; the quotient, the scaled
    coefficient and its product with each feature add a few u more. 2**-30 + n_weights * 2**-53 is larger
    than all of these together. Rounding to the grid then moves each coordinate by at most half a step,
    hence the vector by sqrt(n_weights) / 2 steps; as the sum of rounded contributions is exact, nothing
    else changes when a record is added or removed.
    """
    if clip == math.inf:
        return math.inf
    return clip * (1 + 2.0**-30 + n_weights * 2.0**-53) + math.sqrt(n_weights) * grid(clip) / 2


def loss_slack(clip: float) -> float:
    """Return tau: one more record moves every loss sum by a value in [-tau, clip + tau].

    Losses rounded to the grid are summed exactly, so tau is half a step, for every loss and clip. To this
    comes 2**-20 clip, so that the caller may round the total once more, say to add a public penalty
    no larger than the total: with u = 2**-53 and n = MAX_RECORDS that is u n clip, once per data set.

    The logistic ladder, for clips in [2**-5, 64], instead multiplies the factors f = min(1 + E, e**clip)
    of many records and takes the logarithm of the product. Each f is a float64 in [1, e**clip] that
    depends on its record alone, so how accurately E was computed does not matter, nor does the number of
    candidates. The computed sum differs from the exact sum of log f by at most
      2 u n             one rounding per factor, and at most one more per factor to merge products,
      4 u n clip        logarithms within two units in the last place (libm's are within one),
      2 u n clip        compensated summation of the logarithms and the rounding of the total,
      2 u n clip        partial sums rounded per partition of the records, and the caller's rounding,
    and log(e**clip as computed) exceeds clip by at most 4 u (1 + clip), which is nothing beside this. Two
    neighbouring data sets each carry that error, and 2 u n = 2**-20. The result is below 7e-5 of clip.
    """
    if clip == math.inf:
        return math.inf
    if MIN_PRODUCT_CLIP <= clip <= MAX_PRODUCT_CLIP:
        return 2.0**-20 * (2 + 8 * clip) * (1 + 2.0**-10)
    return grid(clip) / 2 + 2.0**-20 * clip
