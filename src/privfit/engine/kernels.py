"""The compiled loops that touch X: row norms, margins, and sums of coefficient times row. One pass each.

None of them knows the loss. A row's margin is one reduction in an order that depends on the number of
columns only, so it is bit for bit the same whatever other rows there are and wherever the row stands.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.engine.base import FloatArray
from privfit.engine.compiling import compiled
from privfit.engine.lanes import (
    LANES,
    add,
    alike,
    entries,
    fma,
    last_entries,
    multiply,
    read,
    subtract,
    total,
    write,
)
from privfit.intrinsics import prefetch

Rows = NDArray[np.float32] | NDArray[np.float64]
Indices = NDArray[np.int32] | NDArray[np.int64]

LARGEST = 1e300  # margins stay within this, so that no later sum or difference of them is NaN


# Rows are visited from this many places at once: several streams keep more of memory's bandwidth busy.
STREAMS = 4


@compiled(nogil=False)
def unfolded(w: FloatArray, center: FloatArray, scale: FloatArray, bias: float) -> tuple[FloatArray, float]:
    """Return the weights of x, and the constant, that give the margins of w.

    The last of w is the bias's. The constant is added up from left to right: a library's order may depend on
    where the arrays lie.
    """
    v = np.empty(len(scale))
    offset = 0.0
    for j in range(len(scale)):
        v[j] = scale[j] * w[j]
        offset += center[j] * v[j]
    return v, bias * w[-1] - offset if bias > 0.0 else 0.0


@compiled(nogil=False)
def folded(
    sums: FloatArray, ones: FloatArray, center: FloatArray, scale: FloatArray, bias: float
) -> FloatArray:
    """Return scale * (sums + ones - center * total) per column, and bias * total; total is the last sum.

    What the first addition loses is added at last. A dropped column's sums were not rounded and may be
    anything.
    """
    p = len(scale)
    gradient = np.empty(p + 1)
    total = sums[p] if bias > 0.0 else 0.0
    for j in range(p):
        both = sums[j] + ones[j]
        kept = both - sums[j]
        lost = (sums[j] - (both - kept)) + (ones[j] - kept)
        gradient[j] = scale[j] * ((both - center[j] * total) + lost) if scale[j] > 0.0 else 0.0
    gradient[p] = bias * total
    return gradient


@compiled(nogil=False)
def padded(w: FloatArray) -> FloatArray:
    """Append zeros up to a multiple of LANES."""
    wide = np.zeros(-(-len(w) // LANES) * LANES)
    wide[: len(w)] = w
    return wide


@compiled(forceinline=True)
def standardised(X: Rows, i: int, j: int, center: FloatArray, scale: FloatArray) -> Any:
    """Return z = scale * (x - center) of eight entries, or zeros beyond the last. The map is `padded`."""
    rest = X.shape[1] - j
    x = entries(X, i, j) if rest >= LANES else last_entries(X, i, j, rest)
    return multiply(read(scale, j), subtract(x, read(center, j)))


@compiled()
def dense_squares(X: Rows, center: FloatArray, scale: FloatArray, out: FloatArray) -> None:
    """Write each row's sum of squares of z."""
    center, scale = padded(center), padded(scale)
    for i in range(X.shape[0]):
        squares = alike(0.0)
        for j in range(0, X.shape[1], LANES):
            z = standardised(X, i, j, center, scale)
            squares = fma(z, z, squares)
        out[i] = total(squares)


@compiled()
def dense_margins(X: Rows, signs: FloatArray, w: FloatArray, offset: float, out: FloatArray) -> None:
    """Write +-(X.w + offset), within +-LARGEST; zero where infinities of both signs met.

    Of `signs`, nothing but the sign counts. w is `padded`.
    """
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
        margin = math.copysign(1.0, signs[i]) * (out[i] + offset)
        if margin != margin:
            margin = 0.0
        out[i] = min(max(margin, -LARGEST), LARGEST)


@compiled()
def begun(magics: FloatArray) -> FloatArray:
    """Return sums for `dense_combine`: those of the columns, padded, and LANES of the coefficients.

    They begin at the columns' magics, where the spacing of float64 is the grid's step. Adding a product to
    such a sum, with one rounding, is then adding the product rounded to the grid (`rounding.odd`).
    """
    p = len(magics) - 1
    sums = np.full(-(-p // LANES) * LANES + LANES, magics[p])
    sums[:p] = magics[:p]
    return sums


@compiled()
def dense_combine(X: Rows, coefficients: FloatArray, following: Rows, sums: FloatArray) -> None:
    """Add coefficient times (row, 1) over the rows to sums that have `begun`.

    Meanwhile half of the rows `following`, those of two streams of `dense_margins`, are fetched from
    memory; the hardware does better with the other half by itself.
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


@compiled()
def finished(sums: FloatArray, magics: FloatArray, out: FloatArray) -> None:
    """Add to `out` what the sums have gained since they have `begun`."""
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


# Below, unsigned subscripts spare numba's test for negative ones, which would double the time.


@compiled()
def csr_is_canonical(indptr: Indices, indices: Indices, n_columns: int) -> bool:
    """Tell whether every row's column numbers increase strictly and exist."""
    if indptr[0] != 0 or indptr[-1] > len(indices):
        return False
    for i in range(len(indptr) - 1):
        last = np.int64(-1)
        if indptr[i + 1] < indptr[i]:
            return False
        for t in range(indptr[i], indptr[i + 1]):
            if indices[t] <= last or indices[t] >= n_columns:
                return False
            last = np.int64(indices[t])
    return True


@compiled()
def csr_squares(
    indptr: Indices,
    indices: Indices,
    data: Rows,
    center: FloatArray,
    scale: FloatArray,
    zeros: FloatArray,
    out: FloatArray,
) -> None:
    """Write each row's sum of squares of z = scale * (x - center).

    `zeros` holds z**2 at x = 0 for every column, then their sum, on a grid where all their sums are exact
    (`rounding.rounded_up`): what the absent columns contribute is then the sum minus the present ones.
    """
    for i in range(len(out)):
        total, absent = 0.0, zeros[-1]
        for t in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j = np.uint64(indices[t])
            z = scale[j] * (data[t] - center[j])
            total += z * z
            absent -= zeros[j]
        out[i] = total + absent
