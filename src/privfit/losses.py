"""Pointwise losses of the signed margin m = y * x.w: value, derivative and the constants proofs need.

The functions are plain Python and can also be called from numba-compiled code. They are built from
additions, multiplications and divisions only: a library exponential may be replaced by a vector version
in part of a loop, and then a record's loss would depend, in its last bit, on which row it sits in. The
privacy proof wants it to depend on the record alone.

To add a loss, write the two functions and register them; nothing else has to change.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numba.extending import register_jitable

Function = TypeVar("Function", bound=Callable[..., float])
Pointwise = Callable[[float], float]


def compilable(function: Function) -> Function:
    """Let numba-compiled code call `function`, which stays an ordinary Python function."""
    # NumPy's error model: the check for a zero divisor would keep loops from being vectorised.
    registered: Function = register_jitable(error_model="numpy")(function)
    return registered


LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01  # the leading bits of ln 2: exact when multiplied by |n| < 2**11
LN2_LOW = 1.90821492927058770002e-10
TAYLOR = tuple(1.0 / math.factorial(k) for k in range(14))


@compilable
def exp(x: float) -> float:
    """Exponential to about one unit in the last place, with x clamped to [-708, 709] so it stays normal."""
    x = min(max(x, -708.0), 709.0)
    n = math.floor(x * LOG2_E + 0.5)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    series = TAYLOR[13]
    series = series * r + TAYLOR[12]
    series = series * r + TAYLOR[11]
    series = series * r + TAYLOR[10]
    series = series * r + TAYLOR[9]
    series = series * r + TAYLOR[8]
    series = series * r + TAYLOR[7]
    series = series * r + TAYLOR[6]
    series = series * r + TAYLOR[5]
    series = series * r + TAYLOR[4]
    series = series * r + TAYLOR[3]
    series = series * r + TAYLOR[2]
    series = series * r + 1.0
    series = series * r + 1.0
    # 2**n, by writing its exponent field.
    return series * np.int64((np.int64(n) + 1023) << 52).view(np.float64)


@compilable
def log1p_unit(e: float) -> float:
    """log(1 + e) for 0 <= e <= 1, as 2 artanh(e / (2 + e)): the series in s**2 <= 1/9 needs 17 terms."""
    s = e / (2.0 + e)
    t = s * s
    series = 1 / 33
    series = series * t + 1 / 31
    series = series * t + 1 / 29
    series = series * t + 1 / 27
    series = series * t + 1 / 25
    series = series * t + 1 / 23
    series = series * t + 1 / 21
    series = series * t + 1 / 19
    series = series * t + 1 / 17
    series = series * t + 1 / 15
    series = series * t + 1 / 13
    series = series * t + 1 / 11
    series = series * t + 1 / 9
    series = series * t + 1 / 7
    series = series * t + 1 / 5
    series = series * t + 1 / 3
    series = series * t + 1.0
    return 2.0 * s * series


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
