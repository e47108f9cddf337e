"""The compiled loops over margins: losses along a line. X is not touched.

Each loss gets loops of its own, compiled around its two functions. What a loop computes for a record
depends on that record alone.
"""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from privfit.engine.base import FloatArray
from privfit.engine.compiling import Function, compiled
from privfit.engine.kernels import LARGEST
from privfit.engine.rounding import odd
from privfit.losses import Loss, compilable, exp

ABREAST = 64  # records side by side
RUNGS = 7  # steps of a ladder that are climbed at a time
REACH = 600.0  # exponents up to here, positive or negative, leave room for products
LOG_ROOM = 350.0  # two products of at most e**350 multiply without overflow


class Loops(NamedTuple):
    """A loss's compiled loops; see the functions inside `loops`."""

    loss_sums: Callable[[FloatArray, FloatArray, float, float, float, FloatArray], None]
    rise_sums: Callable[[FloatArray, FloatArray, float, float, float, float, FloatArray], None]


@compilable
def coefficient(slope: float, pull: float, clip: float) -> float:
    """Return what a row is multiplied by in a gradient: its slope, with the sign of its label.

    `pull` is label / norm. The slope is no larger than clip / norm, so that the product has norm `clip` at
    most. Without a clip, and if the norm has overflowed too, that bound is not a number and there is none.
    """
    most = clip * abs(pull)
    size = abs(slope)
    return odd(math.copysign(most if most < size else size, slope) * math.copysign(1.0, pull))


@functools.cache
def loops(loss: Loss) -> Loops:
    """Return the loops of a loss, compiled on first use."""
    value = loss.value

    @compiled_for(loss)
    def loss_sums(
        m: FloatArray, d: FloatArray, spacing: float, clip: float, magic: float, out: FloatArray
    ) -> None:
        """Add the losses at margins m - k * spacing * d, clipped and rounded to the grid, to out[k]."""
        steps = spacing * np.arange(len(out))
        for i in range(len(m)):
            for k in range(len(out)):
                out[k] += (min(value(m[i] - steps[k] * d[i]), clip) + magic) - magic

    @compiled_for(loss)
    def rise_sums(
        m: FloatArray,
        d: FloatArray,
        spacing: float,
        slope_clip: float,
        bound: float,
        magic: float,
        out: FloatArray,
    ) -> None:
        """Add the losses at margins m - k * spacing * d, less the smallest of them, to out[k].

        The slopes d are clipped, and the rises kept within [0, bound] and rounded to the grid.
        """
        count = len(out)
        values, sums = np.empty((count, ABREAST)), np.zeros((count, ABREAST))
        slopes, smallest = np.empty(ABREAST), np.empty(ABREAST)
        for start in range(0, len(m), ABREAST):
            m_lanes, d_lanes = m[start : start + ABREAST], d[start : start + ABREAST]
            width = len(m_lanes)
            # Separate short loops, because each of them becomes vector instructions.
            for lane in range(width):
                slopes[lane] = min(max(d_lanes[lane], -slope_clip), slope_clip)
            for k in range(count):
                step = spacing * k
                for lane in range(width):
                    values[k, lane] = value(m_lanes[lane] - step * slopes[lane])
            # Losses do not increase with the margin, so the smallest is at an end.
            for lane in range(width):
                smallest[lane] = min(values[0, lane], values[count - 1, lane])
            for k in range(count):
                for lane in range(width):
                    rise = min(max(values[k, lane] - smallest[lane], 0.0), bound)
                    sums[k, lane] += (rise + magic) - magic
        for k in range(count):
            for lane in range(ABREAST):
                out[k] += sums[k, lane]

    return Loops(loss_sums, rise_sums)


def compiled_for(loss: Loss) -> Callable[[Function], Function]:
    """Compile a loop around a loss's functions, and keep it on disk under a name of its own."""

    def compile_named(function: Function) -> Function:
        function.__name__ = f"{function.__name__}.{loss.name}"
        return compiled(loss.value.__code__.co_filename)(function)

    return compile_named


