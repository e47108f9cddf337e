"""The compiled loops of sums of logistic losses along a line: products of factors, and few logarithms."""

import math

import numpy as np

from privfit.engine.exact.grids import FloatArray
from privfit.engine.kernels.compiling import compiled, inner
from privfit.losses.arithmetic import exp

ROWS_SIDE_BY_SIDE = 64  # rows that a short loop processes, each in a lane of its own
RUNGS = 7  # steps of the ladder that are computed in one visit of a row
LARGEST_EXPONENT = 600.0  # the largest size of an exponent for which products do not overflow
LOG_ROOM = 350.0  # two products of at most e**350 multiply without overflow


@inner()
def multiply_far(
    m: FloatArray,
    d: FloatArray,
    spacing: float,
    cap: float,
    E: FloatArray,
    ratio: FloatArray,
    products: FloatArray,
) -> None:
    """Compute the records whose powers could overflow without the ladder, by one exponential a step."""
    count = products.shape[0] - 1
    for lane in range(len(m)):
        if abs(m[lane]) + abs(count * spacing * d[lane]) > LARGEST_EXPONENT:
            for k in range(count + 1):
                products[k, lane] *= min(1.0 + exp((k * spacing) * d[lane] - m[lane]), cap)
            E[lane], ratio[lane] = 0.0, 1.0  # then the ladder multiplies by one at every step


@compiled()
def add_logarithms(products: FloatArray, out: FloatArray) -> None:
    """Add the logarithms of products to out[:, k] with Neumaier's compensation; reset products to 1."""
    for k in range(products.shape[0]):
        product = 1.0
        for lane in range(ROWS_SIDE_BY_SIDE + 1):
            if lane == ROWS_SIDE_BY_SIDE or product > math.exp(LOG_ROOM):
                term = math.log(product)
                total = out[0, k] + term
                if out[0, k] >= term:
                    out[1, k] += (out[0, k] - total) + term
                else:
                    out[1, k] += (term - total) + out[0, k]
                out[0, k] = total
                product = 1.0
            if lane < ROWS_SIDE_BY_SIDE:
                product *= products[k, lane]
                products[k, lane] = 1.0


@compiled()
def softplus_sums(
    predictions: FloatArray,
    slopes: FloatArray,
    targets: FloatArray,
    spacing: float,
    clip: float,
    out: FloatArray,
) -> None:
    """Add the clipped logistic losses at predictions - k * spacing * slopes to out[:, k]: sum and error.

    Two exponentials per record serve all k, because exp(-m + k h d) = exp(-m) * exp(h d)**k. The factors
    1 + E of many records are multiplied before a logarithm is taken; see `bounds.loss_slack`.
    """
    count = out.shape[1] - 1
    cap = exp(clip)
    rounds_left = rounds = int(LOG_ROOM / clip)
    products = np.ones((count + 1, ROWS_SIDE_BY_SIDE))
    m, d = np.empty(ROWS_SIDE_BY_SIDE), np.empty(ROWS_SIDE_BY_SIDE)
    E = np.empty(ROWS_SIDE_BY_SIDE)
    ratio = np.empty(ROWS_SIDE_BY_SIDE)
    for start in range(0, len(predictions), ROWS_SIDE_BY_SIDE):
        width = len(predictions[start : start + ROWS_SIDE_BY_SIDE])
        # separate short loops, because the compiler turns each of them into vector instructions
        for lane in range(width):  # the margins, and their decrease in each step
            m[lane] = targets[start + lane] * predictions[start + lane]
            d[lane] = targets[start + lane] * slopes[start + lane]
        for lane in range(width):
            E[lane] = exp(-m[lane])
        for lane in range(width):
            ratio[lane] = exp(spacing * d[lane])
        far = 0
        for lane in range(width):
            far += abs(m[lane]) + abs(count * spacing * d[lane]) > LARGEST_EXPONENT
        if far > 0:
            multiply_far(m[:width], d[:width], spacing, cap, E, ratio, products)
        k = 0
        # several steps for each visit of E, because memory limits the speed of the loop
        while k + RUNGS <= count + 1:
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
