"""Dense matrices: NumPy arrays in row-major or column-major order, used where they lie."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from privfit.engine import columns, kernels, moments, onepass
from privfit.engine.base import FloatArray
from privfit.engine.kernels import Rows
from privfit.engine.matrix import BLOCK_BYTES, cut
from privfit.engine.rounding import Rounding
from privfit.engine.view import View
from privfit.losses import Loss


class DenseBlock:
    """Rows in row-major order."""

    def __init__(self, X: Rows) -> None:
        self.X = X

    def squares(self, view: View, out: FloatArray) -> None:
        """Write each row's sum of squares as seen through the view."""
        kernels.dense_squares(self.X, view.center, view.scale, out)

    def margins(self, y: FloatArray, weights: tuple[FloatArray, float], out: FloatArray) -> None:
        """Write y * (X.w + offset)."""
        kernels.dense_margins(self.X, y, *weights, out)

    def gradient(
        self,
        loss: Loss,
        y: FloatArray,
        norms: FloatArray,
        weights: tuple[FloatArray, float],
        clip: float,
        rounding: Rounding,
        out: FloatArray,
    ) -> None:
        """Add clipped slope of the loss at the weights times (row, 1), rounded, to the sums in `out`."""
        onepass.gradients(loss).dense(self.X, y, norms, *weights, clip, rounding.magics, out)

    def gradient_there(
        self,
        loss: Loss,
        margins: FloatArray,
        y: FloatArray,
        norms: FloatArray,
        clip: float,
        rounding: Rounding,
        out: FloatArray,
    ) -> None:
        """Do the same where the rows have these margins."""
        onepass.gradients(loss).dense_there(self.X, margins, y, norms, clip, rounding.magics, out)

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
        for part in cut(rows, height):
            if self.X.flags.c_contiguous:
                yield part, DenseBlock(self.X[part])
            else:
                # Turned into rows first, column-major blocks take the very same arithmetic.
                X = np.empty((part.stop - part.start, self.shape[1]), self.X.dtype)
                kernels.rows_of_columns(self.X.T, part.start, X)
                yield part, DenseBlock(X)

    def weights(self, w: FloatArray, offset: float, exact: bool = True) -> tuple[FloatArray, float]:
        """Return both as they are: a row's products are always added up in the same order."""
        return w, offset

    def n_sums(self, rounding: Rounding) -> int:
        """Return how many sums a gradient has: the columns' and that of the coefficients."""
        return self.shape[1] + 1

    def totals(self, sums: FloatArray) -> tuple[FloatArray, None]:
        """Return the sums, which are of ones, too."""
        return sums, None

    def base(self, view: View) -> FloatArray:
        """Return zeros: every z is added as it is."""
        return np.zeros(len(view.scale))

    def take(self, rows: Any) -> Any:
        """Return these rows as an array."""
        return self.X[rows]

    def subset(self, rows: Any) -> "DenseMatrix":
        """Return a matrix of these rows."""
        X = self.X[rows]
        return DenseMatrix(X if X.flags.forc else np.ascontiguousarray(X))

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
