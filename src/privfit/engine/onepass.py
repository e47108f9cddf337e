"""The compiled loops of a whole gradient: margins, slopes and sums of a few rows at a time.

Rows come from memory once, and are still in the cache when they are summed. What is computed for a record
is what `kernels`, `sparse` and `pointwise` compute for it in separate passes, bit for bit.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from privfit.engine.base import FloatArray
from privfit.engine.kernels import Rows, begun, dense_combine, dense_margins, finished
from privfit.engine.packing import PIECE, Layout
from privfit.engine.pointwise import coefficient, compiled_for
from privfit.engine.sparse import COPIES, Weights, merge, piece_combine, piece_margins
from privfit.losses import Loss

NEARBY = 2**15  # bytes of the rows that are worked on at a time


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
        pulls: FloatArray,
        w: FloatArray,
        offset: float,
        clip: float,
        magics: FloatArray,
        out: FloatArray,
    ) -> None:
        """Add clipped coefficient times (row, 1) over the rows to `out`, rounded to the columns' grids."""
        n, p = X.shape
        height = max(16, NEARBY // max(1, p * X.itemsize))
        m, sums = np.empty(min(n, height)), begun(magics)
        for start in range(0, n, height):
            stop = min(start + height, n)
            c = m[: stop - start]
            these = pulls[start:stop]
            dense_margins(X[start:stop], these, w, offset, c)
            for i in range(len(c)):
                c[i] = coefficient(derivative(c[i]), these[i], clip)
            dense_combine(X[start:stop], c, X[stop : min(stop + height, n)], sums)
        finished(sums, magics, out)

    @compiled_for(loss)
    def dense_there(
        X: Rows,
        m: FloatArray,
        pulls: FloatArray,
        clip: float,
        magics: FloatArray,
        out: FloatArray,
    ) -> None:
        """Do the same for rows whose margins are m."""
        c = np.empty(len(m))
        for i in range(len(c)):
            c[i] = coefficient(derivative(m[i]), pulls[i], clip)
        sums = begun(magics)
        dense_combine(X, c, X[:0], sums)
        finished(sums, magics, out)

    @compiled_for(loss)
    def sparse(
        for_margins: Layout,
        for_sums: Layout,
        start: int,
        pulls: FloatArray,
        w: Weights,
        clip: float,
        magics: FloatArray,
        one: float,
        out: FloatArray,
    ) -> None:
        """Add clipped coefficient times (row, 1) over the rows from `start` on, rounded, to `out`."""
        m, scratch, phrases = np.empty(PIECE), np.empty(PIECE), np.zeros((COPIES, len(for_sums.parents)))
        for first in range(0, len(pulls), PIECE):
            these = pulls[first : first + PIECE]
            c = m[: len(these)]
            piece_margins(for_margins, start + first, these, w, c)
            for i in range(len(c)):
                c[i] = coefficient(derivative(c[i]), these[i], clip)
            piece_combine(for_sums, start + first, c, magics, one, scratch, phrases, out)
        merge(phrases, out)

    @compiled_for(loss)
    def sparse_there(
        layout: Layout,
        start: int,
        m: FloatArray,
        pulls: FloatArray,
        clip: float,
        magics: FloatArray,
        one: float,
        out: FloatArray,
    ) -> None:
        """Do the same for rows whose margins are m."""
        all_c, scratch, phrases = np.empty(PIECE), np.empty(PIECE), np.zeros((COPIES, len(layout.parents)))
        for first in range(0, len(pulls), PIECE):
            these, margins = pulls[first : first + PIECE], m[first : first + PIECE]
            c = all_c[: len(these)]
            for i in range(len(c)):
                c[i] = coefficient(derivative(margins[i]), these[i], clip)
            piece_combine(layout, start + first, c, magics, one, scratch, phrases, out)
        merge(phrases, out)

    return Gradients(dense, dense_there, sparse, sparse_there)
