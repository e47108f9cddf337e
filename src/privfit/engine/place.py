"""Points and lines of the engine in memory: margins of the records, and what they give without a pass."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from privfit.engine.base import FloatArray
from privfit.engine.pointwise import logistic_sums, loops, shift
from privfit.engine.rounding import (
    MAX_CANDIDATES,
    MAX_PRODUCT_CLIP,
    MIN_PRODUCT_CLIP,
    magic,
    rise_bound,
)
from privfit.losses import LOGISTIC

if TYPE_CHECKING:
    from privfit.engine.local import LocalEngine


class Deferred:
    """A number for every record, computed when first asked for, and by spans of chunks.

    So margins are computed by the thread that sums something over them right away, while they are in its
    cache, and threads are woken once for both.
    """

    def __init__(self, engine: "LocalEngine", fill: Callable[[slice, slice, FloatArray], None]) -> None:
        self.engine = engine
        self.fill: Callable[[slice, slice, FloatArray], None] | None = fill
        self.values = np.empty(engine.n_records)
        self.filled = bytearray(len(engine.chunks))

    def part(self, chunks: slice) -> FloatArray:
        """Return the numbers of neighbouring chunks."""
        rows = self.engine.rows_of(chunks)
        values = self.values[rows]
        fill = self.fill
        if fill is not None and not all(self.filled[chunks]):
            fill(chunks, rows, values)
            self.filled[chunks] = b"\1" * (chunks.stop - chunks.start)
            if all(self.filled):
                self.fill = None  # and what it was computed from
        return values

    def all(self) -> FloatArray:
        """Return the numbers of all records."""

        def visit(_: int, chunks: slice) -> None:
            self.part(chunks)

        self.engine.for_each_span(visit)
        return self.values


class LocalPoint:
    """A weight vector w and the signed margins of all records there."""

    def __init__(self, engine: "LocalEngine", w: FloatArray, margins: Deferred) -> None:
        self.engine = engine
        self.w = w
        self.deferred = margins

    @property
    def margins(self) -> FloatArray:
        """The margins of all records."""
        return self.deferred.all()

    def gradient_sum(self, clip: float = math.inf) -> FloatArray:
        """Sum the records' gradients, each clipped to L2 norm `clip`. One pass over X.

        A record's gradient is a multiple of (z, bias), so clipping scales one number per record.
        """
        engine = self.engine
        rounding = engine.view.gradient_rounding(clip)

        def add(chunks: slice, rows: slice, out: FloatArray) -> None:
            margins = self.deferred.part(chunks)
            for part, block in engine.matrix.blocks(rows):
                m = margins[part.start - rows.start : part.stop - rows.start]
                block.gradient_there(engine.loss, m, engine.y[part], engine.norms[part], clip, rounding, out)

        return engine.gradient_total(rounding, clip, add)

    def loss_sum(self, clip: float = math.inf) -> float:
        """Sum the losses, each at most `clip`. No pass over X."""
        return float(_rounded_sums(self.engine, self.deferred, self.deferred, 0.0, 0, clip)[0])

    def along(self, direction: ArrayLike) -> "LocalLine":
        """Return the line from here against `direction`. One pass over X."""
        direction = frozen(direction)
        return LocalLine(self, direction, self.engine.products(direction))


class LocalLine:
    """The points w - step * direction, with the margins of w and of the direction."""

    def __init__(self, origin: LocalPoint, direction: FloatArray, slopes: Deferred) -> None:
        self.origin = origin
        self.direction = direction
        self.deferred = slopes

    @property
    def slopes(self) -> FloatArray:
        """The margins of the direction, of all records."""
        return self.deferred.all()

    def loss_sums(self, spacing: float, count: int, clip: float = math.inf) -> FloatArray:
        """Sum the losses, each at most `clip`, at the steps k * spacing for k = 0..count. No pass over X."""
        _check_count(count)
        engine, m, d = self.origin.engine, self.origin.deferred, self.deferred
        if engine.loss is LOGISTIC and MIN_PRODUCT_CLIP <= clip <= MAX_PRODUCT_CLIP:
            sums = engine.partial_sums(len(engine.chunks), 2, count + 1)

            def add(_: int, chunks: slice) -> None:
                margins, slopes = m.part(chunks), d.part(chunks)
                start = engine.chunks[chunks.start].start
                for chunk in range(chunks.start, chunks.stop):
                    rows = slice(engine.chunks[chunk].start - start, engine.chunks[chunk].stop - start)
                    logistic_sums(margins[rows], slopes[rows], spacing, clip, sums[chunk])

            engine.for_each_span(add)
            return np.array([math.fsum(column) for column in sums.reshape(-1, count + 1).T.tolist()])
        return _rounded_sums(engine, m, d, spacing, count, clip)

    def rise_sums(self, spacing: float, count: int, slope_clip: float) -> FloatArray:
        """Sum how far each record's loss at the steps k * spacing lies above its least. No pass over X.

        A record's slope, its margin's change per unit of step, is clipped to +-slope_clip first.
        """
        _check_count(count)
        engine, m, d = self.origin.engine, self.origin.deferred, self.deferred
        bound = rise_bound(engine.loss.lipschitz, spacing, count, slope_clip)
        constant = magic(bound)
        rise_sums = loops(engine.loss).rise_sums
        sums = engine.partial_sums(engine.n_spans(), count + 1)
        engine.for_each_span(
            lambda number, chunks: rise_sums(
                m.part(chunks), d.part(chunks), spacing, slope_clip, bound, constant, sums[number]
            )
        )
        total: FloatArray = np.sum(sums, axis=0)
        return total

    def move(self, step: float) -> LocalPoint:
        """Return the point w - step * direction. No pass over X, because margins are linear."""
        engine, m, d = self.origin.engine, self.origin.deferred, self.deferred
        margins = Deferred(engine, lambda chunks, _, out: shift(m.part(chunks), d.part(chunks), step, out))
        return LocalPoint(engine, frozen(self.origin.w - step * self.direction), margins)


def _check_count(count: int) -> None:
    if not 0 <= count <= MAX_CANDIDATES:
        raise ValueError(f"count must be between 0 and {MAX_CANDIDATES}, got {count}")


def _rounded_sums(
    engine: "LocalEngine", m: Deferred, d: Deferred, spacing: float, count: int, clip: float
) -> FloatArray:
    loss_sums = loops(engine.loss).loss_sums
    rounding = magic(clip)
    exact = clip < math.inf
    sums = engine.partial_sums(engine.n_spans() if exact else len(engine.chunks), count + 1)

    def add(number: int, chunks: slice) -> None:
        if exact:
            loss_sums(m.part(chunks), d.part(chunks), spacing, clip, rounding, sums[number])
        else:
            for chunk in range(chunks.start, chunks.stop):
                one = slice(chunk, chunk + 1)
                loss_sums(m.part(one), d.part(one), spacing, clip, rounding, sums[chunk])

    engine.for_each_span(add)
    total: FloatArray = np.sum(sums, axis=0)
    return total


def frozen(w: ArrayLike) -> FloatArray:
    """Return a read-only copy of w."""
    w = np.array(w, dtype=np.float64)
    w.flags.writeable = False
    return w
