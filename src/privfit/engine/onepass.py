"""The compiled loops of a whole gradient: margins, slopes and sums of a few rows at a time.

Rows come from memory once, and are still in the cache when they are summed. What is computed for a record
is what `kernels`, `sparse` and `pointwise` compute for it in separate passes, bit for bit.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from privfit.engine.base import FloatArray
from privfit.engine.kernels import Rows, dense_combine, dense_margins
from privfit.engine.packing import PIECE, Layout
from privfit.engine.pointwise import clipped, compiled_for
from privfit.engine.sparse import COPIES, Weights, merge, piece_combine, piece_margins
from privfit.losses import Loss

NEARBY = 2**17  # bytes of the rows that are worked on at a time


class Gradients(NamedTuple):
    """A loss's compiled gradients; see the functions inside `gradients`."""

    dense: Callable[..., Any]
    dense_there: Callable[..., Any]
    sparse: Callable[..., Any]
    sparse_there: Callable[..., Any]


@functools.cache
def gradients(loss: Loss) -> Gradients:
    """Return the gradients of a loss, compiled on first use: at weights, and where the margins are known."""
    derivative = loss.derivative

    @compiled_for(loss)
    def dense(
        X: Rows,
        y: FloatArray,
        norms: FloatArray,
        w: FloatArray,
        offset: float,
        clip: float,
        magics: FloatArray,
        out: FloatArray,
    ) -> None:
        """Add clipped coefficient times (row, 1) over the rows to `out`, rounded to the columns' grids."""
        n, p = X.shape
        height = max(16, NEARBY // max(1, p * X.itemsize))
        m = np.empty(min(n, height))
        for start in range(0, n, height):
            stop = min(start + height, n)
            c = m[: stop - start]
            dense_margins(X[start:stop], y[start:stop], w, offset, c)
            labels, lengths = y[start:stop], norms[start:stop]
            for i in range(len(c)):
                c[i] = labels[i] * clipped(derivative(c[i]), lengths[i], clip)
            dense_combine(X[start:stop], c, magics, X[stop : min(stop + height, n)], out)

    @compiled_for(loss)
    def dense_there(
        X: Rows,
        m: FloatArray,
        y: FloatArray,
        norms: FloatArray,
        clip: float,
        magics: FloatArray,
        out: FloatArray,
    ) -> None:
        """Do the same for rows whose margins are m."""
        c = np.empty(len(m))
        for i in range(len(c)):
            c[i] = y[i] * clipped(derivative(m[i]), norms[i], clip)
        dense_combine(X, c, magics, X[:0], out)

    @compiled_for(loss)
    def sparse(
        for_margins: Layout,
        for_sums: Layout,
        start: int,
        y: FloatArray,
        norms: FloatArray,
        w: Weights,
        clip: float,
        magics: FloatArray,
        one: float,
        out: FloatArray,
    ) -> None:
        """Add clipped coefficient times (row, 1) over the rows from `start` on, rounded, to `out`."""
        m, scratch, phrases = np.empty(PIECE), np.empty(PIECE), np.zeros((COPIES, len(for_sums.parents)))
        for first in range(0, len(y), PIECE):
            c = m[: min(PIECE, len(y) - first)]
            labels, lengths = y[first : first + PIECE], norms[first : first + PIECE]
            piece_margins(for_margins, start + first, labels, w, c)
            for i in range(len(c)):
                c[i] = labels[i] * clipped(derivative(c[i]), lengths[i], clip)
            piece_combine(for_sums, start + first, c, magics, one, scratch, phrases, out)
        merge(phrases, out)

    @compiled_for(loss)
    def sparse_there(
        layout: Layout,
        start: int,
        m: FloatArray,
        y: FloatArray,
        norms: FloatArray,
        clip: float,
        magics: FloatArray,
        one: float,
        out: FloatArray,
    ) -> None:
        """Do the same for rows whose margins are m."""
        all_c, scratch, phrases = np.empty(PIECE), np.empty(PIECE), np.zeros((COPIES, len(layout.parents)))
        for first in range(0, len(y), PIECE):
            c = all_c[: min(PIECE, len(y) - first)]
            labels, lengths = y[first : first + PIECE], norms[first : first + PIECE]
            margins = m[first : first + PIECE]
            for i in range(len(c)):
                c[i] = labels[i] * clipped(derivative(margins[i]), lengths[i], clip)
            piece_combine(layout, start + first, c, magics, one, scratch, phrases, out)
        merge(phrases, out)

    return Gradients(dense, dense_there, sparse, sparse_there)
