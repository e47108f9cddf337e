"""Exponential and logarithm for compiled loops, made of additions, multiplications and divisions only.

A compiler may replace a library's exponential by a vector version in a part of a loop. The last bit of a
record's loss would then depend on the number of its row. The privacy proof requires that it depends on the
record alone.
"""

import math
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., float | None])

NO_C_ENTRY = {"no_cfunc_wrapper": True}  # no entry point for C programs, which saves time to compile

_unknown_to_numba: list[Callable[..., float | None]] = []


def compilable(function: Function) -> Function:
    """Let numba-compiled code call `function`, which stays an ordinary Python function.

    If numba is imported already, the function is registered at once, and otherwise when the engine's kernels
    import numba. Importing numba takes a third of a second, and losses can be used without it.
    """
    _unknown_to_numba.append(function)
    if "numba" in sys.modules:
        tell_numba()
    return function


def tell_numba() -> None:
    """Register all functions that were declared compilable before numba was imported."""
    from numba.extending import register_jitable

    while _unknown_to_numba:
        # NumPy's error model and inlining, because a check for a zero divisor, or a call, would prevent
        # loops from being vectorised
        options: Any = {"error_model": "numpy", "forceinline": True} | NO_C_ENTRY
        register_jitable(**options)(_unknown_to_numba.pop())


def multiply_add(a: float, b: float, c: float) -> float:
    """Return a * b + c. Compiled, it is rounded once (`engine.kernels.fused`)."""
    return a * b + c


LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01  # the leading bits of ln 2: exact when multiplied by |n| < 2**11
LN2_LOW = 1.90821492927058770002e-10
TO_INTEGER = 1.5 * 2.0**52  # adding it rounds to an integer and leaves that integer in the low bits
THREE_QUARTERS = int(np.float64(0.75).view(np.int64))
T = tuple(1.0 / math.factorial(k) for k in range(14))  # coefficients of the series of the exponential


@compilable
def exp(x: float) -> float:
    """Exponential within two units in the last place, with x clamped to [-708, 709] so it stays normal.

    exp(x) = 2**n * exp(r) with |r| <= ln(2) / 2, where thirteen terms of the series are enough.
    """
    x = min(max(x, -708.0), 709.0)
    shifted = multiply_add(x, LOG2_E, TO_INTEGER)
    n = shifted - TO_INTEGER
    r = multiply_add(-n, LN2_LOW, multiply_add(-n, LN2_HIGH, x))
    r2 = r * r
    r4 = r2 * r2
    first = multiply_add(r2, multiply_add(r, T[3], T[2]), 1.0 + r)
    second = multiply_add(r2, multiply_add(r, T[7], T[6]), multiply_add(r, T[5], T[4]))
    third = multiply_add(r2, multiply_add(r, T[11], T[10]), multiply_add(r, T[9], T[8]))
    third = multiply_add(r4, multiply_add(r, T[13], T[12]), third)
    series = multiply_add(r4, multiply_add(r4, third, second), first)
    power = np.int64((np.float64(shifted).view(np.int64) + 1023) << 52).view(np.float64)  # 2**n
    return series * power


@compilable
def two_artanh(s: float) -> float:
    """2 artanh(s) for |s| <= 1/3, whose series in s**2 <= 1/9 needs seventeen terms."""
    t = s * s
    t2 = t * t
    t4 = t2 * t2
    t8 = t4 * t4
    first = ((1.0 + t * (1 / 3)) + t2 * (1 / 5 + t * (1 / 7))) + t4 * (
        (1 / 9 + t * (1 / 11)) + t2 * (1 / 13 + t * (1 / 15))
    )
    second = ((1 / 17 + t * (1 / 19)) + t2 * (1 / 21 + t * (1 / 23))) + t4 * (
        (1 / 25 + t * (1 / 27)) + t2 * (1 / 29 + t * (1 / 31))
    )
    return 2.0 * s * (first + t8 * (second + t8 * (1 / 33)))


@compilable
def log1p_unit(e: float) -> float:
    """log(1 + e) for 0 <= e <= 1, to a few units in the last place.

    It is 2 artanh(s) with s = e / (2 + e).
    """
    return two_artanh(e / (2.0 + e))


@compilable
def log(x: float) -> float:
    """Logarithm of a positive normal number, to a few units in the last place.

    With x = 2**n * m and m between 3/4 and 3/2, it is n ln(2) + 2 artanh(s) with s = (m - 1) / (m + 1).
    """
    bits = np.float64(x).view(np.int64)
    n = (bits - THREE_QUARTERS) >> 52
    m = np.int64(bits - (n << 52)).view(np.float64)
    return n * LN2_HIGH + (two_artanh((m - 1.0) / (m + 1.0)) + n * LN2_LOW)
