"""A table of features: sums over its rows, seen through an affine view, computed on all cores."""

import copy
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from privfit.engine.combination import shrunk
from privfit.engine.exact import bounds
from privfit.engine.exact.bounds import LARGEST_RADIUS, SMALLEST_RADIUS
from privfit.engine.exact.grids import MAX_RECORDS, FloatArray
from privfit.engine.kernels.csr import csr_squares
from privfit.engine.kernels.dense import dense_squares
from privfit.engine.kernels.largest import csr_largest, dense_largest
from privfit.engine.layouts.csr import SparseLayout
from privfit.engine.layouts.dense import DenseLayout
from privfit.engine.layouts.layout import Layout, Loops, Rounding
from privfit.engine.layouts.mapped import MappedDense, MappedSparse
from privfit.engine.parallel import threads
from privfit.engine.parallel.chunks import chunk_size, cut, shares
from privfit.engine.remembered import remembered
from privfit.engine.view import View
from privfit.mapped import is_mapped

# float64s between the sums of two threads, so that they are not in neighbouring cache lines
SPACING_OF_SUMS = 32
MOST_SUMS = 2**24  # float64s of all threads' sums together, 128 MB, unless one thread alone needs more
# attributes that a table computed from its rows, and that are wrong for another layout or view
OUTDATED = (
    "squares",
    "norms",
    "reciprocals",
    "coordinate_reciprocals",
    "chunks",
    "_roundings",
    "_powers",
)
SQUARES_LOOPS = Loops(dense_squares, csr_squares)
LARGEST_LOOPS = Loops(dense_largest, csr_largest)


class Summary(Protocol):
    """A sum over rows that is exact in any order: its shape, its compiled loop, and the loop's arguments."""

    @property
    def loops(self) -> Loops:
        """The compiled loops."""
        ...

    def shape(self, table: "Table") -> tuple[int, ...]:
        """Return the shape of the sums."""
        ...

    def arguments(self, table: "Table") -> Callable[[slice], tuple[Any, ...]]:
        """Return the function of rows that gives the loop's arguments between the rows and the sums."""
        ...


