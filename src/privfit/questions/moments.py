"""First and second moments of the features, with each record clipped to a norm."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from privfit.engine.bounded import Bounded
from privfit.engine.exact.bounds import moment_bound, moment_clips
from privfit.engine.exact.grids import FloatArray, magics

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.layouts.layout import Loops
    from privfit.engine.problem import Problem
    from privfit.engine.table import Table


def powers(table: Table, roots: FloatArray) -> FloatArray:
    """Return every record's sums of squares of z and of its curve, rounded up.

    One pass over the data, or none if the last call had the same `roots`. Solvers ask for norms first and
    then for moments, which need the same sums.
    """
    known = table.__dict__.get("_powers")
    if known is not None and np.array_equal(known[0], roots):
        remembered: FloatArray = known[1]
        return remembered
    from privfit.engine.kernels.moments import csr_powers, dense_powers
    from privfit.engine.layouts.layout import Loops

    loops = Loops(dense_powers, csr_powers)
    sums = np.empty((2, table.n_records))
    view = table.view
    map_ = view.center, view.scale, roots, view.squared_bases(roots)

    def arguments(rows: slice) -> tuple[Any, ...]:
        return *map_, sums[0, rows], sums[1, rows]

    table.for_each_chunk(lambda rows: table.layout.visit(rows, loops, arguments))
    table.__dict__["_powers"] = roots.copy(), sums
    return sums


@dataclass(frozen=True, eq=False)
class Moments:
    """The sums of f * z and of f * `weight` times the curves z * (z - root), as one vector (Q9).

    A *curve* is a parabola of z that is 0 at 0 and at the column's root. f = min(1, radius / ||z||,
    curve_radius / ||curve||) clips a record to both norms; it is 0 if a square overflows. The intercept's
    column is left out.
    """

    what: ClassVar[str] = "moments"

    radius: float
    curve_radius: float
    roots: FloatArray
    weight: float = 1.0

    def bases(self, table: Table) -> tuple[FloatArray, FloatArray]:
        """Return, for each column, the z and the curve that the loops subtract from every value."""
        base = table.layout.base(table.view)
        return base, base * (base - self.roots)

    @property
    def loops(self) -> Loops:
        """The compiled loops."""
        from privfit.engine.kernels.moments import csr_moments, dense_moments
        from privfit.engine.layouts.layout import Loops

        return Loops(dense_moments, csr_moments)

    def shape(self, table: Table) -> tuple[int, ...]:
        """Return the shape of the sums: of z and of the curve, each with one more entry for the sum of f."""
        return 2, table.n_columns + 1

    def arguments(self, table: Table) -> Callable[[slice], tuple[Any, ...]]:
        """Return the function that gives the loop's arguments for some rows."""
        view = table.view
        clips = map(moment_clips, (self.radius, self.curve_radius), self.bases(table))
        constants = magics(np.stack([np.append(clip, 1.0) for clip in clips]))
        lengths = powers(table, self.roots)
        map_ = view.center, view.scale, self.roots, self.radius, self.curve_radius, constants
        return lambda rows: (*map_, lengths[0, rows], lengths[1, rows])

    def sums(self, table: Table) -> tuple[FloatArray, FloatArray]:
        """Sum z and its curve over the records, clipped to the two norms. One pass over the data, or two.

        The norms need a pass of their own, unless `CurveNorms` has just computed them.

        Guarantee: the sums are exact, and one record more moves them by at most the two `bounds`.
        """
        return self.completed(table, table.summarise(self))

    def completed(self, table: Table, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Add what the loops subtracted to the sums over all records."""
        factors, p = sums[0, -1], table.n_columns
        base, curved_base = self.bases(table)
        return sums[0, :p] + base * factors, sums[1, :p] + curved_base * factors

    def bounds(self, table: Table) -> tuple[float, float]:
        """Bound the L2 distances that one record moves the two `sums`: the radii and rounding."""
        base, curved_base = self.bases(table)
        return moment_bound(self.radius, base), moment_bound(self.curve_radius, curved_base)

    def bounded(self, of: Problem | Table) -> Bounded:
        """Return both as one vector. Sensitivity: the length of (radius, weight * curve_radius), rounded."""
        straight, curved = self.bounds(of.table)

        def finish(sums: FloatArray) -> FloatArray:
            first, curves = self.completed(of.table, sums)
            return np.concatenate([first, self.weight * curves])

        bound = math.hypot(straight, self.weight * curved)
        return Bounded(lambda: of.table.summarise(self), bound, "Q9", finish=finish)
