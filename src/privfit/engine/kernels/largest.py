"""The compiled loops that find every record's largest coordinate."""

from privfit.engine.exact.grids import FloatArray
from privfit.engine.kernels.compiling import compiled
from privfit.engine.kernels.csr import Indices
from privfit.engine.kernels.dense import Rows


@compiled()
def dense_largest(
    X: Rows, center: FloatArray, scale: FloatArray, least: float, absent: float, out: FloatArray
) -> None:
    """Write the largest |z| of each row, z = scale * (x - center), or `least`. No value is `absent`."""
    for i in range(X.shape[0]):
        largest = least
        for j in range(X.shape[1]):
            # a dropped column may hold infinities, and 0 times infinity is not 0
            if scale[j] > 0.0:
                largest = max(largest, abs(scale[j] * (X[i, j] - center[j])))
        out[i] = largest


@compiled()
def csr_largest(
    indptr: Indices,
    indices: Indices,
    data: Rows,
    center: FloatArray,
    scale: FloatArray,
    least: float,
    absent: float,
    out: FloatArray,
) -> None:
    """Write the same for rows of a CSR matrix; `absent` is the largest |z| of any column where x is 0."""
    for i in range(len(out)):
        largest = max(least, absent)
        for t in range(indptr[i], indptr[i + 1]):
            j = indices[t]
            if scale[j] > 0.0:
                largest = max(largest, abs(scale[j] * (data[t] - center[j])))
        out[i] = largest
