"""Dense matrices: NumPy arrays in row-major or column-major order, used without a copy."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from privfit.engine.exact import bounds
from privfit.engine.exact.grids import FloatArray, grids, magic, magics
from privfit.engine.kernels import columns, dense
from privfit.engine.kernels.dense import Rows
from privfit.engine.kernels.gradients import dense_combination, gradients
from privfit.engine.kernels.outputs import output_loops
from privfit.engine.layouts.layout import Loops, Rounding
from privfit.engine.parallel import threads
from privfit.engine.parallel.chunks import cut
from privfit.engine.view import View
from privfit.losses.loss import Loss

TRANSPOSED_BYTES = 2**22  # bytes of the rows of a column-major array that are transposed at a time
ROWS_CLIPPED_AT_ONCE = 2**12

DenseWeights = tuple[FloatArray, float]


class DenseLayout:
    """A NumPy array in row-major or column-major order."""

    def __init__(self, X: Rows) -> None:
        self.X = X
        self.shape: tuple[int, int] = (X.shape[0], X.shape[1])

    def parts(self, rows: slice) -> Iterator[tuple[slice, Rows]]:
        """Yield these rows in row-major order, in parts if they have to be transposed first.

        Both orders then go through the same arithmetic, so their results are the same bit for bit.
        """
        if self.X.flags.c_contiguous:
            yield rows, self.X[rows]
            return
        for part in cut(rows, max(16, TRANSPOSED_BYTES // max(1, self.shape[1] * self.X.itemsize))):
            X = np.empty((part.stop - part.start, self.shape[1]), self.X.dtype)
            dense.rows_of_columns(self.X.T, part.start, X)
            yield part, X

    def visit(self, rows: slice, loops: Loops, arguments: Callable[[slice], tuple[Any, ...]]) -> None:
        """Call the loop with these rows, in one or several parts, and with arguments(part)."""
        for part, X in self.parts(rows):
            loops.dense(X, *arguments(part))

    def weights(self, w: FloatArray, offset: float, exact: bool = True) -> DenseWeights:
        """Return padded weights and the offset. Padded, all rows are added up in the same order."""
        return dense.padded(w), offset

    def predict(self, rows: slice, weights: DenseWeights, out: FloatArray) -> None:
        """Write x.w + offset of these rows."""
        for part, X in self.parts(rows):
            dense.dense_predictions(X, *weights, out[part])

    def rounding(self, view: View, clip: float) -> Rounding:
        """Return how shares of a gradient are rounded; without a clip, not at all."""
        if clip == math.inf:
            return Rounding(np.zeros(len(view.scale) + 1), math.inf)
        if view.is_plain:  # one grid serves all
            constants = np.full(len(view.scale) + 1, magic(clip))
            return Rounding(constants, bounds.gradient_bound(clip, view.n_weights))
        clips = bounds.column_clips(clip, view.center, view.scale, view.bias)
        bound = bounds.view_gradient_bound(clip, view.center, view.scale, view.bias, grids(clips))
        return Rounding(magics(clips), bound)

    def n_sums(self, rounding: Rounding) -> int:
        """Return how many sums a gradient has: the columns' and that of the coefficients."""
        return self.shape[1] + 1

    def add_gradient(
        self,
        rows: slice,
        loss: Loss,
        targets: FloatArray,
        reciprocals: FloatArray,
        weights: DenseWeights,
        clip: float,
        rounding: Rounding,
        out: FloatArray,
    ) -> None:
        """Add clipped slope of the loss at the weights times (row, 1), rounded, to the sums in `out`."""
        add = gradients(loss).dense
        for part, X in self.parts(rows):
            add(X, targets[part], reciprocals[part], *weights, clip, rounding.magics, out)

    def add_combination(
        self,
        rows: slice,
        slopes: FloatArray,
        reciprocals: FloatArray,
        clip: float,
        rounding: Rounding,
        out: FloatArray,
    ) -> None:
        """Add clipped slope times (row, 1), rounded, to `out`: a gradient whose slopes are known."""
        for part, X in self.parts(rows):
            dense_combination(X, slopes[part], reciprocals[part], clip, rounding.magics, out)

    def add_gradients(
        self,
        rows: slice,
        loss: Loss,
        targets: FloatArray,
        reciprocals: FloatArray,
        weights: FloatArray,
        at: Sequence[DenseWeights],
        clip: float,
        rounding: Rounding,
        out: FloatArray,
    ) -> None:
        """Add clipped coefficients of several outputs times (row, 1), rounded, to a row of sums for each.

        `weights` multiply the derivatives; `at` is what the predictions of each output are computed from.
        """
        columns, offsets = np.stack([w for w, _ in at]), np.array([offset for _, offset in at])
        add = output_loops(loss).dense
        for part, X in self.parts(rows):
            records = targets[part], reciprocals[part], weights[part]
            add(X, *records, columns, offsets, clip, rounding.magics, out)

    def by_columns(self, sums: FloatArray) -> FloatArray:
        """Return the sums as they are."""
        return sums

    def totals(self, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sums; dense sums lose nothing to rounding."""
        return sums, np.zeros(self.shape[1])

    def base(self, view: View) -> FloatArray:
        """Return zeros, because dense loops add every z itself."""
        return np.zeros(len(view.scale))

    def take(self, rows: Any) -> Any:
        """Return these rows as an array."""
        return self.X[rows]

    def subset(self, rows: Any) -> "DenseLayout":
        """Return a matrix of these rows."""
        X = self.X[rows]
        return DenseLayout(X if X.flags.forc else np.ascontiguousarray(X))

    def first(self, count: int) -> "DenseLayout":
        """Return a matrix of the first rows; those of a column-major array are copied."""
        X: Any = self.X[:count]
        return DenseLayout(X if X.flags.c_contiguous else np.ascontiguousarray(X))

    def column(self, values: FloatArray) -> Any:
        """Return an array of this one column."""
        return values[:, None].astype(self.X.dtype)

    def scaled(self, factors: FloatArray, append: bool) -> Any:
        """Return the rows times these factors, and the factors as a last column if `append`."""
        X = np.empty((self.shape[0], self.shape[1] + append), self.X.dtype)
        np.multiply(self.X, factors[:, None], out=X[:, : self.shape[1]], casting="same_kind")
        X[:, self.shape[1] :] = factors[:, None]
        return X

    def clipped(self, low: FloatArray, high: FloatArray) -> "DenseLayout":
        """Return the matrix with column j clipped to [low_j, high_j], or itself if that changes nothing."""
        low, high = low.astype(self.X.dtype), high.astype(self.X.dtype)
        parts = list(cut(slice(0, self.shape[0]), ROWS_CLIPPED_AT_ONCE))
        fits: list[bool] = []

        def look(rows: slice) -> None:
            for _, X in self.parts(rows):
                fits.append(all(fits) and columns.dense_fits(X, low, high))

        threads.run([partial(look, part) for part in parts])
        if all(fits):
            return self
        clipped = np.empty(self.shape, self.X.dtype)

        def clip(rows: slice) -> None:
            for part, X in self.parts(rows):
                columns.dense_clip(X, low, high, clipped[part])

        threads.run([partial(clip, part) for part in parts])
        return DenseLayout(clipped)
