"""The compiled loops over predictions: losses along a line. They do not read X.

Each loss gets loops of its own, compiled with its two functions. The result for a record depends on that
record alone.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from privfit.engine.exact.grids import FloatArray, odd
from privfit.engine.kernels.compiling import Function, compiled
from privfit.engine.kernels.limits import LARGEST_PREDICTION
from privfit.losses.arithmetic import compilable
from privfit.losses.loss import Loss

ROWS_SIDE_BY_SIDE = 64  # rows that a short loop processes, each in a lane of its own


class Loops(NamedTuple):
    """A loss's compiled loops; see the functions inside `loops`."""

    loss_sums: Callable[..., Any]
    rise_sums: Callable[..., Any]
    values: Callable[..., Any]
    derivatives: Callable[..., Any]


@compilable
def coefficient(slope: float, reciprocal: float, clip: float) -> float:
    """Return the factor of a row in a gradient: the clipped slope.

    `reciprocal` is 1 / norm. The slope is clipped to clip / norm, so that the product has at most the norm
    `clip`. If there is no clip and the norm has overflowed, this bound is NaN, and the slope is not clipped.
    """
    most = clip * reciprocal
    size = abs(slope)
    return odd(math.copysign(most if most < size else size, slope))


def compiled_for(loss: Loss) -> Callable[[Function], Function]:
    """Return a decorator that compiles a loop with a loss's functions, and keeps it on disk."""

    def compile_named(function: Function) -> Function:
        function.__name__ = f"{function.__name__}.{loss.name}"
        return compiled()(function)

    return compile_named


@functools.cache
def loops(loss: Loss) -> Loops:
    """Return the loops of a loss, compiled on first use."""
    value, derivative = loss.value, loss.derivative

    @compiled_for(loss)
    def loss_sums(
        predictions: FloatArray,
        slopes: FloatArray,
        targets: FloatArray,
        spacing: float,
        clip: float,
        magic: float,
        out: FloatArray,
    ) -> None:
        """Add the losses at predictions - k * spacing * slopes, clipped and rounded, to out[k]."""
        steps = spacing * np.arange(len(out))
        for i in range(len(predictions)):
            for k in range(len(out)):
                out[k] += (
                    min(value(predictions[i] - steps[k] * slopes[i], targets[i]), clip) + magic
                ) - magic

    @compiled_for(loss)
    def rise_sums(
        predictions: FloatArray,
        slopes: FloatArray,
        targets: FloatArray,
        spacing: float,
        slope_clip: float,
        bound: float,
        magic: float,
        out: FloatArray,
    ) -> None:
        """Add the losses at predictions - k * spacing * slopes, minus the smallest of them, to out[k].

        The slopes are clipped. The differences are clipped to [0, bound] and rounded to the grid.
        """
        count = len(out)
        values, sums = np.empty((count, ROWS_SIDE_BY_SIDE)), np.zeros((count, ROWS_SIDE_BY_SIDE))
        clipped, smallest = np.empty(ROWS_SIDE_BY_SIDE), np.empty(ROWS_SIDE_BY_SIDE)
        for start in range(0, len(predictions), ROWS_SIDE_BY_SIDE):
            p, t = predictions[start : start + ROWS_SIDE_BY_SIDE], targets[start : start + ROWS_SIDE_BY_SIDE]
            d = slopes[start : start + ROWS_SIDE_BY_SIDE]
            width = len(p)
            # separate short loops, because the compiler turns each of them into vector instructions
            for lane in range(width):
                clipped[lane] = min(max(d[lane], -slope_clip), slope_clip)
            for k in range(count):
                step = spacing * k
                for lane in range(width):
                    values[k, lane] = value(p[lane] - step * clipped[lane], t[lane])
            for lane in range(width):
                smallest[lane] = values[0, lane]
            for k in range(1, count):
                for lane in range(width):
                    smallest[lane] = min(smallest[lane], values[k, lane])
            for k in range(count):
                for lane in range(width):
                    rise = min(max(values[k, lane] - smallest[lane], 0.0), bound)
                    sums[k, lane] += (rise + magic) - magic
        for k in range(count):
            for lane in range(ROWS_SIDE_BY_SIDE):
                out[k] += sums[k, lane]

    @compiled_for(loss)
    def values(predictions: FloatArray, targets: FloatArray, out: FloatArray) -> None:
        """Write the loss of every record, which may have several predictions."""
        for i in range(len(out)):
            out[i] = value(predictions[i], targets[i])

    @compiled_for(loss)
    def derivatives(predictions: FloatArray, targets: FloatArray, out: FloatArray) -> None:
        """Write the derivative of every record's loss."""
        for i in range(len(out)):
            out[i] = derivative(predictions[i], targets[i])

    @compiled_for(loss)
    def derivatives_of_outputs(predictions: FloatArray, targets: FloatArray, out: FloatArray) -> None:
        """Write the derivatives of every record's loss with respect to its predictions."""
        for i in range(len(out)):
            derivative(predictions[i], targets[i], out[i])

    return Loops(loss_sums, rise_sums, values, derivatives if loss.outputs == 1 else derivatives_of_outputs)


@compiled()
def shift(predictions: FloatArray, slopes: FloatArray, step: float, out: FloatArray) -> None:
    """Write predictions - step * slopes, within +-LARGEST_PREDICTION."""
    for i in range(len(out)):
        out[i] = min(max(predictions[i] - step * slopes[i], -LARGEST_PREDICTION), LARGEST_PREDICTION)
