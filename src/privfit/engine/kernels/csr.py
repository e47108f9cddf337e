"""The compiled loops over a CSR matrix that is not packed: a check that it is canonical, and row norms."""

import numpy as np
from numpy.typing import NDArray

from privfit.engine.exact.grids import FloatArray
from privfit.engine.kernels.compiling import compiled
from privfit.engine.kernels.dense import Rows

Indices = NDArray[np.int32] | NDArray[np.int64]

# Unsigned subscripts spare numba's test for negative ones, which would double the time.


@compiled()
def csr_is_canonical(indptr: Indices, indices: Indices, n_columns: int) -> bool:
    """Return whether the column numbers of every row increase strictly and are valid."""
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
    absent: FloatArray,
    out: FloatArray,
) -> None:
    """Write each row's sum of squares of z = scale * (x - center).

    `absent` holds z**2 at x = 0 for every column, and then their sum, on a grid on which their sums are exact
    (`grids.rounded_up`). The contribution of the absent columns is this sum minus those of the present
    columns.
    """
    for i in range(len(out)):
        present, rest = 0.0, absent[-1]
        for t in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j = np.uint64(indices[t])
            z = scale[j] * (data[t] - center[j])
            present += z * z
            rest -= absent[j]
        out[i] = present + rest
