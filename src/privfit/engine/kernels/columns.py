"""The compiled loops that read one value of X at a time: magnitudes, counts, values outside a box."""

import numpy as np

from privfit.engine.exact.grids import FloatArray
from privfit.engine.kernels.compiling import compiled, inner
from privfit.engine.kernels.csr import Indices
from privfit.engine.kernels.dense import Rows


@inner()
def bin_of(x: float, lowest: int, highest: int) -> int:
    """Return 1 + ceil(log2 |x|) - lowest, at most 1 + highest - lowest, and 0 if |x| <= 2**(lowest - 1).

    A power of two is the largest number of its bin, so that 0/1 columns have a bound of 1.
    """
    bits = np.float64(x).view(np.int64)
    exponent = int((bits >> 52) & 0x7FF) - 1023 + int((bits & 0xFFFFFFFFFFFFF) != 0)
    return max(min(exponent, highest) - lowest + 1, 0)


@compiled()
def dense_magnitudes(X: Rows, lowest: int, highest: int, magic: float, out: FloatArray) -> None:
    """Add each row's share to the bins of its values that are not zero; see `bounds.magnitude_bound`."""
    n, p = X.shape
    bins = np.empty(p, np.int64)
    for i in range(n):
        found = 0
        for j in range(p):
            bins[j] = bin_of(X[i, j], lowest, highest)
            found += bins[j] > 0
        share = (1.0 / np.sqrt(max(found, 1)) + magic) - magic
        for j in range(p):
            if bins[j] > 0:
                out[j, np.uint64(bins[j] - 1)] += share


@compiled()
def csr_magnitudes(
    indptr: Indices,
    indices: Indices,
    data: Rows,
    lowest: int,
    highest: int,
    magic: float,
    out: FloatArray,
) -> None:
    """Add each row's share to the bins of its values that are not zero, as `dense_magnitudes` does."""
    for i in range(len(indptr) - 1):
        start, stop = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        found = 0
        for t in range(start, stop):
            found += bin_of(data[t], lowest, highest) > 0
        share = (1.0 / np.sqrt(max(found, 1)) + magic) - magic
        for t in range(start, stop):
            k = bin_of(data[t], lowest, highest)
            if k > 0:
                out[np.uint64(indices[t]), np.uint64(k - 1)] += share


@inner()
def edges_below(x: float, edges: FloatArray) -> int:
    """Return how many of the ascending edges lie below x."""
    low, high = 0, len(edges)
    while low < high:
        middle = (low + high) // 2
        if edges[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@compiled()
def dense_counts(X: Rows, edges: FloatArray, out: FloatArray) -> None:
    """Count each value in its bin, which the edges of its column define."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            out[j, edges_below(X[i, j], edges[j])] += 1.0


@compiled()
def csr_counts(indptr: Indices, indices: Indices, data: Rows, edges: FloatArray, out: FloatArray) -> None:
    """Count each value like `dense_counts`: first all as zeros, and then the stored ones in their bins."""
    zeros = np.array([edges_below(0.0, row) for row in edges])
    for j in range(len(edges)):
        out[j, zeros[j]] += len(indptr) - 1
    for t in range(indptr[0], indptr[-1]):
        j = indices[t]
        out[j, zeros[j]] -= 1.0
        out[j, edges_below(data[t], edges[j])] += 1.0


@compiled()
def dense_fits(X: Rows, low: Rows, high: Rows) -> bool:
    """Return whether every value lies in its column's interval."""
    for i in range(X.shape[0]):
        outside = 0
        for j in range(X.shape[1]):
            outside += (X[i, j] < low[j]) | (X[i, j] > high[j])
        if outside > 0:
            return False
    return True


@compiled()
def dense_clip(X: Rows, low: Rows, high: Rows, out: Rows) -> None:
    """Write every value, clipped to its column's interval."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            out[i, j] = min(max(X[i, j], low[j]), high[j])


@compiled()
def csr_fits(indices: Indices, data: Rows, low: Rows, high: Rows) -> bool:
    """Return whether every stored value lies in its column's interval."""
    for t in range(len(data)):
        j = np.uint64(indices[t])
        if data[t] < low[j] or data[t] > high[j]:
            return False
    return True


@compiled()
def csr_clip(indices: Indices, data: Rows, low: Rows, high: Rows) -> None:
    """Clip every stored value to its column's interval."""
    for t in range(len(data)):
        j = np.uint64(indices[t])
        data[t] = min(max(data[t], low[j]), high[j])
