"""Pointwise losses of the signed margin m = y * x.w: value, derivative and the constants proofs need.

The functions are plain Python and can also be called from numba-compiled code. They are built from
additions, multiplications and divisions only: a library exponential may be replaced by a vector version
in part of a loop, and then a record's loss would depend, in its last bit, on which row it sits in. The
privacy proof wants it to depend on the record alone.

To add a loss, write the two functions and register them; nothing else has to change.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., float])
Pointwise = Callable[[float], float]


_unknown_to_numba: list[Callable[..., float]] = []


def compilable(function: Function) -> Function:
    """Let numba-compiled code call `function`, which stays an ordinary Python function.

    numba is told at once if it is there, and otherwise when `intrinsics` brings it in: importing it takes a
    third of a second, which whoever only names a loss, or a solver, should not have to wait.
    """
    _unknown_to_numba.append(function)
    if "numba" in sys.modules:
        tell_numba()
    return function


def tell_numba() -> None:
    """Register all functions that were declared compilable before numba was there."""
    from numba.extending import register_jitable

    while _unknown_to_numba:
        # NumPy's error model and inlining: a check for a zero divisor, or a call, would keep loops from
        # being vectorised.
        register_jitable(error_model="numpy", forceinline=True)(_unknown_to_numba.pop())


def multiply_add(a: float, b: float, c: float) -> float:
    """Return a * b + c. Compiled, it is rounded once (`intrinsics`)."""
    return a * b + c


LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01  # the leading bits of ln 2: exact when multiplied by |n| < 2**11
LN2_LOW = 1.90821492927058770002e-10
TO_INTEGER = 1.5 * 2.0**52  # adding it rounds to an integer and leaves that integer in the low bits
T = tuple(1.0 / math.factorial(k) for k in range(14))


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
def log1p_unit(e: float) -> float:
    """log(1 + e) for 0 <= e <= 1, to a few units in the last place.

    It is 2 artanh(s) with s = e / (2 + e), whose series in s**2 <= 1/9 needs seventeen terms.
    """
    s = e / (2.0 + e)
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


@dataclass(frozen=True)
class Loss:
    """A convex, non-negative, non-increasing function of the signed margin.

    `lipschitz` bounds |derivative|; `smoothness` bounds the derivative's slope (inf where it jumps).
    """

    name: str
    value: Pointwise
    derivative: Pointwise
    lipschitz: float
    smoothness: float


@compilable
def logistic_value(m: float) -> float:
    """log(1 + exp(-m))."""
    return max(-m, 0.0) + log1p_unit(exp(-abs(m)))


@compilable
def logistic_derivative(m: float) -> float:
    """-1 / (1 + exp(m))."""
    e = exp(-abs(m))
    return -(e if m > 0.0 else 1.0) / (1.0 + e)


@compilable
def hinge_value(m: float) -> float:
    """max(1 - m, 0)."""
    return max(1.0 - m, 0.0)


@compilable
def hinge_derivative(m: float) -> float:
    """-1 below the kink at 1, and 0 from there on."""
    return -1.0 if m < 1.0 else 0.0


H = 0.5  # half-width of the parabola that rounds the kink


@compilable
def smoothed_hinge_value(m: float) -> float:
    """0 above 1+H, 1-m below 1-H, and (1+H-m)^2 / 4H in between."""
    t = min(max(1.0 + H - m, 0.0), 2.0 * H)
    return t * t / (4.0 * H) + max(1.0 - H - m, 0.0)


@compilable
def smoothed_hinge_derivative(m: float) -> float:
    """0 above 1+H, -1 below 1-H, and linear in between."""
    return -min(max(1.0 + H - m, 0.0), 2.0 * H) / (2.0 * H)


LOGISTIC = Loss("logistic", logistic_value, logistic_derivative, lipschitz=1.0, smoothness=0.25)
HINGE = Loss("hinge", hinge_value, hinge_derivative, lipschitz=1.0, smoothness=math.inf)
SMOOTHED_HINGE = Loss(
    "smoothed_hinge", smoothed_hinge_value, smoothed_hinge_derivative, lipschitz=1.0, smoothness=1 / (2 * H)
)
LOSSES: dict[str, Loss] = {loss.name: loss for loss in (LOGISTIC, HINGE, SMOOTHED_HINGE)}


def get_loss(name: str) -> Loss:
    """Return the registered loss called `name`."""
    if name not in LOSSES:
        raise ValueError(f"unknown loss {name!r}; known losses: {', '.join(sorted(LOSSES))}")
    return LOSSES[name]
