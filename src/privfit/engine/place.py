"""Points and lines of the engine in memory: margins that are known, and what they give without a pass."""

import math
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


class LocalPoint:
    """A weight vector w and the signed margins of all records there."""

    def __init__(self, engine: "LocalEngine", w: FloatArray, margins: FloatArray) -> None:
        self.engine = engine
        self.w = w
        self.margins = margins

    def gradient_sum(self, clip: float = math.inf) -> FloatArray:
        """Sum the records' gradients, each clipped to L2 norm `clip`. One pass over X.

        A record's gradient is a multiple of (z, bias), so clipping scales one number per record.
        """
        engine = self.engine
        coefficients = loops(engine.loss).coefficients
        magics = engine.view.gradient_magics(clip)
        sums = engine.partial_sums(len(magics))

        def add(number: int, rows: slice) -> None:
            c = np.empty(rows.stop - rows.start)
            coefficients(self.margins[rows], engine.y[rows], engine.norms[rows], clip, c)
            for part, block in engine.matrix.blocks(rows):
                block.combine(c[part.start - rows.start : part.stop - rows.start], magics, sums[number])

        engine.for_each_chunk(add)
        return engine.view.gradient(np.sum(sums, axis=0))

    def loss_sum(self, clip: float = math.inf) -> float:
        """Sum the losses, each at most `clip`. No pass over X."""
        return float(_rounded_sums(self.engine, self.margins, self.margins, 0.0, 0, clip)[0])

    def along(self, direction: ArrayLike) -> "LocalLine":
        """Return the line from here against `direction`. One pass over X."""
        direction = frozen(direction)
        return LocalLine(self, direction, self.engine.products(direction))


class LocalLine:
    """The points w - step * direction, with the margins of w and of the direction."""

    def __init__(self, origin: LocalPoint, direction: FloatArray, slopes: FloatArray) -> None:
        self.origin = origin
        self.direction = direction
        self.slopes = slopes

    def loss_sums(self, spacing: float, count: int, clip: float = math.inf) -> FloatArray:
        """Sum the losses, each at most `clip`, at the steps k * spacing for k = 0..count. No pass over X."""
        _check_count(count)
        engine, m, d = self.origin.engine, self.origin.margins, self.slopes
        if engine.loss is LOGISTIC and MIN_PRODUCT_CLIP <= clip <= MAX_PRODUCT_CLIP:
            sums = engine.partial_sums(2, count + 1)
            engine.for_each_chunk(
                lambda number, rows: logistic_sums(m[rows], d[rows], spacing, clip, sums[number])
            )
            return np.array([math.fsum(column) for column in np.concatenate(sums).T.tolist()])
        return _rounded_sums(engine, m, d, spacing, count, clip)

    def rise_sums(self, spacing: float, count: int, slope_clip: float) -> FloatArray:
        """Sum how far each record's loss at the steps k * spacing lies above its least. No pass over X.

        A record's slope, its margin's change per unit of step, is clipped to +-slope_clip first.
        """
        _check_count(count)
        engine, m, d = self.origin.engine, self.origin.margins, self.slopes
        bound = rise_bound(engine.loss.lipschitz, spacing, count, slope_clip)
        constant = magic(bound)
        rise_sums = loops(engine.loss).rise_sums
        sums = engine.partial_sums(count + 1)
        engine.for_each_chunk(
            lambda number, rows: rise_sums(
                m[rows], d[rows], spacing, slope_clip, bound, constant, sums[number]
            )
        )
        total: FloatArray = np.sum(sums, axis=0)
        return total

    def move(self, step: float) -> LocalPoint:
        """Return the point w - step * direction. No pass over X, because margins are linear."""
        origin, engine = self.origin, self.origin.engine
        margins = np.empty(engine.n_records)
        engine.for_each_chunk(
            lambda _, rows: shift(origin.margins[rows], self.slopes[rows], step, margins[rows])
        )
        return LocalPoint(engine, frozen(origin.w - step * self.direction), margins)


def _check_count(count: int) -> None:
    if not 0 <= count <= MAX_CANDIDATES:
        raise ValueError(f"count must be between 0 and {MAX_CANDIDATES}, got {count}")


def _rounded_sums(
    engine: "LocalEngine", m: FloatArray, d: FloatArray, spacing: float, count: int, clip: float
) -> FloatArray:
    loss_sums = loops(engine.loss).loss_sums
    rounding = magic(clip)
    sums = engine.partial_sums(count + 1)
    engine.for_each_chunk(
        lambda number, rows: loss_sums(m[rows], d[rows], spacing, clip, rounding, sums[number])
    )
    total: FloatArray = np.sum(sums, axis=0)
    return total


def frozen(w: ArrayLike) -> FloatArray:
    """Return a read-only copy of w."""
    w = np.array(w, dtype=np.float64)
    w.flags.writeable = False
    return w
