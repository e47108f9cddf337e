"""The compiled loops of a whole gradient: margins, slopes and sums of a few rows at a time.

Rows come from memory once, and are still in the cache when they are summed. What is computed for a record
is what `kernels` and `pointwise` compute for it in separate passes, bit for bit.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from privfit.engine.base import FloatArray
from privfit.engine.kernels import Indices, Rows, csr_combine, csr_margins, dense_combine, dense_margins
from privfit.engine.pointwise import clipped, compiled_for
from privfit.losses import Loss

NEARBY = 2**17  # bytes of the rows that are worked on at a time
SPARSE_HEIGHT = 256  # sparse rows that are worked on at a time


class Gradients(NamedTuple):
    """A loss's compiled gradients; see the functions inside `gradients`."""

    dense: Callable[..., Any]
    csr: Callable[..., Any]


@functools.cache
def gradients(loss: Loss) -> Gradients:
    """Return the gradients of a loss, compiled on first use."""
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
            for i in range(len(c)):
                c[i] = y[start + i] * clipped(derivative(c[i]), norms[start + i], clip)
            dense_combine(X[start:stop], c, magics, X[stop : min(stop + height, n)], out)

    @compiled_for(loss)
    def csr(
        indptr: Indices,
        indices: Indices,
        data: Rows,
        y: FloatArray,
        norms: FloatArray,
        w: FloatArray,
        offset: float,
        clip: float,
        magics: FloatArray,
        out: FloatArray,
    ) -> None:
        """Add clipped coefficient times (row, 1) over the rows to `out`, rounded to the columns' grids."""
        n = len(y)
        m = np.empty(min(n, SPARSE_HEIGHT))
        for start in range(0, n, SPARSE_HEIGHT):
            stop = min(start + SPARSE_HEIGHT, n)
            c, rows = m[: stop - start], indptr[start : stop + 1]
            csr_margins(rows, indices, data, y[start:stop], w, offset, c)
            for i in range(len(c)):
                c[i] = y[start + i] * clipped(derivative(c[i]), norms[start + i], clip)
            csr_combine(rows, indices, data, c, magics, out)

    return Gradients(dense, csr)
