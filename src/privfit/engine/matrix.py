"""A feature matrix as the engine sees it: norms, margins and combinations of a range of its rows."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from privfit.engine import kernels
from privfit.engine.base import FloatArray
from privfit.engine.kernels import Rows

TILE = 2**17  # entries of a column-major matrix that are turned into rows at a time


class Matrix(Protocol):
    """What the engine needs of X. Array arguments other than weights are those of the given rows."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        ...

    def squares(self, rows: slice, out: FloatArray) -> None:
        """Write each row's sum of squares."""
        ...

    def margins(self, rows: slice, y: FloatArray, w: FloatArray, offset: float, out: FloatArray) -> None:
        """Write y * (X.w + offset)."""
        ...

    def combine(self, rows: slice, coefficients: FloatArray, magic: float, out: FloatArray) -> None:
        """Add coefficient times (row, 1), rounded to the grid of `magic`, to `out`."""
        ...

    def take(self, rows: Any) -> Any:
        """Return these rows as an array or sparse matrix."""
        ...


class DenseMatrix:
    """A NumPy array in row-major or column-major order, used where it lies."""

    def __init__(self, X: Rows) -> None:
        self.X = X
        self.shape: tuple[int, int] = (X.shape[0], X.shape[1])

    def _tiles(self, rows: slice) -> Iterator[tuple[slice, Rows]]:
        # Column-major tiles are turned into rows first, and so take the very same arithmetic.
        if self.X.flags.c_contiguous:
            yield slice(0, rows.stop - rows.start), self.X[rows]
            return
        height = max(16, TILE // self.shape[1])
        for start in range(rows.start, rows.stop, height):
            stop = min(start + height, rows.stop)
            tile = np.empty((stop - start, self.shape[1]), self.X.dtype)
            kernels.rows_of_columns(self.X.T, start, tile)
            yield slice(start - rows.start, stop - rows.start), tile

    def squares(self, rows: slice, out: FloatArray) -> None:
        """Write each row's sum of squares."""
        for part, X in self._tiles(rows):
            kernels.dense_squares(X, out[part])

    def margins(self, rows: slice, y: FloatArray, w: FloatArray, offset: float, out: FloatArray) -> None:
        """Write y * (X.w + offset)."""
        for part, X in self._tiles(rows):
            kernels.dense_margins(X, y[part], w, offset, out[part])

    def combine(self, rows: slice, coefficients: FloatArray, magic: float, out: FloatArray) -> None:
        """Add coefficient times (row, 1), rounded to the grid of `magic`, to `out`."""
        for part, X in self._tiles(rows):
            kernels.dense_combine(X, coefficients[part], magic, out)

    def take(self, rows: Any) -> Any:
        """Return these rows as an array."""
        return self.X[rows]


class SparseMatrix:
    """A SciPy CSR matrix whose rows hold each column at most once."""

    def __init__(self, X: Any) -> None:
        if not kernels.csr_is_canonical(X.indptr, X.indices, X.shape[1]):
            # A column stored twice in a row would make the row's norm, and so its clipping, wrong.
            X.check_format(full_check=True)
            X = X.copy()
            X.has_canonical_format = False
            X.sum_duplicates()
        self.X = X
        self.shape: tuple[int, int] = X.shape

    def squares(self, rows: slice, out: FloatArray) -> None:
        """Write each row's sum of squares."""
        kernels.csr_squares(self.X.indptr[rows.start : rows.stop + 1], self.X.data, out)

    def margins(self, rows: slice, y: FloatArray, w: FloatArray, offset: float, out: FloatArray) -> None:
        """Write y * (X.w + offset)."""
        indptr = self.X.indptr[rows.start : rows.stop + 1]
        kernels.csr_margins(indptr, self.X.indices, self.X.data, y, w, offset, out)

    def combine(self, rows: slice, coefficients: FloatArray, magic: float, out: FloatArray) -> None:
        """Add coefficient times (row, 1), rounded to the grid of `magic`, to `out`."""
        indptr = self.X.indptr[rows.start : rows.stop + 1]
        kernels.csr_combine(indptr, self.X.indices, self.X.data, coefficients, magic, out)

    def take(self, rows: Any) -> Any:
        """Return these rows as a sparse matrix."""
        return self.X[rows]


def as_matrix(X: Any) -> Matrix:
    """Wrap X: as it is if its type, order and precision are supported, else converted once."""
    sparse = sp.issparse(X)
    X = X.tocsr() if sparse else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if sparse:
        return SparseMatrix(X)
    return DenseMatrix(X if X.flags.forc and X.flags.aligned else np.ascontiguousarray(X))
