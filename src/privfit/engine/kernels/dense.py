"""The compiled loops over dense rows: norms, predictions, and sums of coefficient times row. One pass each.

None of them uses the loss. A row's prediction is one sum in an order that depends only on the number of
columns. So it is the same, bit for bit, for any other rows and at any place in the table.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.engine.exact.grids import FloatArray
from privfit.engine.kernels.compiling import compiled, inner
from privfit.engine.kernels.lanes import (
    LANES,
    add,
    alike,
    entries,
    fma,
    last_entries,
    multiply,
    prefetch,
    read,
    subtract,
    total,
    write,
)
from privfit.engine.kernels.limits import within_limits

Rows = NDArray[np.float32] | NDArray[np.float64]

# Rows are read from this many places in turn, because several streams use more of the memory bandwidth. With
# the prefetching below, a pass over 500,000 rows of float32 takes a third less time (benchmarks/streams.py).
STREAMS = 4


@compiled(nogil=False)
def padded(w: FloatArray) -> FloatArray:
    """Append zeros up to a multiple of LANES."""
    wide = np.zeros(-(-len(w) // LANES) * LANES)
    for j in range(len(w)):
        wide[j] = w[j]
    return wide


@inner(forceinline=True)
def standardised(X: Rows, i: int, j: int, center: FloatArray, scale: FloatArray) -> Any:
    """Return z = scale * (x - center) of eight entries, zeros beyond the last; the map is `padded`."""
    rest = X.shape[1] - j
    x = entries(X, i, j) if rest >= LANES else last_entries(X, i, j, rest)
    return multiply(read(scale, j), subtract(x, read(center, j)))


@compiled()
def dense_squares(
    X: Rows, center: FloatArray, scale: FloatArray, absent: FloatArray, out: FloatArray
) -> None:
    """Write each row's sum of squares of z. No value is `absent`."""
    center, scale = padded(center), padded(scale)
    for i in range(X.shape[0]):
        squares = alike(0.0)
        for j in range(0, X.shape[1], LANES):
            z = standardised(X, i, j, center, scale)
            squares = fma(z, z, squares)
        out[i] = total(squares)


@compiled()
def dense_predictions(X: Rows, w: FloatArray, offset: float, out: FloatArray) -> None:
    """Write X.w + offset, `within_limits`. w is `padded`."""
    n, p = X.shape
    full, rest = p - p % LANES, p % LANES
    quarter = (n + STREAMS - 1) // STREAMS
    for i in range(quarter):
        k, m, o = min(i + quarter, n - 1), min(i + 2 * quarter, n - 1), min(i + 3 * quarter, n - 1)
        a = b = c = d = alike(0.0)
        for j in range(0, full, LANES):
            v = read(w, j)
            a = fma(entries(X, i, j), v, a)
            b = fma(entries(X, k, j), v, b)
            c = fma(entries(X, m, j), v, c)
            d = fma(entries(X, o, j), v, d)
        if rest > 0:
            v = read(w, full)
            a = fma(last_entries(X, i, full, rest), v, a)
            b = fma(last_entries(X, k, full, rest), v, b)
            c = fma(last_entries(X, m, full, rest), v, c)
            d = fma(last_entries(X, o, full, rest), v, d)
        out[i], out[k], out[m], out[o] = total(a), total(b), total(c), total(d)
    for i in range(n):
        out[i] = within_limits(out[i] + offset)


@inner()
def begun(magics: FloatArray) -> FloatArray:
    """Return initial sums for `dense_combine`: of the columns, padded, and LANES sums of the coefficients.

    They begin at the columns' magics, where the spacing of float64 is the grid's step. So adding a product
    with one rounding adds the product rounded to the grid (`grids.odd`).
    """
    p = len(magics) - 1
    sums = np.empty(-(-p // LANES) * LANES + LANES)
    for j in range(len(sums)):
        sums[j] = magics[min(j, p)]
    return sums


@inner()
def dense_combine(X: Rows, coefficients: FloatArray, following: Rows, sums: FloatArray) -> None:
    """Add coefficient times (row, 1) over the rows to sums that have `begun`.

    Meanwhile half of the rows `following`, those of two streams of `dense_predictions`, are prefetched. For
    the other half, the hardware's own prefetching is faster.
    """
    n, p = X.shape
    full, rest = p - p % LANES, p % LANES
    quarter = n // STREAMS
    line = 64 // X.itemsize
    for i in range(quarter):
        k, m, o = i + quarter, i + 2 * quarter, i + 3 * quarter
        if o < len(following):
            for j in range(0, p, line):
                prefetch(following, m, j)
                prefetch(following, o, j)
        a, b = alike(coefficients[i]), alike(coefficients[k])
        c, d = alike(coefficients[m]), alike(coefficients[o])
        for j in range(0, full, LANES):
            first = fma(b, entries(X, k, j), fma(a, entries(X, i, j), read(sums, j)))
            write(sums, j, fma(d, entries(X, o, j), fma(c, entries(X, m, j), first)))
        if rest > 0:
            first = fma(a, last_entries(X, i, full, rest), read(sums, full))
            first = fma(b, last_entries(X, k, full, rest), first)
            first = fma(c, last_entries(X, m, full, rest), first)
            write(sums, full, fma(d, last_entries(X, o, full, rest), first))
    for i in range(STREAMS * quarter, n):
        a = alike(coefficients[i])
        for j in range(0, full, LANES):
            write(sums, j, fma(a, entries(X, i, j), read(sums, j)))
        if rest > 0:
            write(sums, full, fma(a, last_entries(X, i, full, rest), read(sums, full)))
    lanes = len(sums) - LANES
    for i in range(0, n - n % LANES, LANES):
        write(sums, lanes, add(read(sums, lanes), read(coefficients, i)))
    for i in range(n - n % LANES, n):
        sums[lanes] += coefficients[i]


@inner()
def finished(sums: FloatArray, magics: FloatArray, out: FloatArray) -> None:
    """Add the increase of the sums since `begun` to `out`."""
    p = len(magics) - 1
    for j in range(p):
        out[j] += sums[j] - magics[j]
    for lane in range(len(sums) - LANES, len(sums)):
        out[p] += sums[lane] - magics[p]


@compiled()
def rows_of_columns(columns: Rows, start: int, out: Rows) -> None:
    """Copy the rows from `start` on, of a matrix given by its columns, in blocks of one cache line."""
    n, p = out.shape
    for first in range(0, n, 16):
        for j in range(p):
            for i in range(first, min(first + 16, n)):
                out[i, j] = columns[j, start + i]
