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


@compiled(fastmath=REGROUPED)
def dense_squares(X: Rows, out: FloatArray) -> None:
    """Write each row's sum of squares."""
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            total += x * x
        out[i] = total


@compiled(fastmath=REGROUPED)
def dense_margins(X: Rows, y: FloatArray, w: FloatArray, offset: float, out: FloatArray) -> None:
    """Write y * (X.w + offset), within +-LARGEST; zero where infinities of both signs met."""
    n, p = X.shape
    stride = (n + STREAMS - 1) // STREAMS
    for first in range(stride):
        for i in range(first, n, stride):
            total = 0.0
            for j in range(p):
                total += X[i, j] * w[j]
            margin = y[i] * (total + offset)
            if margin != margin:
                margin = 0.0
            out[i] = min(max(margin, -LARGEST), LARGEST)


@compiled()
def dense_combine(X: Rows, coefficients: FloatArray, magic: float, out: FloatArray) -> None:
    """Add coefficient times (row, 1) over the rows to `out`, each product rounded to the grid of `magic`."""
    n, p = X.shape
    quarter = n // STREAMS
    for i in range(quarter):
        k, m, o = i + quarter, i + 2 * quarter, i + 3 * quarter
        a, b, c, d = coefficients[i], coefficients[k], coefficients[m], coefficients[o]
        for j in range(p):
            out[j] += (((a * X[i, j] + magic) - magic) + ((b * X[k, j] + magic) - magic)) + (
                ((c * X[m, j] + magic) - magic) + ((d * X[o, j] + magic) - magic)
            )
    for i in range(STREAMS * quarter, n):
        a = coefficients[i]
        for j in range(p):
            out[j] += (a * X[i, j] + magic) - magic
    for i in range(n):
        out[p] += (coefficients[i] + magic) - magic


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


@compiled(fastmath=REGROUPED)
def csr_squares(indptr: Indices, data: Rows, out: FloatArray) -> None:
    """Write each row's sum of squares."""
    for i in range(len(out)):
        total = 0.0
        for t in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            x = np.float64(data[t])
            total += x * x
        out[i] = total


@compiled(fastmath=REGROUPED)
def csr_margins(
    indptr: Indices,
    indices: Indices,
    data: Rows,
    y: FloatArray,
    w: FloatArray,
    offset: float,
    out: FloatArray,
) -> None:
    """Write y * (X.w + offset), bounded as in `dense_margins`."""
    for i in range(len(out)):
        total = 0.0
        for t in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total += data[t] * w[np.uint64(indices[t])]
        margin = y[i] * (total + offset)
        if margin != margin:
            margin = 0.0
        out[i] = min(max(margin, -LARGEST), LARGEST)


@compiled()
def csr_combine(
    indptr: Indices, indices: Indices, data: Rows, coefficients: FloatArray, magic: float, out: FloatArray
) -> None:
    """Add coefficient times (row, 1) over the rows to `out`, each product rounded to the grid of `magic`."""
    ones = 0.0
    for i in range(len(coefficients)):
        a = coefficients[i]
        for t in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            out[np.uint64(indices[t])] += (a * data[t] + magic) - magic
        ones += (a + magic) - magic
    out[-1] += ones
