"""The engine for data in this process's memory: NumPy arrays and SciPy CSR matrices."""

import copy
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from privfit.engine import rounding, threads
from privfit.engine.base import FloatArray
from privfit.engine.csr import SparseMatrix
from privfit.engine.dense import DenseMatrix
from privfit.engine.matrix import Block, Matrix, cut
from privfit.engine.place import Deferred, LocalLine, LocalPoint, frozen
from privfit.engine.remembered import remembered
from privfit.engine.rounding import (
    LARGEST_RADIUS,
    MAX_RECORDS,
    SMALLEST_RADIUS,
    Rounding,
    magics,
)
from privfit.engine.spans import Span, chunk_size, spans
from privfit.engine.threads import Call
from privfit.engine.view import View
from privfit.losses import Loss

APART = 32  # float64s: two pairs of cache lines, for lines are fetched in pairs

__all__ = ["LocalEngine", "LocalLine", "LocalPoint"]


class Part(NamedTuple):
    """Rows that one call works on, and what is known of them."""

    rows: slice
    block: Block
    y: FloatArray
    pulls: FloatArray


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
        self.chunk_size = chunk_size(self.n_records, self.n_weights)
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

    def _look_through(self, view: View, squares: FloatArray | None = None) -> None:
        """Make the features those that the view shows. Their sums of squares are computed when asked for."""
        self.view = view
        self._remembered: dict[tuple[int, int], list[Part]] = {}
        for outdated in ("squares", "norms", "pulls"):
            self.__dict__.pop(outdated, None)
        if squares is not None:
            self.squares = squares

    @remembered
    def squares(self) -> FloatArray:
        """Every record's sum of squares of z. One pass over X."""
        squares = np.empty(self.n_records)
        self.for_each_block(lambda rows, block: block.squares(self.view, squares[rows]))
        return squares

    @remembered
    def norms(self) -> FloatArray:
        """The norms of (z, bias), never too small."""
        return rounding.norms(self.squares, self.matrix.shape[1], self.view.bias)

    @remembered
    def pulls(self) -> FloatArray:
        """The labels over the norms: what a clip of 1 leaves of the labels."""
        pulls: FloatArray = self.y / self.norms
        return pulls

    def for_each_span(self, prepare: Callable[[Span], list[Call]], *needed: Deferred) -> None:
        """Make the calls that prepare(span) returns for every span, on all cores.

        What is `needed` is computed first, by the same threads. Calls are prepared here, for the interpreter
        serves one thread at a time, and they are few, for each takes it a while.
        """
        once = dict.fromkeys(needed)
        prepared = [
            [*(call for one in once for call in one.calls(span)), *prepare(span)] for span in self.spans()
        ]
        threads.run(prepared)
        for one in once:
            one.settle()

    def for_each_chunk(self, prepare: Callable[[int, slice], list[Call]], *needed: Deferred) -> None:
        """Make the calls that prepare(number, rows) returns for every chunk, likewise."""
        chunks = self.chunks

        def prepare_all(span: Span) -> list[Call]:
            return [call for number in span.chunks for call in prepare(number, chunks[number])]

        self.for_each_span(prepare_all, *needed)

    def settled(self, needed: Deferred) -> FloatArray:
        """Return the numbers of all records."""
        self.for_each_span(lambda span: [], needed)
        return needed.values

    def spans(self) -> tuple[Span, ...]:
        """Return how the chunks are grouped. This depends on the number of threads, which chunks do not."""
        return spans(self.n_records, self.chunk_size, threads.n_threads())

    def parts(self, span: Span) -> list[Part]:
        """Return the parts of a span's rows, remembered because every step of a walk asks for them."""
        key = span.rows.start, span.rows.stop
        if key not in self._remembered:
            self._remembered[key] = self._parts(span.rows)
        return self._remembered[key]

    def _parts(self, rows: slice) -> list[Part]:
        return [Part(part, block, self.y[part], self.pulls[part]) for part, block in self.matrix.blocks(rows)]

    @property
    def chunks(self) -> list[slice]:
        """The rows of each chunk."""
        return list(cut(slice(0, self.n_records), self.chunk_size))

    def for_each_block(self, function: Callable[[slice, Block], None]) -> None:
        """Call function(rows, block) for every block of rows, on all cores."""

        def prepare(span: Span) -> list[Call]:
            return [partial(function, part, block) for part, block in self.matrix.blocks(span.rows)]

        self.for_each_span(prepare)

    def partial_sums(self, count: int, *shape: int) -> FloatArray:
        """Return `count` times zeros to sum into, too far apart for two threads to share a cache line."""
        size = math.prod(shape)
        sums: FloatArray = np.zeros((max(1, count), size + APART))[:, :size].reshape(-1, *shape)
        return sums

    def exact_sums(self, shape: tuple[int, ...], add: Callable[[Block, FloatArray], None]) -> FloatArray:
        """Return what add(block, out) adds up over all blocks, for numbers whose sums are exact."""
        sums = np.zeros((threads.n_threads(), *shape))

        def visit(chunks: list[slice], out: FloatArray) -> None:
            for rows in chunks:
                for _, block in self.matrix.blocks(rows):
                    add(block, out)

        chunks = self.chunks
        threads.run([[partial(visit, chunks[k :: len(sums)], sums[k])] for k in range(len(sums))])
        total: FloatArray = sums.sum(axis=0)
        return total

    # -- places ------------------------------------------------------------------------------------------

    def products(self, w: FloatArray) -> Deferred:
        """Return y * (z, bias).w for every record: one pass over X, when they are asked for."""
        weights = self.matrix.weights(*self._weights(w))

        def fill(span: Span, out: FloatArray) -> list[Call]:
            return [part.block.margins(part.y, weights, out[part.rows]) for part in self.parts(span)]

        return Deferred(self.n_records, fill)

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

        def add(part: Part, out: FloatArray) -> Call:
            place = self.loss, part.pulls, weights
            return part.block.gradient(*place, clip, rounding, out)

        return self.gradient_total(rounding, clip, add)

    def gradient_total(
        self, rounding: Rounding, clip: float, add: Callable[[Part, FloatArray], Call], *needed: Deferred
    ) -> FloatArray:
        """Return the gradient whose sums the calls from add(part, out) add up."""
        n_sums = self.matrix.n_sums(rounding)
        if clip < math.inf:
            sums = self.partial_sums(len(self.spans()), n_sums)
            self.for_each_span(
                lambda span: [add(part, sums[span.number]) for part in self.parts(span)], *needed
            )
        else:
            sums = self.partial_sums(len(self.chunks), n_sums)
            self.for_each_chunk(
                lambda chunk, rows: [add(part, sums[chunk]) for part in self._parts(rows)], *needed
            )
        return self.view.gradient(*self.matrix.totals(np.add.reduce(sums)))

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

    def gradient_error(self, w: FloatArray) -> float:
        """Bound the L2 distance of `gradient_at(w, inf)`, as computed, from the exact sum."""
        if not self.view.is_plain:
            raise ValueError("the error is known of raw features only, not of transformed ones")
        return rounding.unrounded_error(
            self.n_records,
            self.chunk_size,
            self.n_weights,
            lipschitz=self.loss.lipschitz,
            smoothness=self.loss.smoothness,
            longest=float(np.max(self.norms, initial=0.0)),
            length=float(np.linalg.norm(w)),
        )

    # -- the same records, or some of them, in another form -----------------------------------------------

    def subset(self, rows: NDArray[np.integer]) -> "LocalEngine":
        """Return an engine over these records (indices, repeats allowed), for mini-batches."""
        rows = np.asarray(rows, dtype=np.intp)
        engine = copy.copy(self)
        engine.matrix = self.matrix.subset(rows)
        engine.y, engine.n_records = self.y[rows], len(rows)
        engine._look_through(self.view, self.squares[rows])
        engine._check()
        engine.chunk_size = chunk_size(engine.n_records, engine.n_weights)
        return engine

    def transformed(self, center: ArrayLike, scale: ArrayLike, bias: float = 1.0) -> "LocalEngine":
        """Return an engine over the features scale * (z - center) and an intercept column that holds `bias`.

        X is shared. A scale of 0 drops a column.
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
        if not SMALLEST_RADIUS <= radius <= LARGEST_RADIUS:
            raise ValueError(f"radius must be in [{SMALLEST_RADIUS}, {LARGEST_RADIUS}], got {radius!r}")
        factors = radius / self.norms  # 0 where the norm has overflowed
        if shrink_only:
            factors = np.minimum(factors, 1.0)
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
        return _counts(np.sqrt(self.squares), edges)

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
