"""The engine for data in this process's memory: NumPy arrays and SciPy CSR matrices."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from privfit.engine.base import FloatArray
from privfit.engine.matrix import as_matrix
from privfit.engine.pointwise import logistic_sums, loops, shift
from privfit.engine.rounding import (
    MAX_CANDIDATES,
    MAX_PRODUCT_CLIP,
    MAX_RECORDS,
    MIN_PRODUCT_CLIP,
    magic,
)
from privfit.engine.threads import for_each
from privfit.losses import LOGISTIC, Loss


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
        Whether the last weight is an intercept. Its column of ones is never stored.

    Notes
    -----
    A record whose norm overflows (above 1e154) contributes nothing to a clipped gradient sum.
    """

    def __init__(self, X: Any, y: ArrayLike, loss: Loss, *, intercept: bool = True) -> None:
        self.matrix = as_matrix(X)
        self.y = np.array(y, dtype=np.float64)
        self.loss = loss
        self.intercept = intercept
        self.n_records, n_columns = self.matrix.shape
        self.n_weights = n_columns + intercept
        self._check()
        self.chunks = _chunks(self.n_records, self.n_weights)
        self.norms = np.empty(self.n_records)
        self.for_each_chunk(lambda _, rows: self.matrix.squares(rows, self.norms[rows]))
        np.sqrt(self.norms + intercept, out=self.norms)
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

    def for_each_chunk(self, function: Callable[[int, slice], None]) -> None:
        """Call function(number, rows) for every chunk of rows, on all cores."""
        for_each(lambda number: function(number, self.chunks[number]), len(self.chunks))

    def products(self, w: FloatArray) -> FloatArray:
        """Return y * (x, 1).w for every record: one pass over X."""
        if w.shape != (self.n_weights,):
            raise ValueError(f"expected {self.n_weights} weights, got shape {w.shape}")
        offset = float(w[-1]) if self.intercept else 0.0
        out = np.empty(self.n_records)
        self.for_each_chunk(
            lambda _, rows: self.matrix.margins(rows, self.y[rows], w, offset, out[rows]),
        )
        return out

    def at(self, w: ArrayLike) -> "LocalPoint":
        """Return the point w. One pass over X."""
        w = _frozen(w)
        return LocalPoint(self, w, self.products(w))

    def subset(self, rows: NDArray[np.integer]) -> "LocalEngine":
        """Return an engine over these records (indices, repeats allowed), for mini-batches."""
        rows = np.asarray(rows, dtype=np.intp)
        return LocalEngine(self.matrix.take(rows), self.y[rows], self.loss, intercept=self.intercept)


class LocalPoint:
    """A weight vector w and the signed margins of all records there."""

    def __init__(self, engine: LocalEngine, w: FloatArray, margins: FloatArray) -> None:
        self.engine = engine
        self.w = w
        self.margins = margins

    def gradient_sum(self, clip: float = math.inf) -> FloatArray:
        """Sum the records' gradients, each clipped to L2 norm `clip`. One pass over X.

        A record's gradient is a multiple of (x, 1), so clipping scales one number per record.
        """
        engine = self.engine
        coefficients = loops(engine.loss).coefficients
        rounding = magic(clip)
        sums = np.zeros((len(engine.chunks), engine.matrix.shape[1] + 1))

        def add(number: int, rows: slice) -> None:
            c = np.empty(rows.stop - rows.start)
            coefficients(self.margins[rows], engine.y[rows], engine.norms[rows], clip, c)
            engine.matrix.combine(rows, c, rounding, sums[number])

        engine.for_each_chunk(add)
        total: FloatArray = sums.sum(axis=0)
        return total[: engine.n_weights]

    def loss_sum(self, clip: float = math.inf) -> float:
        """Sum the losses, each at most `clip`. No pass over X."""
        return float(_rounded_sums(self.engine, self.margins, self.margins, 0.0, 0, clip)[0])

    def along(self, direction: ArrayLike) -> "LocalLine":
        """Return the line from here against `direction`. One pass over X."""
        direction = _frozen(direction)
        return LocalLine(self, direction, self.engine.products(direction))


class LocalLine:
    """The points w - step * direction, with the margins of w and of the direction."""

    def __init__(self, origin: LocalPoint, direction: FloatArray, slopes: FloatArray) -> None:
        self.origin = origin
        self.direction = direction
        self.slopes = slopes

    def loss_sums(self, spacing: float, count: int, clip: float = math.inf) -> FloatArray:
        """Sum the losses, each at most `clip`, at the steps k * spacing for k = 0..count. No pass over X."""
        if not 0 <= count <= MAX_CANDIDATES:
            raise ValueError(f"count must be between 0 and {MAX_CANDIDATES}, got {count}")
        engine, m, d = self.origin.engine, self.origin.margins, self.slopes
        if engine.loss is LOGISTIC and MIN_PRODUCT_CLIP <= clip <= MAX_PRODUCT_CLIP:
            sums = np.zeros((len(engine.chunks), 2, count + 1))
            engine.for_each_chunk(
                lambda number, rows: logistic_sums(m[rows], d[rows], spacing, clip, sums[number])
            )
            return np.array([math.fsum(sums[:, :, k].flat) for k in range(count + 1)])
        return _rounded_sums(engine, m, d, spacing, count, clip)

    def move(self, step: float) -> LocalPoint:
        """Return the point w - step * direction. No pass over X, because margins are linear."""
        origin, engine = self.origin, self.origin.engine
        margins = np.empty(engine.n_records)
        engine.for_each_chunk(
            lambda _, rows: shift(origin.margins[rows], self.slopes[rows], step, margins[rows])
        )
        return LocalPoint(engine, _frozen(origin.w - step * self.direction), margins)


def _rounded_sums(
    engine: LocalEngine, m: FloatArray, d: FloatArray, spacing: float, count: int, clip: float
) -> FloatArray:
    loss_sums = loops(engine.loss).loss_sums
    rounding = magic(clip)
    sums = np.zeros((len(engine.chunks), count + 1))
    engine.for_each_chunk(
        lambda number, rows: loss_sums(m[rows], d[rows], spacing, clip, rounding, sums[number])
    )
    total: FloatArray = sums.sum(axis=0)
    return total


def _chunks(n_records: int, n_weights: int) -> list[slice]:
    """Cut the rows so that the cut depends on the shape only: sums then do not depend on the threads."""
    most = max(1, min(64, 2**24 // max(1, n_weights)))
    size = max(8192, -(-n_records // most))
    return [slice(start, min(start + size, n_records)) for start in range(0, n_records, size)]


def _frozen(w: ArrayLike) -> FloatArray:
    w = np.array(w, dtype=np.float64)
    w.flags.writeable = False
    return w