class Table:
    """The rows of X, seen through a view.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_records, n_columns)
        Finite features. float32 and float64, dense in row or column order or CSR, are used without a copy and
        must not be changed afterwards; anything else is converted once. Arrays in a mapped file are read
        block by block; if a block has changed, the pass ends with an error. A `Layout` is used as it is. A
        `Table` that is not transformed shares its layout and its sums of squares.
    intercept : bool
        Whether there is an implicit last column of ones. It is never stored.

    Notes
    -----
    A record whose norm overflows (above 1e154) contributes nothing to a clipped gradient sum.
    """

    def __init__(self, X: Any, *, intercept: bool = True) -> None:
        self.layout: Layout = X.layout if isinstance(X, Table) else _as_layout(X)
        self.view = View.plain(self.n_columns, intercept)
        self.chunk_size = chunk_size(self.n_records, self.n_weights)
        if isinstance(X, Table):
            if not X.view.is_plain:
                raise ValueError("share a table before transforming it: its norms are those of the view")
            self.__dict__["squares"] = X.squares
            return  # X was checked before
        if self.n_records > MAX_RECORDS:
            raise ValueError(f"at most {MAX_RECORDS} records are supported, got {self.n_records}")
        unusual = self.layout.take(np.flatnonzero(~np.isfinite(self.squares)))
        if not np.all(np.isfinite(unusual.data if issparse(unusual) else unusual)):
            raise ValueError("X must be finite, but holds NaN or infinity")

    # -- shape ---------------------------------------------------------------------------------------------

    @property
    def table(self) -> "Table":
        """The table itself, so that questions can be asked of a problem or of a table."""
        return self

    @property
    def n_records(self) -> int:
        """Number of records."""
        return self.layout.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of columns of X."""
        return self.layout.shape[1]

    @property
    def n_weights(self) -> int:
        """Number of columns, plus one with an intercept."""
        return self.view.n_weights

    @property
    def intercept(self) -> bool:
        """Whether the last weight multiplies an implicit constant column."""
        return self.view.bias is not None

    # -- norms ---------------------------------------------------------------------------------------------

    @remembered
    def squares(self) -> FloatArray:
        """Every record's sum of squares of z. One pass over X."""
        squares = np.empty(self.n_records)
        map_ = self.view.center, self.view.scale, self.view.squared_base

        def arguments(rows: slice) -> tuple[Any, ...]:
            return *map_, squares[rows]

        self.for_each_chunk(lambda rows: self.layout.visit(rows, SQUARES_LOOPS, arguments))
        return squares

    @remembered
    def norms(self) -> FloatArray:
        """The norms of (z, bias), never too small."""
        return bounds.norms(self.squares, self.n_columns, self.view.bias)

    @remembered
    def reciprocals(self) -> FloatArray:
        """One over the norms: the factor by which a slope is multiplied to give a gradient of norm 1."""
        norms = bounds.norms(self.squares, self.n_columns, self.view.bias)  # most fits need them only here
        reciprocals: FloatArray = np.divide(1.0, norms, out=norms)
        return reciprocals

    @remembered
    def coordinate_reciprocals(self) -> FloatArray:
        """One over the largest |coordinate| of (z, bias): the same for clipping coordinates. One pass."""
        largest, view = np.empty(self.n_records), self.view
        map_ = view.center, view.scale, view.bias or 0.0, float(np.max(np.abs(view.base), initial=0.0))
        self.for_each_chunk(
            lambda rows: self.layout.visit(rows, LARGEST_LOOPS, lambda part: (*map_, largest[part]))
        )
        with np.errstate(divide="ignore", over="ignore"):  # infinite for rows near zero, which need no clip
            return 1.0 / largest

    # -- passes --------------------------------------------------------------------------------------------

    @remembered
    def chunks(self) -> list[slice]:
        """The rows of each chunk."""
        return list(cut(slice(0, self.n_records), self.chunk_size))

    def for_each_chunk(self, visit: Callable[[slice], None]) -> None:
        """Call visit(rows) for every chunk, on all cores."""

        def work(share: Sequence[slice]) -> None:
            for rows in share:
                visit(rows)

        threads.run([partial(work, share) for share in shares(self.chunks, threads.n_threads())])

    def sums(self, size: int, add: Callable[[slice, FloatArray], None], *, exact: bool = True) -> FloatArray:
        """Call add(rows, out) for all rows, and return the `size` sums that it adds up.

        Exact sums may be added up in any order, so each thread adds up its own. Other sums are added up chunk
        by chunk, in order, so that the result does not depend on the threads.
        """
        chunks = self.chunks
        if exact:  # one call for each thread
            groups = shares(chunks, threads.n_threads(), max(1, MOST_SUMS // max(1, size)))
            chunks = [slice(group[0].start, group[-1].stop) for group in groups if group]
        partial_sums = np.zeros((max(1, len(chunks)), size + SPACING_OF_SUMS))[:, :size]
        threads.run([partial(add, *each) for each in zip(chunks, partial_sums, strict=False)])
        total: FloatArray = partial_sums[0] if len(partial_sums) == 1 else np.add.reduce(partial_sums)
        return total

    def summarise(self, summary: Summary) -> FloatArray:
        """Return the sums of a summary. One pass over X."""
        shape, arguments = summary.shape(self), summary.arguments(self)

        def add(rows: slice, out: FloatArray) -> None:
            sums = out.reshape(shape)
            self.layout.visit(rows, summary.loops, lambda part: (*arguments(part), sums))

        return self.sums(math.prod(shape), add).reshape(shape)

    def predictions(self, w: FloatArray) -> FloatArray:
        """Return (z, bias).w of every record. One pass over X.

        w has shape (n_weights,), or (n_weights, outputs) for several predictions of each record. Weights of
        zero need no pass.
        """
        outputs = [np.ascontiguousarray(output) for output in np.atleast_2d(w.T)]
        weights = [self.layout.weights(*self.weights_and_offset(output)) for output in outputs]
        predictions = np.zeros((len(outputs), self.n_records))

        def predict(rows: slice) -> None:  # all outputs of one chunk, because it is still in the cache
            for of_output, out in zip(weights, predictions, strict=True):
                self.layout.predict(rows, of_output, out)

        if w.any():
            self.for_each_chunk(predict)
        return predictions[0] if w.ndim == 1 else np.ascontiguousarray(predictions.T)

    def combination(self, coefficients: FloatArray, clip: float = math.inf) -> FloatArray:
        """Sum coefficient times (z, bias) over the records, each share clipped to L2 norm `clip`.

        Coefficients have shape (n_records,), or (n_records, outputs) for sums of shape (n_weights, outputs);
        a record's share is then an outer product. They are finite. One pass over X.

        Guarantee: if a record's coefficients depend on that record alone, one record more moves the sums by
        at most `combination_bound(clip, outputs)` in L2 norm; with a finite clip they are exact.
        """
        return self.viewed_sums(self.combination_sums(coefficients, clip))

    def combination_sums(self, coefficients: FloatArray, clip: float = math.inf) -> FloatArray:
        """Return the sums of a `combination` before `viewed_sums`, a row for each output."""
        if coefficients.ndim not in (1, 2) or len(coefficients) != self.n_records:
            raise ValueError(
                f"expected coefficients for each of {self.n_records} records, got shape {coefficients.shape}"
            )
        if coefficients.ndim == 2:
            coefficients = shrunk(coefficients, clip * self.reciprocals)
        layout, rounding = self.layout, self.rounding(clip)
        outputs = [np.ascontiguousarray(output) for output in np.atleast_2d(coefficients.T)]
        size = layout.n_sums(rounding)

        def add(rows: slice, out: FloatArray) -> None:
            parts = [rows] if len(outputs) == 1 else cut(rows, self.chunk_size)
            for part in parts:  # all outputs of one chunk, because it is still in the cache
                for output, sums in zip(outputs, out.reshape(len(outputs), size), strict=True):
                    layout.add_combination(part, output, self.reciprocals, clip, rounding, sums)

        sums = self.sums(len(outputs) * size, add, exact=clip < math.inf).reshape(len(outputs), size)
        by_columns = np.stack([layout.by_columns(output) for output in sums])
        return by_columns[0] if coefficients.ndim == 1 else by_columns

    def viewed_sums(self, sums: FloatArray) -> FloatArray:
        """Turn sums of coefficient times (x, 1), by columns, into those of coefficient times (z, bias).

        Sums with a finite clip are exact and add up over tables with the same columns and view. Applying the
        view rounds, so it is done once, for the total.
        """
        if sums.ndim == 2:
            return np.stack([self.viewed_sums(output) for output in sums], axis=1)
        return self.view.viewed_sums(*self.layout.totals(sums))

    def combination_bound(self, clip: float, outputs: int = 1) -> float:
        """Bound the L2 distance that one record moves a `combination`: `clip` and the rounding."""
        return bounds.combination_bound(self.rounding(clip).bound, clip, outputs)

    # -- weights -------------------------------------------------------------------------------------------

    def weights_and_offset(self, w: FloatArray) -> tuple[FloatArray, float]:
        """Return the weights of the columns of X, and the constant, that give the predictions of w."""
        if w.shape != (self.n_weights,):
            raise ValueError(f"expected {self.n_weights} weights, got shape {w.shape}")
        return self.view.weights_and_offset(w)

    def raw_weights(self, w: FloatArray) -> FloatArray:
        """Return the weights of the columns of X, and the intercept, that give the predictions of w."""
        return self.view.raw_weights(w)

    def rounding(self, clip: float) -> Rounding:
        """Return how shares of clipped gradients are rounded; remembered for later steps of a fit."""
        remembered = self.__dict__.setdefault("_roundings", {})
        if clip not in remembered:
            remembered[clip] = self.layout.rounding(self.view, clip)
        rounding: Rounding = remembered[clip]
        return rounding

    # -- the same rows, or some of them, in another form -----------------------------------------------------

    def _with(self, layout: Layout, view: View) -> "Table":
        """Return a table of another layout or view, without what was computed from this one's rows."""
        table = copy.copy(self)
        table.layout, table.view = layout, view
        for outdated in OUTDATED:
            table.__dict__.pop(outdated, None)
        return table

    def subset(self, rows: NDArray[np.integer]) -> "Table":
        """Return a table of these rows (indices, repeats allowed), for mini-batches."""
        table = self._with(self.layout.subset(rows), self.view)
        table.__dict__["squares"] = self.squares[rows]
        table.chunk_size = chunk_size(table.n_records, table.n_weights)
        return table

    def first(self, count: int) -> "Table":
        """Return a table of the first rows, which shares its memory, its packing and its norms with this one.

        The features of further rows are never read by it.
        """
        table = self._with(self.layout.first(count), self.view)
        table.__dict__["squares"] = self.squares[:count]
        table.chunk_size = chunk_size(table.n_records, table.n_weights)
        return table

    def transformed(self, center: ArrayLike, scale: ArrayLike, bias: float = 1.0) -> "Table":
        """Return a table of the features scale * (z - center) and an intercept column that holds `bias`.

        X is shared, and weights are those of the new features. Scales are not negative; 0 drops a column, for
        later transformations too. Centring needs the intercept.
        """
        return self._with(self.layout, self.view.then(center, scale, bias))

    def clipped(self, low: ArrayLike, high: ArrayLike) -> "Table":
        """Return a table whose column j is clipped to [low_j, high_j]; X is copied if that changes it.

        Not after `transformed`. The bounds are rounded to X's precision; those of a sparse X must include 0.
        """
        if not self.view.is_plain:
            raise ValueError("clip before transforming: the bounds are those of the raw features")
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        if not (low.shape == high.shape == self.layout.shape[1:] and np.all(low <= high)):
            raise ValueError(f"low <= high must hold for {self.n_columns} columns")
        layout = self.layout.clipped(low, high)
        return self if layout is self.layout else self._with(layout, self.view)

    def with_rows_of(self, radius: float, *, shrink_only: bool = False) -> "Table":
        """Return a table of a copy of the rows (x, 1), each scaled to norm `radius`.

        With `shrink_only` shorter rows stay as they are. The intercept's column, if any, is scaled with its
        row and is then an ordinary last column, so weights mean what they did. Not after `transformed`.
        The radius is in [2^-100, 2^100]. Guarantee: no row is longer than radius (1 + 2^-20). A row whose
        squares overflow becomes zeros. A row whose squares underflow becomes shorter than `radius`, and a row
        of zeros stays a row of zeros.
        """
        if not self.view.is_plain:
            raise ValueError("scale rows before transforming: their norms are those of the raw features")
        if not SMALLEST_RADIUS <= radius <= LARGEST_RADIUS:
            raise ValueError(f"radius must be in [{SMALLEST_RADIUS}, {LARGEST_RADIUS}], got {radius!r}")
        factors = radius / self.norms  # 0 where the norm has overflowed
        if shrink_only:
            factors = np.minimum(factors, 1.0)
        return Table(self.layout.scaled(factors, append=self.intercept), intercept=False)


def _as_layout(X: Any) -> Layout:
    """Return X as a layout; X is converted if its type, order or precision is not supported."""
    if hasattr(X, "add_combination"):  # a user's own layout
        layout: Layout = X
        return layout
    sparse = issparse(X)
    X = X.tocsr() if sparse else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if sparse:
        return MappedSparse(X) if is_mapped(X.data) else SparseLayout(X)
    if is_mapped(X):
        return MappedDense(np.ascontiguousarray(X))
    return DenseLayout(X if X.flags.forc and X.flags.aligned else np.ascontiguousarray(X))
