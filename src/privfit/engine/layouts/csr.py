"""Sparse matrices: SciPy's CSR, with a packed copy where that is faster."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from privfit.engine.exact import bounds
from privfit.engine.exact.grids import FloatArray, grids, magic, magics
from privfit.engine.kernels import columns, csr, sparse
from privfit.engine.kernels.gradients import gradients, sparse_combination
from privfit.engine.kernels.outputs import output_loops
from privfit.engine.kernels.packing import Packed
from privfit.engine.layouts import packed
from privfit.engine.layouts.layout import Loops, Rounding
from privfit.engine.remembered import remembered
from privfit.engine.view import View
from privfit.losses.loss import Loss

# as a share of the clip: all ones share a grid only if the bound grows by at most this
SHARED_GRID_TOLERANCE = 1e-4


class SparseWeights(NamedTuple):
    """Weights, and the packed matrix that uses them."""

    X: Packed
    parts: sparse.PackedWeights


class SparseLayout:
    """A SciPy CSR matrix whose rows hold each column at most once.

    Predictions and gradients use a packed copy of it, if it packs well and `pack` asks for it.

    Parameters
    ----------
    X : CSR matrix
        The matrix.
    pack : bool
        Whether to pack it.
    whole : SparseLayout, optional
        The matrix that X is the first rows of, whose packed copy is used.

    Notes
    -----
    Rows begin at multiples of `packing.ROWS_PER_TILE`, as chunks do.
    """

    def __init__(self, X: Any, pack: bool = True, whole: "SparseLayout | None" = None) -> None:
        if not csr.csr_is_canonical(X.indptr, X.indices, X.shape[1]):
            # if a row stored a column twice, its norm, and so its clip, would be wrong
            X.check_format(full_check=True)
            X = X.copy()
            X.has_canonical_format = False
            X.sum_duplicates()
        self.X, self.pack, self.whole = X, pack, whole
        self.shape: tuple[int, int] = X.shape

    @remembered
    def loose(self) -> Packed:
        """X with all entries loose, without a copy."""
        return packed.loose(self.X)

    @remembered
    def packed(self) -> Packed:
        """X in the layout with the fastest products."""
        if self.whole is not None:
            return packed.first(self.whole.packed, self.shape[0])
        return packed.packed(self.X) if self.pack else self.loose

    def for_sums(self, rounding: Rounding) -> Packed:
        """Return the matrix for sums: the packed one only if all ones are rounded on one grid."""
        return self.packed if rounding.ones_alike else self.loose

    def visit(self, rows: slice, loops: Loops, arguments: Callable[[slice], tuple[Any, ...]]) -> None:
        """Call the loop with these rows; only `indptr` is sliced."""
        X = self.X
        loops.csr(X.indptr[rows.start : rows.stop + 1], X.indices, X.data, *arguments(rows))

    def weights(self, w: FloatArray, offset: float, exact: bool = True) -> SparseWeights:
        """Return the weights of the packed matrix's parts, with the grid that makes sums of products exact.

        Weights that are too large for such a grid use the loose matrix, which does not depend on other rows.
        """
        step = sparse.weight_magic(w) if exact else 0.0
        X = self.packed if step or not exact else self.loose
        phrases = sparse.phrase_weights(X.parents, X.lasts, w, step)
        return SparseWeights(X, sparse.PackedWeights(w, w[X.plane_columns], phrases, step, offset))

    def predict(self, rows: slice, weights: SparseWeights, out: FloatArray) -> None:
        """Write x.w + offset of these rows."""
        sparse.sparse_predictions(weights.X, rows.start, weights.parts, out[rows])

    def rounding(self, view: View, clip: float) -> Rounding:
        """Return how shares of a gradient are rounded; without a clip, not at all.

        Ones in all columns are rounded on the coefficient's grid, unless the scales of columns differ so much
        that this grid would be too coarse. Without an intercept the coefficient has no bound, so it has no
        grid.
        """
        if clip == math.inf:
            return Rounding(np.zeros(len(view.scale) + 1), math.inf, ones_alike=True)
        if view.is_plain:  # one grid serves all: a one adds a coefficient of at most `clip`
            constants = np.full(len(view.scale) + 1, magic(clip))
            return Rounding(constants, bounds.gradient_bound(clip, view.n_weights), ones_alike=True)
        clips = bounds.column_clips(clip, view.center, view.scale, view.bias)
        steps = grids(clips)
        map_ = view.center, view.scale, view.bias
        bound = bounds.view_gradient_bound(clip, *map_, steps)
        if view.bias is not None:
            coarser = np.maximum(steps, steps[-1])
            if_alike = bounds.view_gradient_bound(clip, *map_, coarser, summands=2)
            if if_alike <= bound + SHARED_GRID_TOLERANCE * clip:
                return Rounding(magics(clips), if_alike, ones_alike=True)
        return Rounding(magics(clips), bound)

    def n_sums(self, rounding: Rounding) -> int:
        """Return how many sums a gradient has: columns, coefficients, ones in columns, phrases of ones."""
        return 2 * self.shape[1] + 1 + len(self.for_sums(rounding).parents)

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
        matrices = weights.X, self.for_sums(rounding), rows.start
        records = targets[rows], reciprocals[rows]
        how = clip, rounding.magics, rounding.ones_alike
        gradients(loss).sparse(*matrices, *records, weights.parts, *how, out)

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
        how = clip, rounding.magics, rounding.ones_alike
        sparse_combination(self.for_sums(rounding), rows.start, slopes[rows], reciprocals[rows], *how, out)

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
        """Add clipped coefficients of several outputs times (row, 1), rounded, to a row of sums for each.

        `weights` multiply the derivatives; `at` is what the predictions of each output are computed from.
        """
        records = targets[rows], reciprocals[rows], weights[rows]
        coefficients = np.empty((len(at), rows.stop - rows.start))
        for output, share in zip(at, coefficients, strict=True):
            sparse.sparse_predictions(output.X, rows.start, output.parts, share)
        output_loops(loss).coefficients(coefficients, *records, clip)
        matrix, how = self.for_sums(rounding), (clip, rounding.magics, rounding.ones_alike)
        for share, sums in zip(coefficients, out, strict=True):
            sparse_combination(matrix, rows.start, share, records[1], *how, sums)

    def by_columns(self, sums: FloatArray) -> FloatArray:
        """Add the sums of phrases, which differ from matrix to matrix, to those of their columns."""
        p = self.shape[1]
        ones, phrases = sums[p + 1 : 2 * p + 1], sums[2 * p + 1 :]
        if len(phrases):
            sparse.spread(self.packed.parents, self.packed.lasts, phrases, ones)
        return sums[: 2 * p + 1]

    def totals(self, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Add the sums of ones to those of other values.

        Both are exact, on different grids. The rounding error of adding them is returned, too.
        """
        p = self.shape[1]
        values, ones = sums[: p + 1], sums[p + 1 :]
        columns = values[:p] + ones
        kept = columns - values[:p]
        lost = (values[:p] - (columns - kept)) + (ones - kept)
        return np.append(columns, values[p]), lost

    def base(self, view: View) -> FloatArray:
        """Return the z of values that are not stored."""
        return view.base

    def take(self, rows: Any) -> Any:
        """Return these rows as a sparse matrix."""
        return self.X[rows]

    def subset(self, rows: Any) -> "SparseLayout":
        """Return a matrix of these rows, not packed, because packing pays off only after many passes."""
        return SparseLayout(self.X[rows], pack=False)

    def first(self, count: int) -> "SparseLayout":
        """Return a matrix of the first rows, which shares the memory of this one."""
        return SparseLayout(self._rows_until(count), self.pack, self)

    def _rows_until(self, count: int) -> Any:
        X, stop = self.X, self.X.indptr[count]
        arrays = X.data[:stop], X.indices[:stop], X.indptr[: count + 1]
        return sp.csr_matrix(arrays, shape=(count, self.shape[1]))

    def column(self, values: FloatArray) -> Any:
        """Return a sparse matrix of this one column."""
        return sp.csr_matrix(values[:, None], dtype=self.X.dtype)

    def scaled(self, factors: FloatArray, append: bool) -> Any:
        """Return the rows times these factors, and the factors as a last column if `append`."""
        scaled = sp.diags_array(factors) @ self.X
        if append:
            scaled = sp.hstack([scaled, sp.csr_array(factors[:, None])])
        return sp.csr_matrix(scaled, dtype=self.X.dtype)

    def clipped(self, low: FloatArray, high: FloatArray) -> "SparseLayout":
        """Return the matrix with column j clipped to [low_j, high_j], or itself if that changes nothing."""
        if np.any(low > 0.0) or np.any(high < 0.0):
            raise ValueError("low and high must include 0, which a sparse matrix does not store")
        low, high = low.astype(self.X.dtype), high.astype(self.X.dtype)
        if columns.csr_fits(self.X.indices, self.X.data, low, high):
            return self
        X = self.X.copy()
        columns.csr_clip(X.indices, X.data, low, high)
        return SparseLayout(X)
