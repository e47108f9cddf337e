"""Matrices in mapped files, which are read block by block and compared with their fingerprints.

For a matrix in memory, clipped or scaled rows are a copy. Here they are computed whenever a block is read,
because a copy might not fit into memory. The arithmetic is the same.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.engine.exact.grids import FloatArray
from privfit.engine.fingerprints import Fingerprints
from privfit.engine.kernels import columns
from privfit.engine.kernels.dense import Rows
from privfit.engine.kernels.packing import Packed
from privfit.engine.layouts.csr import SparseLayout, SparseWeights
from privfit.engine.layouts.dense import DenseLayout
from privfit.engine.layouts.layout import Loops, Rounding
from privfit.engine.parallel import threads
from privfit.engine.parallel.chunks import cut
from privfit.engine.remembered import remembered
from privfit.losses.loss import Loss

BLOCK_BYTES = 2**20  # bytes of the rows that are read at a time, so that they stay in the nearest caches

# A function that is applied to rows when they are read; its arguments are the rows and their numbers.
Step = Callable[[Rows, Any], Rows]


class MappedDense(DenseLayout):
    """A mapped array in row-major order.

    Parameters
    ----------
    X : array of shape (n_records, n_columns)
        The numbers in the file.
    fingerprints : Fingerprints, optional
        The fingerprints of X; by default they are computed now.
    steps : sequence of callables
        Functions that are applied to rows when they are read, in this order.
    n_columns : int, optional
        The number of columns after these steps.
    """

    def __init__(
        self,
        X: Rows,
        fingerprints: Fingerprints | None = None,
        steps: Sequence[Step] = (),
        n_columns: int | None = None,
    ) -> None:
        super().__init__(X)
        self.fingerprints = Fingerprints(X) if fingerprints is None else fingerprints
        self.steps = tuple(steps)
        self.shape = (X.shape[0], X.shape[1] if n_columns is None else n_columns)
        self.height = max(1, BLOCK_BYTES // max(1, X.shape[1] * X.itemsize))

    def parts(self, rows: slice) -> Iterator[tuple[slice, Rows]]:
        """Yield these rows block by block."""
        for part in cut(rows, self.height):
            yield part, self.take(part)

    def take(self, rows: Any) -> Any:
        """Return these rows after checking that they have not changed."""
        width = self.X.shape[1]
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.shape[0])
            self.fingerprints.check(start * width, stop * width)
        else:
            rows = np.asarray(rows)
            self.fingerprints.check_each(rows * width, (rows + 1) * width)
        X = self.X[rows]
        for step in self.steps:
            X = step(X, rows)
        return X

    def subset(self, rows: Any) -> DenseLayout:
        """Return a matrix of these rows, in memory."""
        return DenseLayout(np.ascontiguousarray(self.take(rows)))

    def first(self, count: int) -> "MappedDense":
        """Return a matrix of the first rows in the same file."""
        return MappedDense(self.X[:count], self.fingerprints, self.steps, self.shape[1])

    def scaled(self, factors: FloatArray, append: bool) -> Any:
        """Return the rows times these factors, and the factors as a last column if `append`."""

        def scale(X: Rows, rows: Any) -> Rows:
            scaled: Rows = DenseLayout(X).scaled(factors[rows], append)
            return scaled

        return self._then(scale, self.shape[1] + append)

    def clipped(self, low: FloatArray, high: FloatArray) -> DenseLayout:
        """Return the matrix with column j clipped to [low_j, high_j], or itself if that changes nothing."""
        low, high = low.astype(self.X.dtype), high.astype(self.X.dtype)
        fits: list[bool] = []

        def look(rows: slice) -> None:
            for _, X in self.parts(rows):
                fits.append(all(fits) and columns.dense_fits(X, low, high))

        def clip(X: Rows, rows: Any) -> Rows:
            clipped = np.empty_like(X)
            columns.dense_clip(X, low, high, clipped)
            return clipped

        shares = cut(slice(0, self.shape[0]), 64 * self.height)
        threads.run([partial(look, share) for share in shares])
        return self if all(fits) else self._then(clip, self.shape[1])

    def _then(self, step: Step, n_columns: int) -> "MappedDense":
        return MappedDense(self.X, self.fingerprints, (*self.steps, step), n_columns)


class MappedSparse(SparseLayout):
    """A CSR matrix whose entries are in a mapped file; `indptr` and its packed copy are in memory."""

    def __init__(self, X: Any, pack: bool = True) -> None:
        super().__init__(X, pack)
        self.fingerprints = Fingerprints(self.X.data), Fingerprints(self.X.indices)

    @remembered
    def packed(self) -> Packed:
        """X in the layout with the fastest products."""
        self._check(slice(0, self.shape[0]))
        return SparseLayout.packed.compute(self)

    def _check(self, rows: slice, *matrices: Packed) -> None:
        """Check these rows, unless they are read from packed copies alone."""
        if matrices and not any(matrix.data is self.X.data for matrix in matrices):
            return
        start, stop, _ = rows.indices(self.shape[0])
        for fingerprints in self.fingerprints:
            fingerprints.check(int(self.X.indptr[start]), int(self.X.indptr[stop]))

    def visit(self, rows: slice, loops: Loops, arguments: Callable[[slice], tuple[Any, ...]]) -> None:
        """Call the loop with these rows."""
        self._check(rows)
        super().visit(rows, loops, arguments)

    def predict(self, rows: slice, weights: SparseWeights, out: FloatArray) -> None:
        """Write x.w + offset of these rows."""
        self._check(rows, weights.X)
        super().predict(rows, weights, out)

    def add_gradient(
        self,
        rows: slice,
        loss: Loss,
        targets: FloatArray,
        reciprocals: FloatArray,
        weights: SparseWeights,
        clip: float,
        rounding: Rounding,
        out: FloatArray,
    ) -> None:
        """Add clipped slope of the loss at the weights times (row, 1), rounded, to the sums in `out`."""
        self._check(rows, weights.X, self.for_sums(rounding))
        super().add_gradient(rows, loss, targets, reciprocals, weights, clip, rounding, out)

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
        self._check(rows, self.for_sums(rounding))
        super().add_combination(rows, slopes, reciprocals, clip, rounding, out)

    def add_gradients(
        self,
        rows: slice,
        loss: Loss,
        targets: FloatArray,
        reciprocals: FloatArray,
        weights: FloatArray,
        at: Sequence[SparseWeights],
        clip: float,
        rounding: Rounding,
        out: FloatArray,
    ) -> None:
        """Add clipped coefficients of several outputs times (row, 1), rounded, to a row of sums for each."""
        self._check(rows, *(output.X for output in at), self.for_sums(rounding))
        super().add_gradients(rows, loss, targets, reciprocals, weights, at, clip, rounding, out)

    def take(self, rows: Any) -> Any:
        """Return these rows as a sparse matrix after checking that they have not changed."""
        if isinstance(rows, slice):
            self._check(rows)
        else:
            rows = np.asarray(rows)
            starts: NDArray[np.int64] = self.X.indptr[rows].astype(np.int64)
            stops: NDArray[np.int64] = self.X.indptr[rows + 1].astype(np.int64)
            held = stops > starts
            for fingerprints in self.fingerprints:
                fingerprints.check_each(starts[held], stops[held])
        return self.X[rows]

    def subset(self, rows: Any) -> SparseLayout:
        """Return a matrix of these rows, in memory."""
        return SparseLayout(self.take(rows), pack=False)

    def first(self, count: int) -> "MappedSparse":
        """Return a matrix of the first rows in the same file; it is packed anew."""
        return MappedSparse(self._rows_until(count), self.pack)

    def scaled(self, factors: FloatArray, append: bool) -> Any:
        """Return the rows times these factors, and the factors as a last column if `append`; in memory."""
        self._check(slice(0, self.shape[0]))
        return super().scaled(factors, append)

    def clipped(self, low: FloatArray, high: FloatArray) -> SparseLayout:
        """Return the matrix with values clipped to [low, high] per column: itself, or a copy in memory."""
        self._check(slice(0, self.shape[0]))
        return super().clipped(low, high)
