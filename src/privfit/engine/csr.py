"""Sparse matrices: SciPy's CSR, with a packed copy where that is faster."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from privfit.engine import columns, kernels, moments, onepass, packing, sparse
from privfit.engine.base import FloatArray
from privfit.engine.kernels import Indices, Rows
from privfit.engine.matrix import BLOCK_BYTES, cut
from privfit.engine.packing import PIECE, Layout
from privfit.engine.remembered import remembered
from privfit.engine.rounding import Rounding
from privfit.engine.threads import Call
from privfit.engine.view import View
from privfit.losses import Loss


class SparseWeights(NamedTuple):
    """Weights, and the layout that they are for."""

    layout: Layout
    parts: sparse.Weights


class SparseBlock:
    """Rows of a CSR matrix; `indptr` alone is cut. `start` is the first one's number, a multiple of PIECE."""

    def __init__(self, matrix: "SparseMatrix", rows: slice) -> None:
        self.matrix, self.start, self.stop = matrix, rows.start, rows.stop

    @property
    def arrays(self) -> tuple[Indices, Indices, Rows]:
        """The rows in CSR."""
        X = self.matrix.X
        return X.indptr[self.start : self.stop + 1], X.indices, X.data

    def squares(self, view: View, out: FloatArray) -> None:
        """Write each row's sum of squares as seen through the view, never less than it is."""
        kernels.csr_squares(*self.arrays, view.center, view.scale, view.squared_base, out)

    def margins(self, y: FloatArray, weights: SparseWeights, out: FloatArray) -> Call:
        """Return the call that writes y * (X.w + offset)."""
        return partial(sparse.margins, weights.layout, self.start, self.stop, y, weights.parts, out)

    def gradient(
        self,
        loss: Loss,
        pulls: FloatArray,
        weights: SparseWeights,
        clip: float,
        rounding: Rounding,
        out: FloatArray,
    ) -> Call:
        """Return the call that adds clipped slope of the loss at the weights times (row, 1) to `out`."""
        layouts = weights.layout, self.matrix.layout(rounding)
        one = 1.0 if rounding.ones_alike else np.nan
        gradient = onepass.gradients(loss).sparse
        place = self.start, pulls, weights.parts
        return partial(gradient, *layouts, *place, clip, rounding.magics, one, out)

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
        layout = self.matrix.layout(rounding)
        one = 1.0 if rounding.ones_alike else np.nan
        gradient = onepass.gradients(loss).sparse_there
        place = self.start, margins, pulls
        return partial(gradient, layout, *place, clip, rounding.magics, one, out)

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
    """A SciPy CSR matrix whose rows hold each column at most once.

    Margins and gradients use a packed copy of it (see `packing`), if it packs well, and `pack` asks for it.
    """

    def __init__(self, X: Any, pack: bool = True) -> None:
        if not kernels.csr_is_canonical(X.indptr, X.indices, X.shape[1]):
            # A column stored twice in a row would make the row's norm, and so its clipping, wrong.
            X.check_format(full_check=True)
            X = X.copy()
            X.has_canonical_format = False
            X.sum_duplicates()
        self.X, self.pack = X, pack
        self.shape: tuple[int, int] = X.shape

    @remembered
    def loose(self) -> Layout:
        """X where it is."""
        return packing.loose(self.X)

    @remembered
    def packed(self) -> Layout:
        """X as it is fastest."""
        return packing.packed(self.X) if self.pack else self.loose

    def layout(self, rounding: Rounding) -> Layout:
        """Return the layout for sums: phrases of ones are for ones that are rounded alike."""
        return self.packed if rounding.ones_alike else self.loose

    def blocks(self, rows: slice) -> Iterator[tuple[slice, SparseBlock]]:
        """Cut these rows into blocks, each with its place in the matrix."""
        bytes_per_row = (self.X.data.nbytes + self.X.indices.nbytes) // max(1, self.shape[0])
        pieces = max(1, BLOCK_BYTES // max(1, PIECE * bytes_per_row))
        for part in cut(rows, pieces * PIECE):
            yield part, SparseBlock(self, part)

    def weights(self, w: FloatArray, offset: float, exact: bool = True) -> SparseWeights:
        """Return the weights of the layout's parts, with the grid that makes sums of products exact.

        Weights that are too large for such a grid get the layout that does not depend on other rows.
        """
        magic = sparse.weight_magic(w) if exact else 0.0
        layout = self.packed if magic or not exact else self.loose
        phrases = packing.spelled(layout.parents, layout.lasts, w, magic)
        return SparseWeights(layout, sparse.Weights(w, w[layout.plane_columns], phrases, magic, offset))

    def n_sums(self, rounding: Rounding) -> int:
        """Return how many sums a gradient has: columns, coefficients, ones in columns, phrases of ones."""
        return 2 * self.shape[1] + 1 + len(self.layout(rounding).parents)

    def totals(self, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Spread the sums of phrases over their columns."""
        p = self.shape[1]
        columns, ones, phrases = sums[: p + 1], sums[p + 1 : 2 * p + 1], sums[2 * p + 1 :]
        if len(phrases):
            packing.spread(self.packed.parents, self.packed.lasts, phrases, ones)
        return columns, ones

    def base(self, view: View) -> FloatArray:
        """Return the z of values that are absent."""
        return view.base

    def take(self, rows: Any) -> Any:
        """Return these rows as a sparse matrix."""
        return self.X[rows]

    def subset(self, rows: Any) -> "SparseMatrix":
        """Return a matrix of these rows. A few passes over it would not pay for packing it."""
        return SparseMatrix(self.X[rows], pack=False)

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