@compiled()
def shift(m: FloatArray, d: FloatArray, step: float, out: FloatArray) -> None:
    """Write the margins m - step * d, within +-LARGEST."""
    for i in range(len(out)):
        out[i] = min(max(m[i] - step * d[i], -LARGEST), LARGEST)


@compiled()
def logistic_sums(
    m: FloatArray, d: FloatArray, spacing: float, clip: float, chunk_size: int, out: FloatArray
) -> None:
    """Add the clipped logistic losses at margins m - k * spacing * d to a pair for each chunk and k.

    The pairs out[chunk, :, k] hold a sum and its error.
    """
    for chunk in range(len(out)):
        rows = slice(chunk * chunk_size, (chunk + 1) * chunk_size)
        chunk_sums(m[rows], d[rows], spacing, clip, out[chunk])


@compiled()
def chunk_sums(m: FloatArray, d: FloatArray, spacing: float, clip: float, out: FloatArray) -> None:
    """Do this for one chunk.

    Two exponentials per record serve all k, for exp(-m + k h d) = exp(-m) * exp(h d)**k. The factors
    1 + E of many records are multiplied before a logarithm is taken; see `rounding.loss_slack`.
    """
    count = out.shape[1] - 1
    cap = exp(clip)
    rounds_left = rounds = int(LOG_ROOM / clip)
    products = np.ones((count + 1, ABREAST))
    E = np.empty(ABREAST)
    ratio = np.empty(ABREAST)
    for start in range(0, len(m), ABREAST):
        m_lanes, d_lanes = m[start : start + ABREAST], d[start : start + ABREAST]
        width = len(m_lanes)
        # Separate short loops, because each of them becomes vector instructions.
        for lane in range(width):
            E[lane] = exp(-m_lanes[lane])
        for lane in range(width):
            ratio[lane] = exp(spacing * d_lanes[lane])
        far = 0
        for lane in range(width):
            far += abs(m_lanes[lane]) + abs(count * spacing * d_lanes[lane]) > REACH
        if far > 0:
            multiply_far(m_lanes, d_lanes, spacing, cap, E, ratio, products)
        k = 0
        while k + RUNGS <= count + 1:  # several rungs for each visit to E, because the loop waits for memory
            for lane in range(width):
                power, r = E[lane], ratio[lane]
                for rung in range(RUNGS):
                    products[k + rung, lane] *= min(1.0 + power, cap)
                    power *= r
                E[lane] = power
            k += RUNGS
        while k <= count:
            for lane in range(width):
                products[k, lane] *= min(1.0 + E[lane], cap)
                E[lane] *= ratio[lane]
            k += 1
        rounds_left -= 1
        if rounds_left == 0:
            add_logarithms(products, out)
            rounds_left = rounds
    add_logarithms(products, out)


@compiled()
def multiply_far(
    m: FloatArray,
    d: FloatArray,
    spacing: float,
    cap: float,
    E: FloatArray,
    ratio: FloatArray,
    products: FloatArray,
) -> None:
    """Take the records whose powers could overflow out of the ladder, with an exponential per step."""
    count = products.shape[0] - 1
    for lane in range(len(m)):
        if abs(m[lane]) + abs(count * spacing * d[lane]) > REACH:
            for k in range(count + 1):
                products[k, lane] *= min(1.0 + exp((k * spacing) * d[lane] - m[lane]), cap)
            E[lane], ratio[lane] = 0.0, 1.0  # a factor of one at every step


@compiled()
def add_logarithms(products: FloatArray, out: FloatArray) -> None:
    """Add the logarithm of each row's product to out[:, k] with Neumaier's compensation; reset to one."""
    for k in range(products.shape[0]):
        product = 1.0
        for lane in range(ABREAST + 1):
            if lane == ABREAST or product > math.exp(LOG_ROOM):
                term = math.log(product)
                total = out[0, k] + term
                if out[0, k] >= term:
                    out[1, k] += (out[0, k] - total) + term
                else:
                    out[1, k] += (term - total) + out[0, k]
                out[0, k] = total
                product = 1.0
            if lane < ABREAST:
                product *= products[k, lane]
                products[k, lane] = 1.0
