"""Points and lines of the engine in memory: margins of the records, and what they give without a pass."""

import math
from collections.abc import Callable
from functools import partial
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
from privfit.engine.threads import Call
from privfit.losses import LOGISTIC

if TYPE_CHECKING:
    from privfit.engine.local import LocalEngine, Part
    from privfit.engine.spans import Span


Fill = Callable[["Span", FloatArray], list[Call]]  # of a span's rows, into all records' array


class Deferred:
    """A number for every record, computed when it is first needed, and by spans of chunks.

    So margins are computed by the thread that sums something over them right away, while they are in its
    cache, and threads are woken once for both.
    """

    def __init__(self, n_records: int, fill: Fill, *sources: "Deferred") -> None:
        self.values = np.empty(n_records)
        # in one, because another thread may settle this while its calls are prepared
        self.work: tuple[Fill | None, tuple[Deferred, ...]] = fill, sources

    def calls(self, span: "Span") -> list[Call]:
        """Return the calls that compute the numbers of a span."""
        fill, sources = self.work
        if fill is None:
            return []
        before = [call for source in sources for call in source.calls(span)]
        return before + fill(span, self.values)

    def settle(self) -> None:
        """Let go of what the numbers are computed from, for all of them are."""
        for source in self.work[1]:
            source.settle()
        self.work = None, ()


class LocalPoint:
    """A weight vector w and the signed margins of all records there."""

    def __init__(self, engine: "LocalEngine", w: FloatArray, margins: Deferred) -> None:
        self.engine = engine
        self.w = w
        self.deferred = margins

    @property
    def margins(self) -> FloatArray:
        """The margins of all records."""
        return self.engine.settled(self.deferred)

    def gradient_sum(self, clip: float = math.inf) -> FloatArray:
        """Sum the records' gradients, each clipped to L2 norm `clip`. One pass over X.

        A record's gradient is a multiple of (z, bias), so clipping scales one number per record.
        """
        engine = self.engine
        rounding = engine.view.gradient_rounding(clip)

        def add(part: "Part", out: FloatArray) -> Call:
            margins = self.deferred.values[part.rows]
            place = engine.loss, margins, part.pulls
            return part.block.gradient_there(*place, clip, rounding, out)

        return engine.gradient_total(rounding, clip, add, self.deferred)

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
        return self.origin.engine.settled(self.deferred)

    def loss_sums(self, spacing: float, count: int, clip: float = math.inf) -> FloatArray:
        """Sum the losses, each at most `clip`, at the steps k * spacing for k = 0..count. No pass over X."""
        _check_count(count)
        engine, m, d = self.origin.engine, self.origin.deferred, self.deferred
        if engine.loss is LOGISTIC and MIN_PRODUCT_CLIP <= clip <= MAX_PRODUCT_CLIP:
            sums = np.zeros((len(engine.chunks), 2, count + 1))

            def add(span: "Span") -> list[Call]:
                out = sums[span.chunks.start : span.chunks.stop]
                places = m.values[span.rows], d.values[span.rows]
                return [partial(logistic_sums, *places, spacing, clip, engine.chunk_size, out)]

            engine.for_each_span(add, m, d)
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
        sums = engine.partial_sums(len(engine.spans()), count + 1)

        def add(span: "Span") -> list[Call]:
            places = m.values[span.rows], d.values[span.rows]
            return [partial(rise_sums, *places, spacing, slope_clip, bound, constant, sums[span.number])]

        engine.for_each_span(add, m, d)
        total: FloatArray = np.sum(sums, axis=0)
        return total

    def move(self, step: float) -> LocalPoint:
        """Return the point w - step * direction. No pass over X, because margins are linear."""
        engine, m, d = self.origin.engine, self.origin.deferred, self.deferred

        def fill(span: "Span", out: FloatArray) -> list[Call]:
            rows = span.rows
            return [partial(shift, m.values[rows], d.values[rows], step, out[rows])]

        margins = Deferred(engine.n_records, fill, m, d)
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
    sums = engine.partial_sums(len(engine.spans() if exact else engine.chunks), count + 1)

    def add(number: int, rows: slice) -> list[Call]:
        places = m.values[rows], d.values[rows]
        return [partial(loss_sums, *places, spacing, clip, rounding, sums[number])]

    if exact:
        engine.for_each_span(lambda span: add(span.number, span.rows), m, d)
    else:
        engine.for_each_chunk(add, m, d)
    total: FloatArray = np.sum(sums, axis=0)
    return total


def frozen(w: ArrayLike) -> FloatArray:
    """Return a read-only copy of w."""
    w = np.array(w, dtype=np.float64)
    w.flags.writeable = False
    return w
