"""The compiled loops that write rows as whole multiples of a grid's step, and multiply them.

Rows are written in panels of eight neighbouring columns, out[panel, row, column], so that a product of two
columns reads memory sequentially.
"""

import numpy as np
from numpy.typing import NDArray

from privfit.engine.exact.grids import FloatArray
from privfit.engine.kernels.compiling import compiled
from privfit.engine.kernels.csr import Indices
from privfit.engine.kernels.dense import Rows
from privfit.engine.kernels.lanes import LANES, alike, fma, read, write

TO_INTEGER = 1.5 * 2.0**52  # adding and subtracting it rounds to an integer


@compiled()
def dense_multiples(
    X: Rows,
    center: FloatArray,
    scale: FloatArray,
    bias: FloatArray,
    factors: FloatArray,
    start: int,
    out: FloatArray,
) -> None:
    """Write factor * (z, bias), rounded to integers, from row `start` of the panels on; `bias` may be empty.

    z is scale * (x - center).
    """
    p = X.shape[1]
    for i in range(X.shape[0]):
        factor = factors[i]
        for j in range(p):
            # without the test it may be infinite
            z = scale[j] * (X[i, j] - center[j]) if factor > 0.0 else 0.0
            out[j // LANES, start + i, j % LANES] = (factor * z + TO_INTEGER) - TO_INTEGER
        for j in range(len(bias)):
            last = p + j
            out[last // LANES, start + i, last % LANES] = (factor * bias[j] + TO_INTEGER) - TO_INTEGER


@compiled()
def csr_multiples(
    indptr: Indices,
    indices: Indices,
    data: Rows,
    center: FloatArray,
    scale: FloatArray,
    bias: FloatArray,
    factors: FloatArray,
    start: int,
    out: FloatArray,
) -> None:
    """Write the same: first every column as if x were 0, and then the stored entries."""
    p = len(scale)
    for i in range(len(indptr) - 1):
        factor = factors[i]
        for j in range(p):
            z = scale[j] * (0.0 - center[j])
            out[j // LANES, start + i, j % LANES] = (factor * z + TO_INTEGER) - TO_INTEGER
        for t in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            k = indices[t]
            z = scale[k] * (data[t] - center[k]) if factor > 0.0 else 0.0
            out[k // LANES, start + i, k % LANES] = (factor * z + TO_INTEGER) - TO_INTEGER
        for j in range(len(bias)):
            last = p + j
            out[last // LANES, start + i, last % LANES] = (factor * bias[j] + TO_INTEGER) - TO_INTEGER


@compiled()
def add_products(panels: FloatArray, n_rows: int, out: NDArray[np.int64]) -> None:
    """Add the products of each panel's columns with those of itself and all later panels, summed over rows.

    All numbers are integers, and so are the sums.
    """
    block = np.empty(LANES * LANES)
    for first in range(panels.shape[0]):
        left = panels[first].reshape(-1)
        for second in range(first, panels.shape[0]):
            right = panels[second].reshape(-1)
            a = b = c = d = e = f = g = h = alike(0.0)
            for i in range(0, n_rows * LANES, LANES):
                v = read(right, i)
                a, b = fma(alike(left[i]), v, a), fma(alike(left[i + 1]), v, b)
                c, d = fma(alike(left[i + 2]), v, c), fma(alike(left[i + 3]), v, d)
                e, f = fma(alike(left[i + 4]), v, e), fma(alike(left[i + 5]), v, f)
                g, h = fma(alike(left[i + 6]), v, g), fma(alike(left[i + 7]), v, h)
            write(block, 0, a)
            write(block, LANES, b)
            write(block, 2 * LANES, c)
            write(block, 3 * LANES, d)
            write(block, 4 * LANES, e)
            write(block, 5 * LANES, f)
            write(block, 6 * LANES, g)
            write(block, 7 * LANES, h)
            for j in range(LANES):
                for k in range(LANES):
                    out[first * LANES + j, second * LANES + k] += np.int64(block[j * LANES + k])
