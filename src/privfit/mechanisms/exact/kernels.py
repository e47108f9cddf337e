"""The samplers of `definition`, compiled, with only the first digits of numbers.

If the first digits of two numbers are equal, a loop cannot tell which number is smaller. If an interval holds
a rounding boundary, it cannot tell the nearest grid point. In both cases the loop stops before that sample,
and `definition` draws it from the same digits. That happens once in some 20,000 samples, so it costs no
noticeable time, and the loops need no numbers of several digits. Compiling takes about two seconds, once; the
machine code is cached on disk.

Digits are read modulo the size of the array. A sample that runs past the end has read some digits twice, so
it is left to `definition`, too. That is rare, because a loop starts no sample with fewer than `RESERVE`
digits left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from privfit.machine_code import keep_by_signature

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = NDArray[np.uint32]

NO_C_ENTRY: Any = {"no_cfunc_wrapper": True}  # nothing calls the loops from C

RESERVE = 256
GRID_BITS = 40  # a grid step is 2^-40 of the power of two above sigma
MOST_WHOLE = 14  # normal numbers beyond 14, one in 10^44, are left to `definition`

TAILS, HEADS, TIE = 0, 1, 2
_HALF = 1 << 31

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile a loop that lets other threads run."""
    compile_later: Callable[[Function], Any] = numba.njit(cache=True, nogil=True, **NO_C_ENTRY)
    decorated: Function = compile_later(function)
    keep_by_signature(decorated)
    return decorated


def inner(function: Function) -> Function:
    """Compile as a part of the loops that call it. Called from Python, it runs as Python."""
    declare: Callable[[Function], Any] = register_jitable(**NO_C_ENTRY)
    declared: Function = declare(function)
    return declared


@inner
def read(array: Words, at: int) -> int:
    """Return the digit at this place of the array, whose size is a power of two."""
    # one integer type, so that each function is compiled once
    return int(np.int64(array[at & (array.size - 1)]))


@inner
def exp_coin(array: Words, at: int, low: int, high: int) -> tuple[int, int]:
    """Toss exp_coin for a bound between low and high, in units of 2^-32.

    Returns the outcome and the position of the next digit.
    """
    verdict = HEADS
    while True:
        u = read(array, at)
        at += 1
        if u >= low:
            return (verdict if u >= high else TIE), at
        # from now on the bound is a uniform number of which the first digit is known
        low, high, verdict = u, u + 1, HEADS - verdict


@inner
def half_coins(array: Words, at: int, count: int) -> tuple[int, int]:
    """Toss exp_coin(1/2) up to `count` times, until one shows tails."""
    for _ in range(count):
        verdict, at = exp_coin(array, at, _HALF, _HALF)
        if verdict != HEADS:
            return verdict, at
    return HEADS, at


@inner
def exp_half_square_coin(array: Words, at: int, x: int) -> tuple[int, int]:
    """Toss exp_half_square_coin for a number whose first digit is x."""
    verdict, bound = HEADS, x
    while True:
        u = read(array, at)
        at += 1
        if u >= bound:
            return (TIE if u == bound else verdict), at
        if read(array, at) & 1:
            return verdict, at + 1
        v = read(array, at + 1)
        at += 2
        if v >= x:
            return (TIE if v == x else verdict), at
        bound, verdict = u, HEADS - verdict


@inner
def normal(array: Words, at: int) -> tuple[int, int, int]:
    """Return k, the first digit of x and the position of the next digit; k is -1 after a tie."""
    while True:
        k = 0
        verdict, at = exp_coin(array, at, _HALF, _HALF)
        while verdict == HEADS:
            k += 1
            verdict, at = exp_coin(array, at, _HALF, _HALF)
        if verdict == TAILS:
            verdict, at = half_coins(array, at, k * (k - 1))
        if verdict == HEADS:
            x = read(array, at)
            at += 1
            for _ in range(k):
                verdict, at = exp_coin(array, at, x, x + 1)
                if verdict != HEADS:
                    break
            if verdict == HEADS:
                verdict, at = exp_half_square_coin(array, at, x)
            if verdict == HEADS:
                return k, x, at
        if verdict == TIE:
            return -1, 0, at


