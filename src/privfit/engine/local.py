"""The engine for data in this process's memory: NumPy arrays and SciPy CSR matrices."""

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from privfit.engine import rounding, threads
from privfit.engine.base import FloatArray
from privfit.engine.csr import SparseMatrix
from privfit.engine.dense import DenseMatrix
from privfit.engine.matrix import Block, Matrix
from privfit.engine.packing import PIECE
from privfit.engine.place import Deferred, LocalLine, LocalPoint, frozen
from privfit.engine.rounding import MAX_RECORDS, Rounding, magics
from privfit.engine.view import View
from privfit.losses import Loss

APART = 32  # float64s: two pairs of cache lines, for lines are fetched in pairs
LONGEST_SPAN = 4  # chunks, whose margins stay in the second cache

__all__ = ["LocalEngine", "LocalLine", "LocalPoint"]


class LocalEngine:
    """Exact sums over the rows of X, whose labels y are +1 or -1.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_records, n_columns)
        Finite features. float32 and float64, dense in row or column order or CSR, are used in place and
        must not be changed afterwards; anything else is converted once.
    y : array of +1 and -1
    loss : Loss
    intercept : bool
        Whether the last weight is an intercept. Its column is never stored.

    Notes
    -----
    A record whose norm overflows (above 1e154) contributes nothing to a clipped gradient sum.
    """

    def __init__(self, X: Any, y: ArrayLike, loss: Loss, *, intercept: bool = True) -> None:
        self.matrix: Matrix = _as_matrix(X)
        self.y = np.array(y, dtype=np.float64)
        self.loss = loss
        self.intercept = intercept
        self.n_records, n_columns = self.matrix.shape
        self.n_weights = n_columns + intercept
        self._check()
        self.chunks = _chunks(self.n_records, self.n_weights)
        self._look_through(View.plain(n_columns, intercept))
        self._check_finite()

    def _check(self) -> None:
        if self.y.shape != (self.n_records,):
            raise ValueError(f"y must have shape ({self.n_records},), one label per row, got {self.y.shape}")
        if not np.all(np.abs(self.y) == 1.0):
            raise ValueError("y must hold +1 and -1 only")
        if self.n_records > MAX_RECORDS:
            raise ValueError(f"at most {MAX_RECORDS} records are supported, got {self.n_records}")

    def _check_finite(self) -> None:
        unusual = self.matrix.take(np.flatnonzero(~np.isfinite(self.norms)))
        if not np.all(np.isfinite(unusual.data if issparse(unusual) else unusual)):
            raise ValueError("X must be finite, but holds NaN or infinity")

    def _look_through(self, view: View) -> None:
        """Make the features those that the view shows: one pass over X for their norms."""
        self.view = view
        squares = np.empty(self.n_records)
        self.for_each_block(lambda rows, block: block.squares(view, squares[rows]))
        self.norms = np.sqrt(squares + view.bias * view.bias)
        self.feature_norms = np.sqrt(squares, out=squares)

    def for_each_span(self, function: Callable[[int, slice], None]) -> None:
        """Call function(number, chunks) for spans of several chunks, numbered from 0, on all cores.

        Each call takes the interpreter a while, so there are few. Which, depends on the threads: use it where
        nothing is summed, or all sums are exact.
        """
        length, n_chunks = self._span(), len(self.chunks)

        def visit(number: int) -> None:
            function(number, slice(number * length, min((number + 1) * length, n_chunks)))

        threads.for_each(visit, self.n_spans())

    def n_spans(self) -> int:
        """Return how many spans there are."""
        return -(-len(self.chunks) // self._span())

    def _span(self) -> int:
        return max(1, min(LONGEST_SPAN, -(-len(self.chunks) // threads.n_threads())))

    def rows_of(self, chunks: slice) -> slice:
        """Return the rows of neighbouring chunks."""
        return slice(self.chunks[chunks.start].start, self.chunks[chunks.stop - 1].stop)

    def for_each_block(self, function: Callable[[slice, Block], None]) -> None:
        """Call function(rows, block) for every block of rows, on all cores."""

        def visit(_: int, chunks: slice) -> None:
            for rows, block in self.matrix.blocks(self.rows_of(chunks)):
                function(rows, block)

        self.for_each_span(visit)

    def partial_sums(self, count: int, *shape: int) -> FloatArray:
        """Return `count` times zeros to sum into, too far apart for two threads to share a cache line."""
        size = math.prod(shape)
        sums: FloatArray = np.zeros((max(1, count), size + APART))[:, :size].reshape(-1, *shape)
        return sums

    def exact_sums(self, shape: tuple[int, ...], add: Callable[[Block, FloatArray], None]) -> FloatArray:
        """Return what add(block, out) adds up over all blocks, for numbers whose sums are exact."""
        sums = np.zeros((threads.n_threads(), *shape))

        def visit(worker: int) -> None:
            for rows in self.chunks[worker :: len(sums)]:
                for _, block in self.matrix.blocks(rows):
                    add(block, sums[worker])

        threads.for_each(visit, len(sums))
        total: FloatArray = sums.sum(axis=0)
        return total

    # -- places ------------------------------------------------------------------------------------------

    def products(self, w: FloatArray) -> Deferred:
        """Return y * (z, bias).w for every record: one pass over X, when they are asked for."""
        weights = self.matrix.weights(*self._weights(w))

        def fill(_: slice, rows: slice, out: FloatArray) -> None:
            for part, block in self.matrix.blocks(rows):
                block.margins(self.y[part], weights, out[part.start - rows.start : part.stop - rows.start])

        return Deferred(self, fill)

    def _weights(self, w: FloatArray) -> tuple[FloatArray, float]:
        if w.shape != (self.n_weights,):
            raise ValueError(f"expected {self.n_weights} weights, got shape {w.shape}")
        return self.view.weights(w)

    def at(self, w: ArrayLike) -> LocalPoint:
        """Return the point w. One pass over X."""
        w = frozen(w)
        return LocalPoint(self, w, self.products(w))

    def gradient_at(self, w: ArrayLike, clip: float) -> FloatArray:
        """Sum the clipped gradients at w: `at(w).gradient_sum(clip)`, bit for bit, in one pass over X."""
        # Without a clip nothing is promised of the last bit, and margins may as well keep theirs.
        weights = self.matrix.weights(*self._weights(np.asarray(w, dtype=np.float64)), exact=clip < math.inf)
        rounding = self.view.gradient_rounding(clip)

        def add(_: slice, rows: slice, out: FloatArray) -> None:
            for part, block in self.matrix.blocks(rows):
                block.gradient(self.loss, self.y[part], self.norms[part], weights, clip, rounding, out)

        return self.gradient_total(rounding, clip, add)

    def gradient_total(
        self, rounding: Rounding, clip: float, add: Callable[[slice, slice, FloatArray], None]
    ) -> FloatArray:
        """Return the gradient whose sums add(chunks, rows, out) adds up for neighbouring chunks."""
        exact = clip < math.inf
        sums = self.partial_sums(self.n_spans() if exact else len(self.chunks), self.matrix.n_sums(rounding))

        def visit(number: int, chunks: slice) -> None:
            if exact:
                add(chunks, self.rows_of(chunks), sums[number])
            else:
                for chunk in range(chunks.start, chunks.stop):
                    add(slice(chunk, chunk + 1), self.chunks[chunk], sums[chunk])

        self.for_each_span(visit)
        return self.view.gradient(*self.matrix.totals(sums.sum(axis=0)))

    def raw_weights(self, w: FloatArray) -> FloatArray:
        """Return the weights of the columns of X, and the intercept, that give the margins of w."""
        weights, offset = self._weights(w)
        return np.append(weights, offset) if self.intercept else weights

    def pulled_back(self, gradient: FloatArray) -> FloatArray:
        """Turn a gradient with respect to raw weights into one with respect to this engine's."""
        return self.view.gradient(gradient if self.intercept else np.append(gradient, 0.0))

    @property
    def stretch(self) -> float:
        """How much longer than w the raw weights can be."""
        return self.view.stretch

    def gradient_bound(self, clip: float) -> float:
        """Bound the L2 distance that one record moves a gradient sum: `clip` and the rounding."""
        return self.view.gradient_bound(clip)

    # -- the same records, or some of them, in another form -----------------------------------------------

    def subset(self, rows: NDArray[np.integer]) -> "LocalEngine":
        """Return an engine over these records (indices, repeats allowed), for mini-batches."""
        rows = np.asarray(rows, dtype=np.intp)
        engine = copy.copy(self)
        engine.matrix = self.matrix.subset(rows)
        engine.y, engine.n_records = self.y[rows], len(rows)
        engine.norms, engine.feature_norms = self.norms[rows], self.feature_norms[rows]
        engine._check()
        engine.chunks = _chunks(engine.n_records, engine.n_weights)
        return engine

    def transformed(self, center: ArrayLike, scale: ArrayLike, bias: float = 1.0) -> "LocalEngine":
        """Return an engine over the features scale * (z - center) and an intercept column that holds `bias`.

        X is shared. One pass over X, for the norms. A scale of 0 drops a column.
        """
        engine = copy.copy(self)
        engine._look_through(self.view.then(center, scale, bias))
        return engine

    def clipped(self, low: ArrayLike, high: ArrayLike) -> "LocalEngine":
        """Return an engine whose column j is clipped to [low_j, high_j]; X is copied if that changes it.

        The bounds are rounded to X's precision. Those of a sparse X must include 0.
        """
        if not self.view.is_plain:
            raise ValueError("clip before transforming: the bounds are those of the raw features")
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        if not (low.shape == high.shape == self.matrix.shape[1:] and np.all(low <= high)):
            raise ValueError(f"low <= high must hold for {self.matrix.shape[1]} columns")
        matrix = self.matrix.clipped(low, high)
        if matrix is self.matrix:
            return self
        engine = copy.copy(self)
        engine.matrix = matrix
        engine._look_through(self.view)
        return engine

    def with_rows_of(self, radius: float, *, shrink_only: bool = False) -> "LocalEngine":
        """Return an engine over a copy of the rows (x, 1), each scaled to norm `radius`.

        With `shrink_only` shorter rows stay as they are. The intercept becomes an ordinary last column.
        """
        if not self.view.is_plain:
            raise ValueError("scale rows before transforming: their norms are those of the raw features")
        with np.errstate(divide="ignore"):
            factors = radius / self.norms
        if shrink_only:
            factors = np.minimum(factors, 1.0)
        factors[~np.isfinite(factors)] = 0.0
        return LocalEngine(
            self.matrix.scaled(factors, append=self.intercept), self.y, self.loss, intercept=False
        )

    def with_loss(self, loss: Loss) -> "LocalEngine":
        """Return an engine over the same records that sums another loss. X is shared; no pass."""
        engine = copy.copy(self)
        engine.loss = loss
        return engine

    # -- what the features are like -----------------------------------------------------------------------

    def norm_counts(self, edges: ArrayLike) -> FloatArray:
        """Count the records with ||z|| in (edges[k + 1], edges[k]]; the outer bins take all beyond. No pass.

        The intercept's column is not part of the norm. Every record is in one bin.
        """
        return _counts(self.feature_norms, edges)

    def curve_counts(self, edges: ArrayLike, folds: FloatArray) -> FloatArray:
        """Count the records by the norm of their curve z * (z - fold), as `norm_counts` does. One pass."""
        powers = np.empty((2, self.n_records))

        def visit(rows: slice, block: Block) -> None:
            powers[:, rows] = block.powers(self.view, folds)

        self.for_each_block(visit)
        powers[np.isnan(powers)] = math.inf
        return _counts(np.sqrt(powers[1]), edges)

    def moment_sums(
        self, radius: float, curve_radius: float, folds: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Sum z and its curve z * (z - fold) over the records, each shrunk to these two norms. One pass.

        The intercept's column is left out.
        """
        p = self.matrix.shape[1]
        base = self.matrix.base(self.view)
        curved_base = base * (base - folds)
        clips = (rounding.moment_clips(radius, base), rounding.moment_clips(curve_radius, curved_base))
        constants = magics(np.stack([np.append(clip, 1.0) for clip in clips]))
        sums = self.exact_sums(
            (2, p + 1),
            lambda block, out: block.moments(self.view, folds, radius, curve_radius, constants, out),
        )
        factors = sums[0, p]
        return sums[0, :p] + base * factors, sums[1, :p] + curved_base * factors

    def moment_bounds(self, radius: float, curve_radius: float, folds: FloatArray) -> tuple[float, float]:
        """Bound the L2 distances that one record moves the two `moment_sums`."""
        base = self.matrix.base(self.view)
        curved_base = base * (base - folds)
        return rounding.moment_bound(radius, base), rounding.moment_bound(curve_radius, curved_base)

    def value_counts(self, edges: ArrayLike) -> FloatArray:
        """Count the values of each raw column between the ascending edges in its row. One pass over X.

        Bin k takes what is above edge k - 1 and not above edge k; the outer bins take all beyond.
        """
        edges = np.ascontiguousarray(edges, dtype=np.float64)
        p = self.matrix.shape[1]
        if edges.ndim != 2 or len(edges) != p or not np.all(edges[:, 1:] >= edges[:, :-1]):
            raise ValueError(f"edges must be {p} rows of ascending numbers, one for each column")
        return self.exact_sums((p, edges.shape[1] + 1), lambda block, out: block.value_counts(edges, out))

    def magnitude_sums(self, lowest: int = -30, highest: int = 40) -> FloatArray:
        """Sum the records' shares of each raw column's bins, by ceil(log2 |x|) from `lowest` to `highest`.

        A record with k values that are not zero adds 1 / sqrt(k) to the bin of each. Zeros and what is
        smaller than the first bin add nothing; the last bin also takes what is larger. One pass over X.
        """
        if not -1022 <= lowest <= highest <= 1023:
            raise ValueError(f"need -1022 <= lowest <= highest <= 1023, got {lowest} and {highest}")
        shape = (self.matrix.shape[1], highest - lowest + 1)
        constant = rounding.magic(1.0)
        return self.exact_sums(shape, lambda block, out: block.magnitudes(lowest, highest, constant, out))

    def magnitude_bound(self) -> float:
        """Bound the L2 distance that one record moves `magnitude_sums`."""
        return rounding.magnitude_bound(self.matrix.shape[1])


def _counts(norms: FloatArray, edges: ArrayLike) -> FloatArray:
    """Count norms between descending edges; the outer bins take all beyond."""
    edges = np.asarray(edges, dtype=np.float64)
    n_bins = len(edges) - 1
    if n_bins < 1 or not np.all(edges[1:] < edges[:-1]):
        raise ValueError("edges must be at least two, strictly descending")
    below = np.searchsorted(edges[::-1], norms, side="left")
    counts = np.bincount(np.clip(n_bins - below, 0, n_bins - 1), minlength=n_bins)
    return counts.astype(np.float64)


def _chunks(n_records: int, n_weights: int) -> list[slice]:
    """Cut the rows so that the cut depends on the shape only: sums then do not depend on the threads."""
    most = max(1, min(64, 2**24 // max(1, n_weights)))
    size = max(12288, PIECE * -(-n_records // (most * PIECE)))
    return [slice(start, min(start + size, n_records)) for start in range(0, n_records, size)]


def _as_matrix(X: Any) -> Matrix:
    """Wrap X: as it is if its type, order and precision are supported, else converted once."""
    sparse = issparse(X)
    X = X.tocsr() if sparse else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if sparse:
        return SparseMatrix(X)
    return DenseMatrix(X if X.flags.forc and X.flags.aligned else np.ascontiguousarray(X))
