"""A feature matrix as the engine sees it: blocks of rows that fit the cache, and what is asked of a block."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from privfit.engine import columns, kernels, moments, onepass
from privfit.engine.base import FloatArray
from privfit.engine.kernels import Indices, Rows
from privfit.engine.view import View
from privfit.losses import Loss

BLOCK_BYTES = 2**22  # of the rows handed to a compiled loop at a time: few calls, little scratch memory


class Block(Protocol):
    """Consecutive rows of X. Array arguments other than weights are those of the rows."""

    def squares(self, view: View, out: FloatArray) -> None:
        """Write each row's sum of squares as seen through the view, never less than it is."""
        ...

    def margins(self, y: FloatArray, w: FloatArray, offset: float, out: FloatArray) -> None:
        """Write y * (X.w + offset)."""
        ...

    def combine(self, coefficients: FloatArray, magics: FloatArray, out: FloatArray) -> None:
        """Add coefficient times (row, 1), rounded to the columns' grids, to `out`."""
        ...

    def gradient(
        self,
        loss: Loss,
        y: FloatArray,
        norms: FloatArray,
        w: FloatArray,
        offset: float,
        clip: float,
        magics: FloatArray,
        out: FloatArray,
    ) -> None:
        """Do `margins` and, with the clipped slopes of the loss there, `combine` while rows are in cache."""
        ...

    def powers(self, view: View, folds: FloatArray) -> FloatArray:
        """Return the rows' sums of squares of z and of its curve, never less than they are."""
        ...

    def moments(
        self,
        view: View,
        folds: FloatArray,
        radius: float,
        curve_radius: float,
        magics: FloatArray,
        out: FloatArray,
    ) -> None:
        """Add shrunken z and curves, less the base, to out[0] and out[1]; the factors to out[0, -1]."""
        ...

    def magnitudes(self, lowest: int, highest: int, magic: float, out: FloatArray) -> None:
        """Add the rows' shares to the magnitudes of their values."""
        ...

    def value_counts(self, edges: FloatArray, out: FloatArray) -> None:
        """Count the rows' values between each column's edges."""
        ...


class Matrix(Protocol):
    """What the engine needs of X."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        ...

    def blocks(self, rows: slice) -> Iterator[tuple[slice, Block]]:
        """Cut these rows into blocks, each with its place in the matrix."""
        ...

    def base(self, view: View) -> FloatArray:
        """Return the z whose moments `Block.moments` subtracts in each column."""
        ...

    def take(self, rows: Any) -> Any:
        """Return these rows as an array or sparse matrix."""
        ...

    def scaled(self, factors: FloatArray, append: bool) -> Any:
        """Return the rows times these factors, and the factors as a last column if `append`."""
        ...

    def clipped(self, low: FloatArray, high: FloatArray) -> "Matrix":
        """Return the matrix with values in [low, high] per column: itself if all are there already."""
        ...


class DenseBlock:
    """Rows in row-major order."""

    def __init__(self, X: Rows) -> None:
        self.X = X

    def squares(self, view: View, out: FloatArray) -> None:
        """Write each row's sum of squares as seen through the view."""
        kernels.dense_squares(self.X, view.center, view.scale, out)

    def margins(self, y: FloatArray, w: FloatArray, offset: float, out: FloatArray) -> None:
        """Write y * (X.w + offset)."""
        kernels.dense_margins(self.X, y, w, offset, out)

    def combine(self, coefficients: FloatArray, magics: FloatArray, out: FloatArray) -> None:
        """Add coefficient times (row, 1), rounded to the columns' grids, to `out`."""
        kernels.dense_combine(self.X, coefficients, magics, self.X[:0], out)

    def gradient(
        self,
        loss: Loss,
        y: FloatArray,
        norms: FloatArray,
        w: FloatArray,
        offset: float,
        clip: float,
        magics: FloatArray,
        out: FloatArray,
    ) -> None:
        """Do `margins` and, with the clipped slopes of the loss there, `combine` while rows are in cache."""
        onepass.gradients(loss).dense(self.X, y, norms, w, offset, clip, magics, out)

    def powers(self, view: View, folds: FloatArray) -> FloatArray:
        """Return the rows' sums of squares of z and of its curve."""
        sums = np.empty((2, len(self.X)))
        moments.dense_powers(self.X, view.center, view.scale, folds, *sums)
        return sums

    def moments(
        self,
        view: View,
        folds: FloatArray,
        radius: float,
        curve_radius: float,
        magics: FloatArray,
        out: FloatArray,
    ) -> None:
        """Add shrunken z and curves to out[0] and out[1]."""
        squares, curves = self.powers(view, folds)
        moments.dense_moments(
            self.X, view.center, view.scale, folds, radius, curve_radius, magics, squares, curves, out
        )

    def magnitudes(self, lowest: int, highest: int, magic: float, out: FloatArray) -> None:
        """Add the rows' shares to the magnitudes of their values."""
        columns.dense_magnitudes(self.X, lowest, highest, magic, out)

    def value_counts(self, edges: FloatArray, out: FloatArray) -> None:
        """Count the rows' values between each column's edges."""
        columns.dense_counts(self.X, edges, out)