@inner
def parts(bits: int, grid: int) -> tuple[bool, int, int]:
    """Split the float64 of these bits, in units of 2^grid, into a whole number and 16 bits below the point.

    Both are rounded down. The first result is True if the value is a whole number. As it may be too large for
    an int64, both parts are then 0.
    """
    field = (bits >> 52) & 0x7FF
    mantissa = bits & ((1 << 52) - 1)
    if field > 0:
        mantissa += 1 << 52
    else:
        field = 1
    if bits < 0:
        mantissa = -mantissa
    shift = grid - (field - 1075)  # the value is mantissa * 2^-shift grid steps
    if shift <= 0:
        return True, 0, 0
    if shift > 63:
        mantissa >>= min(shift - 63, 63)
        shift = 63
    whole = mantissa >> shift
    rest = mantissa - (whole << shift)
    return False, whole, rest >> (shift - 16) if shift > 16 else rest << (16 - shift)


@inner
def steps(mantissa: int, k: int, x: int, x_next: int) -> int:
    """Return a number B with B <= sigma * (k + x) < B + 2, in units of 2^-16 grid steps.

    sigma is `mantissa` * 2^-13 grid steps, 2^52 <= mantissa < 2^53, and x = 0.(x)(x_next)... in base 2^32.
    With mantissa * 2^3 = a 2^26 + b, a < 2^30, the product with the fraction is, in units of 2^-6,
    a x + b x 2^-26 + a x_next 2^-32, two of which are cut to whole numbers, plus b x_next 2^-58 < 1 and less
    than 1/4 for the digits that follow. So less than 4 units are lost, and 64 of them make 1.
    """
    scaled = mantissa << 3
    a, b = scaled >> 26, scaled & ((1 << 26) - 1)
    return k * scaled + ((a * x + ((b * x) >> 26) + ((a * x_next) >> 32)) >> 6)


@compiled
def add_normals(
    array: Words, at: int, values: Floats, out: Floats, done: int, mantissa: int, grid: int, step: float
) -> tuple[int, int]:
    """Add normal noise of standard deviation sigma to values[done:], on the grid of step = 2^grid.

    sigma is given as in `steps`. Returns how many values are done, and the position of the next digit.
    """
    while done < values.size and at + RESERVE <= array.size:
        k, x, end = normal(array, at)
        if k < 0 or k > MOST_WHOLE:
            break
        negative = read(array, end) & 1
        size = steps(mantissa, k, x, read(array, end + 1))
        end += 2
        exact, whole, fraction = parts(int(np.float64(values[done]).view(np.int64)), grid)
        # the sum in units of 2^-16 grid steps, with half a grid step more, is in [low, low + 3)
        low = fraction + (1 << 15) + (-size - 2 if negative else size)
        nearest = low >> 16
        if nearest != (low + 2) >> 16 or end > array.size:
            break
        # both terms are float64 numbers, so their exact sum is rounded once
        out[done] = (values[done] if exact else whole * step) + nearest * step
        done, at = done + 1, end
    return done, at


@compiled
def choose(array: Words, at: int, halves: Ints, low: Ints, high: Ints) -> tuple[int, int]:
    """Propose candidates until one is accepted; return it, or -1, and the position of the next digit."""
    size = halves.size
    limit = (1 << 32) - (1 << 32) % size
    while at + RESERVE <= array.size:
        end = at
        while True:
            digit = read(array, end)
            end += 1
            if digit < limit:
                break
        i = digit % size
        verdict, end = half_coins(array, end, halves[i])
        if verdict == HEADS:
            verdict, end = exp_coin(array, end, low[i], high[i])
        if verdict == TIE or end > array.size:
            break
        at = end
        if verdict == HEADS:
            return i, at
    return -1, at
