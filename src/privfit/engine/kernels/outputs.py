"""The compiled loops of gradients with several outputs: one visit of each tile of rows for all of them.

A record's gradient is the outer product of its derivatives and its row, so the joint clip is one factor per
record. What is computed for a record is what `pointwise`, `dense` and `combination.shrunk` compute for it in
separate passes, bit for bit.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from privfit.engine.exact.grids import FloatArray
from privfit.engine.kernels.dense import Rows, begun, dense_combine, dense_predictions, finished
from privfit.engine.kernels.gradients import TILE_BYTES
from privfit.engine.kernels.pointwise import coefficient, compiled_for
from privfit.losses.arithmetic import compilable
from privfit.losses.loss import Loss


class OutputLoops(NamedTuple):
    """A loss's compiled loops; see the functions inside `output_loops`."""

    dense: Callable[..., Any]
    coefficients: Callable[..., Any]


@compilable
def shrink(values: FloatArray, most: float) -> None:
    """Shrink a record's values to a length of at most `most`, as `combination.shrunk` does."""
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


@functools.cache
def output_loops(loss: Loss) -> OutputLoops:
    """Return the loops of a loss of several outputs, compiled on first use."""
    derivative, outputs = loss.derivative, loss.outputs

    @compiled_for(loss)
    def coefficients(
        predictions: FloatArray,
        targets: FloatArray,
        reciprocals: FloatArray,
        weights: FloatArray,
        clip: float,
    ) -> None:
        """Put clipped coefficients of the rows, a column each, in the place of their predictions."""
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
        sums = np.empty((outputs, len(begun(magics))))
        for k in range(outputs):
            sums[k] = begun(magics)
        for start in range(0, n, height):
            stop = min(start + height, n)
            c = tile[:, : stop - start]
            for k in range(outputs):
                dense_predictions(X[start:stop], w[k], offsets[k], c[k])
            coefficients(c, targets[start:stop], reciprocals[start:stop], weights[start:stop], clip)
            for k in range(outputs):
                following = X[stop : min(stop + height, n)] if k == 0 else X[:0]
                dense_combine(X[start:stop], c[k], following, sums[k])
        for k in range(outputs):
            finished(sums[k], magics, out[k])

    return OutputLoops(dense, coefficients)
