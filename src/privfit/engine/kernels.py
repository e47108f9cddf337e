"""The compiled loops that touch X: row norms, margins, and sums of coefficient times row. One pass each.

None of them knows the loss. A row's margin is one reduction in an order that depends on the number of
columns only, so it is bit for bit the same whatever other rows there are and wherever the row stands.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from privfit.engine.base import FloatArray
from privfit.intrinsics import fma, prefetch

Function = TypeVar("Function", bound=Callable[..., Any])
Rows = NDArray[np.float32] | NDArray[np.float64]
Indices = NDArray[np.int32] | NDArray[np.int64]

LARGEST = 1e300  # margins stay within this, so that no later sum or difference of them is NaN


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Compile without the GIL, and keep the machine code on disk for the next process."""
    decorator: Callable[[Function], Function]
    decorator = njit(cache=True, nogil=True, error_model="numpy", **options)
    return decorator


# A dot product is vectorised only if its terms may be regrouped. Every row runs through the same
# machine code, so all are regrouped alike.
REGROUPED = {"reassoc", "contract", "nsz"}

# Rows are visited from this many places at once: several streams keep more of memory's bandwidth busy.
STREAMS = 4


@compiled()
def dot(a: FloatArray, b: FloatArray) -> float:
    """Return a.b, summed from left to right: a library's order may depend on where the arrays lie."""
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@compiled()
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


@compiled(fastmath=REGROUPED)
def dense_squares(X: Rows, center: FloatArray, scale: FloatArray, out: FloatArray) -> None:
    """Write each row's sum of squares of z = scale * (x - center)."""
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(X.shape[1]):
            z = scale[j] * (X[i, j] - center[j])
            total += z * z
        out[i] = total


@compiled(fastmath=REGROUPED)
def dense_margins(X: Rows, y: FloatArray, w: FloatArray, offset: float, out: FloatArray) -> None:
    """Write y * (X.w + offset), within +-LARGEST; zero where infinities of both signs met."""
    n, p = X.shape
    quarter = (n + STREAMS - 1) // STREAMS
    for i in range(quarter):
        # The last rows are visited again rather than by other code, which might regroup them otherwise.
        k, m, o = min(i + quarter, n - 1), min(i + 2 * quarter, n - 1), min(i + 3 * quarter, n - 1)
        a = b = c = d = 0.0
        for j in range(p):
            a += X[i, j] * w[j]
            b += X[k, j] * w[j]
            c += X[m, j] * w[j]
            d += X[o, j] * w[j]
        out[i], out[k], out[m], out[o] = a, b, c, d
    for i in range(n):
        margin = y[i] * (out[i] + offset)
        if margin != margin:
            margin = 0.0
        out[i] = min(max(margin, -LARGEST), LARGEST)


@compiled()
def dense_combine(
    X: Rows, coefficients: FloatArray, magics: FloatArray, following: Rows, out: FloatArray
) -> None:
    """Add coefficient times (row, 1) over the rows to `out`, rounded to the grid of each column's magic.

    Meanwhile half of the rows `following`, those of two streams of `dense_margins`, are fetched from
    memory; the hardware does better with the other half by itself.
    """
    n, p = X.shape
    quarter = n // STREAMS
    line = 64 // X.itemsize
    for i in range(quarter):
        k, m, o = i + quarter, i + 2 * quarter, i + 3 * quarter
        if o < len(following):
            for j in range(0, p, line):
                prefetch(following, m, j)
                prefetch(following, o, j)
        a, b, c, d = coefficients[i], coefficients[k], coefficients[m], coefficients[o]
        for j in range(p):
            M = magics[j]
            out[j] += ((fma(a, X[i, j], M) - M) + (fma(b, X[k, j], M) - M)) + (
                (fma(c, X[m, j], M) - M) + (fma(d, X[o, j], M) - M)
            )
    for i in range(STREAMS * quarter, n):
        for j in range(p):
            out[j] += fma(coefficients[i], X[i, j], magics[j]) - magics[j]
    ones = 0.0
    for i in range(n):
        ones += (coefficients[i] + magics[p]) - magics[p]
    out[p] += ones


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
