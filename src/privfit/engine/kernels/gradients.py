"""The compiled loops of a whole gradient: predictions, slopes and sums for one tile of rows at a time.

Rows are read from memory once, and are still in the cache when they are summed. On a table of 500,000 x 120
this takes .6 to .7 of the time of two passes. On tables that fit into the cache it takes as long
(benchmarks/outputs.py). The result for a record is the same, bit for bit, as in the separate passes of
`dense`, `sparse` and `pointwise`. The loops of a combination do only the last part, for given slopes.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from privfit.engine.exact.grids import FloatArray
from privfit.engine.kernels.compiling import compiled
from privfit.engine.kernels.dense import Rows, begun, dense_combine, dense_predictions, finished
from privfit.engine.kernels.packing import ROWS_PER_TILE, Packed
from privfit.engine.kernels.pointwise import coefficient, compiled_for
from privfit.engine.kernels.sparse import COPIES, PackedWeights, merge, tile_combine, tile_predictions
from privfit.losses.loss import Loss

TILE_BYTES = 2**15  # bytes of a tile of dense rows


class Gradients(NamedTuple):
    """A loss's compiled gradients; see the functions inside `gradients`."""

    dense: Callable[..., Any]
    sparse: Callable[..., Any]


@functools.cache
def gradients(loss: Loss) -> Gradients:
    """Return the gradients of a loss at weights, compiled on first use."""
    derivative = loss.derivative

    @compiled_for(loss)
    def dense(
        X: Rows,
        targets: FloatArray,
        reciprocals: FloatArray,
        w: FloatArray,
        offset: float,
        clip: float,
        magics: FloatArray,
        out: FloatArray,
    ) -> None:
        """Add clipped coefficient times (row, 1) over the rows to `out`, rounded to the columns' grids."""
        n, p = X.shape
        height = max(16, TILE_BYTES // max(1, p * X.itemsize))
        predictions, sums = np.empty(min(n, height)), begun(magics)
        for start in range(0, n, height):
            stop = min(start + height, n)
            c = predictions[: stop - start]
            dense_predictions(X[start:stop], w, offset, c)
            t, r = targets[start:stop], reciprocals[start:stop]
            for i in range(len(c)):
                c[i] = coefficient(derivative(c[i], t[i]), r[i], clip)
            dense_combine(X[start:stop], c, X[stop : min(stop + height, n)], sums)
        finished(sums, magics, out)

    @compiled_for(loss)
    def sparse(
        at_weights: Packed,
        to_sums: Packed,
        start: int,
        targets: FloatArray,
        reciprocals: FloatArray,
        w: PackedWeights,
        clip: float,
        magics: FloatArray,
        ones_alike: bool,
        out: FloatArray,
    ) -> None:
        """Add clipped coefficient times (row, 1) over the rows from `start` on, rounded, to `out`."""
        tile, scratch = np.empty(ROWS_PER_TILE), np.empty(ROWS_PER_TILE)
        phrases = np.zeros((COPIES, len(to_sums.parents)))
        for first in range(0, len(targets), ROWS_PER_TILE):
            t, r = targets[first : first + ROWS_PER_TILE], reciprocals[first : first + ROWS_PER_TILE]
            c = tile[: len(t)]
            tile_predictions(at_weights, start + first, w, c)
            for i in range(len(c)):
                c[i] = coefficient(derivative(c[i], t[i]), r[i], clip)
            tile_combine(to_sums, start + first, c, magics, ones_alike, scratch, phrases, out)
        merge(phrases, out)

    return Gradients(dense, sparse)


@compiled()
def dense_combination(
    X: Rows,
    slopes: FloatArray,
    reciprocals: FloatArray,
    clip: float,
    magics: FloatArray,
    out: FloatArray,
) -> None:
    """Add clipped slope times (row, 1) over the rows to `out`, rounded to the columns' grids."""
    c = np.empty(len(slopes))
    for i in range(len(c)):
        c[i] = coefficient(slopes[i], reciprocals[i], clip)
    sums = begun(magics)
    dense_combine(X, c, X[:0], sums)
    finished(sums, magics, out)


@compiled()
def sparse_combination(
    to_sums: Packed,
    start: int,
    slopes: FloatArray,
    reciprocals: FloatArray,
    clip: float,
    magics: FloatArray,
    ones_alike: bool,
    out: FloatArray,
) -> None:
    """Add clipped slope times (row, 1) over the rows from `start` on, rounded, to `out`."""
    tile, scratch = np.empty(ROWS_PER_TILE), np.empty(ROWS_PER_TILE)
    phrases = np.zeros((COPIES, len(to_sums.parents)))
    for first in range(0, len(slopes), ROWS_PER_TILE):
        s, r = slopes[first : first + ROWS_PER_TILE], reciprocals[first : first + ROWS_PER_TILE]
        c = tile[: len(s)]
        for i in range(len(c)):
            c[i] = coefficient(s[i], r[i], clip)
        tile_combine(to_sums, start + first, c, magics, ones_alike, scratch, phrases, out)
    merge(phrases, out)