class DenseMatrix:
    """A NumPy array in row-major or column-major order, used where it lies."""

    def __init__(self, X: Rows) -> None:
        self.X = X
        self.shape: tuple[int, int] = (X.shape[0], X.shape[1])

    def blocks(self, rows: slice) -> Iterator[tuple[slice, DenseBlock]]:
        """Cut these rows into blocks, each with its place in the matrix."""
        height = max(16, BLOCK_BYTES // max(1, self.shape[1] * self.X.itemsize))
        for part in _cut(rows, height):
            if self.X.flags.c_contiguous:
                yield part, DenseBlock(self.X[part])
            else:
                # Turned into rows first, column-major blocks take the very same arithmetic.
                X = np.empty((part.stop - part.start, self.shape[1]), self.X.dtype)
                kernels.rows_of_columns(self.X.T, part.start, X)
                yield part, DenseBlock(X)

    def base(self, view: View) -> FloatArray:
        """Return zeros: every z is added as it is."""
        return np.zeros(len(view.scale))

    def take(self, rows: Any) -> Any:
        """Return these rows as an array."""
        return self.X[rows]

    def scaled(self, factors: FloatArray, append: bool) -> Any:
        """Return the rows times these factors, and the factors as a last column if `append`."""
        X = np.empty((self.shape[0], self.shape[1] + append), self.X.dtype)
        np.multiply(self.X, factors[:, None], out=X[:, : self.shape[1]], casting="same_kind")
        X[:, self.shape[1] :] = factors[:, None]
        return X

    def clipped(self, low: FloatArray, high: FloatArray) -> "DenseMatrix":
        """Return the matrix with values in [low, high] per column: itself if all are there already."""
        low, high = low.astype(self.X.dtype), high.astype(self.X.dtype)
        everything = self.blocks(slice(0, self.shape[0]))
        if all(columns.dense_fits(block.X, low, high) for _, block in everything):
            return self
        X: Any = np.clip(self.X, low, high)
        return DenseMatrix(X)


class SparseBlock:
    """Rows of a CSR matrix; `indptr` alone is cut."""

    def __init__(self, indptr: Indices, indices: Indices, data: Rows) -> None:
        self.arrays = indptr, indices, data

    def squares(self, view: View, out: FloatArray) -> None:
        """Write each row's sum of squares as seen through the view, never less than it is."""
        kernels.csr_squares(*self.arrays, view.center, view.scale, view.squared_base, out)

    def margins(self, y: FloatArray, w: FloatArray, offset: float, out: FloatArray) -> None:
        """Write y * (X.w + offset)."""
        kernels.csr_margins(*self.arrays, y, w, offset, out)

    def combine(self, coefficients: FloatArray, magics: FloatArray, out: FloatArray) -> None:
        """Add coefficient times (row, 1), rounded to the columns' grids, to `out`."""
        kernels.csr_combine(*self.arrays, coefficients, magics, out)

    def gradient(
        self,
        loss: Loss,
        y: FloatArray,
        norms: FloatArray,
        w: FloatArray,
        offset: float,
        clip: float,
        magics: FloatArray,
        out: FloatArray,
    ) -> None:
        """Do `margins` and, with the clipped slopes of the loss there, `combine` while rows are in cache."""
        onepass.gradients(loss).csr(*self.arrays, y, norms, w, offset, clip, magics, out)

    def powers(self, view: View, folds: FloatArray) -> FloatArray:
        """Return the rows' sums of squares of z and of its curve, never less than they are."""
        sums = np.empty((2, len(self.arrays[0]) - 1))
        moments.csr_powers(*self.arrays, view.center, view.scale, folds, view.zeros(folds), *sums)
        return sums

    def moments(
        self,
        view: View,
        folds: FloatArray,
        radius: float,
        curve_radius: float,
        magics: FloatArray,
        out: FloatArray,
    ) -> None:
        """Add shrunken z and curves, less the base, to out[0] and out[1]; the factors to out[0, -1]."""
        map_ = view.center, view.scale, folds
        squares, curves = self.powers(view, folds)
        moments.csr_moments(*self.arrays, *map_, radius, curve_radius, magics, squares, curves, out)

    def magnitudes(self, lowest: int, highest: int, magic: float, out: FloatArray) -> None:
        """Add the rows' shares to the magnitudes of their values."""
        columns.csr_magnitudes(*self.arrays, lowest, highest, magic, out)

    def value_counts(self, edges: FloatArray, out: FloatArray) -> None:
        """Count the rows' values between each column's edges."""
        columns.csr_counts(*self.arrays, edges, out)


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

    def blocks(self, rows: slice) -> Iterator[tuple[slice, SparseBlock]]:
        """Cut these rows into blocks, each with its place in the matrix."""
        bytes_per_row = (self.X.data.nbytes + self.X.indices.nbytes) // max(1, self.shape[0])
        for part in _cut(rows, max(256, BLOCK_BYTES // max(1, bytes_per_row))):
            indptr = self.X.indptr[part.start : part.stop + 1]
            yield part, SparseBlock(indptr, self.X.indices, self.X.data)

    def base(self, view: View) -> FloatArray:
        """Return the z of values that are absent."""
        return view.base

    def take(self, rows: Any) -> Any:
        """Return these rows as a sparse matrix."""
        return self.X[rows]

    def scaled(self, factors: FloatArray, append: bool) -> Any:
        """Return the rows times these factors, and the factors as a last column if `append`."""
        scaled = sp.diags_array(factors) @ self.X
        if append:
            scaled = sp.hstack([scaled, sp.csr_array(factors[:, None])])
        return sp.csr_matrix(scaled, dtype=self.X.dtype)

    def clipped(self, low: FloatArray, high: FloatArray) -> "SparseMatrix":
        """Return the matrix with values in [low, high] per column: itself if all are there already."""
        if np.any(low > 0.0) or np.any(high < 0.0):
            raise ValueError("low and high must include 0, the value of what a sparse matrix does not store")
        low, high = low.astype(self.X.dtype), high.astype(self.X.dtype)
        if columns.csr_fits(self.X.indices, self.X.data, low, high):
            return self
        X = self.X.copy()
        columns.csr_clip(X.indices, X.data, low, high)
        return SparseMatrix(X)


def _cut(rows: slice, height: int) -> Iterator[slice]:
    for start in range(rows.start, rows.stop, height):
        yield slice(start, min(start + height, rows.stop))


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
