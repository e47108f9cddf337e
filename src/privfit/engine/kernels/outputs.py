"""The compiled loops of gradients with several outputs, which read each tile of rows once for all outputs.

A record's gradient is the outer product of its derivatives and its row, so the joint clip is one factor per
record. The result for a record is the same, bit for bit, as in the separate passes of `pointwise`, `dense`
and `combination.shrunk`.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from privfit.engine.exact.grids import FloatArray
from privfit.engine.kernels.compiling import inner
from privfit.engine.kernels.dense import Rows, begun, dense_combine, dense_predictions, finished
from privfit.engine.kernels.gradients import TILE_BYTES
from privfit.engine.kernels.lanes import LANES, add, alike, entries, fma, last_entries, read, total, write
from privfit.engine.kernels.limits import within_limits
from privfit.engine.kernels.pointwise import coefficient, compiled_for
from privfit.losses.arithmetic import compilable
from privfit.losses.loss import Loss


class OutputLoops(NamedTuple):
    """A loss's compiled loops; see the functions inside `output_loops`."""

    dense: Callable[..., Any]
    coefficients: Callable[..., Any]


@compilable
def shrink(values: FloatArray, most: float) -> None:
    """Shrink a record's values to a length of at most `most`, like `combination.shrunk`."""
    largest, squares = 0.0, 0.0
    for k in range(len(values)):
        largest = max(largest, abs(values[k]))
    for k in range(len(values)):
        part = values[k] / largest
        squares += part * part
    length = largest * math.sqrt(squares)
    if most < length:
        for k in range(len(values)):
            values[k] = (values[k] / length) * most


@inner()
def predictions_of_two(
    X: Rows,
    v: FloatArray,
    w: FloatArray,
    first: float,
    second: float,
    out: FloatArray,
    other: FloatArray,
) -> None:
    """Write the same as `dense_predictions` for two outputs; entries are read and widened once for both."""
    n, p = X.shape
    full, rest = p - p % LANES, p % LANES
    for i in range(0, n, 2):
        k = min(i + 1, n - 1)
        a = b = c = d = alike(0.0)
        for j in range(0, full, LANES):
            x, y, one, two = entries(X, i, j), entries(X, k, j), read(v, j), read(w, j)
            a, b = fma(x, one, a), fma(y, one, b)
            c, d = fma(x, two, c), fma(y, two, d)
        if rest > 0:
            x, y = last_entries(X, i, full, rest), last_entries(X, k, full, rest)
            one, two = read(v, full), read(w, full)
            a, b = fma(x, one, a), fma(y, one, b)
            c, d = fma(x, two, c), fma(y, two, d)
        out[i], out[k] = within_limits(total(a) + first), within_limits(total(b) + first)
        other[i], other[k] = within_limits(total(c) + second), within_limits(total(d) + second)


@inner()
def combine_two(X: Rows, c: FloatArray, d: FloatArray, sums: FloatArray, other: FloatArray) -> None:
    """Add the same as `dense_combine` to the sums of two outputs; entries are read once."""
    n, p = X.shape
    full, rest = p - p % LANES, p % LANES
    half = n // 2
    for i in range(half):
        k = i + half
        a, b, e, f = alike(c[i]), alike(c[k]), alike(d[i]), alike(d[k])
        for j in range(0, full, LANES):
            x, y = entries(X, i, j), entries(X, k, j)
            write(sums, j, fma(b, y, fma(a, x, read(sums, j))))
            write(other, j, fma(f, y, fma(e, x, read(other, j))))
        if rest > 0:
            x, y = last_entries(X, i, full, rest), last_entries(X, k, full, rest)
            write(sums, full, fma(b, y, fma(a, x, read(sums, full))))
            write(other, full, fma(f, y, fma(e, x, read(other, full))))
    if n > 2 * half:
        dense_combine(X[n - 1 :], c[n - 1 :], X[:0], sums)
        dense_combine(X[n - 1 :], d[n - 1 :], X[:0], other)
    lanes = len(sums) - LANES
    for i in range(0, 2 * half - 2 * half % LANES, LANES):
        write(sums, lanes, add(read(sums, lanes), read(c, i)))
        write(other, lanes, add(read(other, lanes), read(d, i)))
    for i in range(2 * half - 2 * half % LANES, 2 * half):
        sums[lanes] += c[i]
        other[lanes] += d[i]


@functools.cache
def output_loops(loss: Loss) -> OutputLoops:
    """Return the loops of a loss of several outputs, compiled on first use."""
    derivative, outputs = loss.derivative, loss.outputs

    # not compiled by itself: code on disk is not found again if it calls a compiled inner function
    @inner()
    def to_coefficients(
        predictions: FloatArray,
        targets: FloatArray,
        reciprocals: FloatArray,
        weights: FloatArray,
        clip: float,
    ) -> None:
        """Replace the predictions of the rows by clipped coefficients; each row has a column."""
        there, slopes = np.empty(outputs), np.empty(outputs)
        for i in range(predictions.shape[1]):
            for k in range(outputs):
                there[k] = predictions[k, i]
            derivative(there, targets[i], slopes)
            for k in range(outputs):
                slopes[k] *= weights[i]
            shrink(slopes, clip * reciprocals[i])
            for k in range(outputs):
                predictions[k, i] = coefficient(slopes[k], reciprocals[i], clip)

    @compiled_for(loss)
    def coefficients(
        predictions: FloatArray,
        targets: FloatArray,
        reciprocals: FloatArray,
        weights: FloatArray,
        clip: float,
    ) -> None:
        """Call `to_coefficients`, for callers that are not compiled."""
        to_coefficients(predictions, targets, reciprocals, weights, clip)

    @compiled_for(loss)
    def dense(
        X: Rows,
        targets: FloatArray,
        reciprocals: FloatArray,
        weights: FloatArray,
        w: FloatArray,
        offsets: FloatArray,
        clip: float,
        magics: FloatArray,
        out: FloatArray,
    ) -> None:
        """Add clipped coefficients times (row, 1) over the rows to `out`, a row of sums for each output."""
        n, p = X.shape
        height = max(16, TILE_BYTES // max(1, p * X.itemsize))
        tile = np.empty((outputs, min(n, height)))
        begins = begun(magics)
        sums = np.empty((outputs, len(begins)))
        for k in range(outputs):
            for j in range(len(begins)):
                sums[k, j] = begins[j]
        for start in range(0, n, height):
            stop = min(start + height, n)
            c = tile[:, : stop - start]
            for k in range(0, outputs - 1, 2):
                predictions_of_two(X[start:stop], w[k], w[k + 1], offsets[k], offsets[k + 1], c[k], c[k + 1])
            if outputs % 2 > 0:
                dense_predictions(X[start:stop], w[outputs - 1], offsets[outputs - 1], c[outputs - 1])
            to_coefficients(c, targets[start:stop], reciprocals[start:stop], weights[start:stop], clip)
            if outputs % 2 > 0:
                dense_combine(X[start:stop], c[outputs - 1], X[:0], sums[outputs - 1])
            for k in range(0, outputs - 1, 2):
                combine_two(X[start:stop], c[k], c[k + 1], sums[k], sums[k + 1])
        for k in range(outputs):
            finished(sums[k], magics, out[k])

    return OutputLoops(dense, coefficients)
