"""Dense matrices: NumPy arrays in row-major or column-major order, used where they lie."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from privfit.engine import columns, kernels, moments, onepass, threads
from privfit.engine.base import FloatArray
from privfit.engine.kernels import Rows
from privfit.engine.matrix import BLOCK_BYTES, cut
from privfit.engine.rounding import Rounding
from privfit.engine.threads import Call
from privfit.engine.view import View
from privfit.losses import Loss

SCRATCH_BYTES = 2**22  # of the rows that are turned at a time
CLIPPED_ROWS = 2**12  # at a time


class DenseBlock:
    """Rows of an array."""

    def __init__(self, array: Rows, rows: slice) -> None:
        self.array, self.rows = array, rows
        self.in_order = array[rows] if array.flags.c_contiguous else None

    @property
    def X(self) -> Rows:
        """The rows in row-major order. Those of a column-major array are copied whenever they are needed."""
        if self.in_order is not None:
            return self.in_order
        # Turned into rows first, they take the very same arithmetic.
        X = np.empty((self.rows.stop - self.rows.start, self.array.shape[1]), self.array.dtype)
        kernels.rows_of_columns(self.array.T, self.rows.start, X)
        return X

    def squares(self, view: View, out: FloatArray) -> None:
        """Write each row's sum of squares as seen through the view."""
        kernels.dense_squares(self.X, view.center, view.scale, out)

    def margins(self, y: FloatArray, weights: tuple[FloatArray, float], out: FloatArray) -> Call:
        """Return the call that writes y * (X.w + offset)."""
        return self.call(kernels.dense_margins, y, *weights, out)

    def gradient(
        self,
        loss: Loss,
        pulls: FloatArray,
        weights: tuple[FloatArray, float],
        clip: float,
        rounding: Rounding,
        out: FloatArray,
    ) -> Call:
        """Return the call that adds clipped slope of the loss at the weights times (row, 1) to `out`."""
        gradient = onepass.gradients(loss).dense
        return self.call(gradient, pulls, *weights, clip, rounding.magics, out)

    def gradient_there(
        self,
        loss: Loss,
        margins: FloatArray,
        pulls: FloatArray,
        clip: float,
        rounding: Rounding,
        out: FloatArray,
    ) -> Call:
        """Return the call that does the same where the rows have these margins."""
        gradient = onepass.gradients(loss).dense_there
        return self.call(gradient, margins, pulls, clip, rounding.magics, out)

    def call(self, function: Callable[..., None], *args: Any) -> Call:
        """Return the call function(X, ...)."""
        if self.in_order is not None:
            return partial(function, self.in_order, *args)
        return lambda: function(self.X, *args)

    def powers(self, view: View, folds: FloatArray) -> FloatArray:
        """Return the rows' sums of squares of z and of its curve."""
        X = self.X
        sums = np.empty((2, len(X)))
        moments.dense_powers(X, view.center, view.scale, folds, *sums)
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
        most = BLOCK_BYTES if self.X.flags.c_contiguous else SCRATCH_BYTES
        for part in cut(rows, max(16, most // max(1, self.shape[1] * self.X.itemsize))):
            yield part, DenseBlock(self.X, part)

    def weights(self, w: FloatArray, offset: float, exact: bool = True) -> tuple[FloatArray, float]:
        """Return both, the weights padded: a row's products are always added up in the same order."""
        return kernels.padded(w), offset

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
        parts = list(cut(slice(0, self.shape[0]), CLIPPED_ROWS))
        fits: list[bool] = []

        def look(X: Rows) -> None:
            fits.append(all(fits) and columns.dense_fits(X, low, high))

        threads.run([[DenseBlock(self.X, part).call(look)] for part in parts])
        if all(fits):
            return self
        X = np.empty(self.shape, self.X.dtype)
        threads.run(
            [[DenseBlock(self.X, part).call(columns.dense_clip, low, high, X[part])] for part in parts]
        )
        return DenseMatrix(X)
