"""Sums of clipped gradients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from privfit.engine.bounded import Bounded
from privfit.engine.exact.grids import FloatArray
from privfit.questions.count import persons_of

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.points import Point
    from privfit.engine.problem import Problem


@dataclass(frozen=True)
class Gradient:
    """The sum over records of the loss gradient at a point, each clipped to L2 norm `clip` (Q1)."""

    what: ClassVar[str] = "gradient"

    clip: float

    def bounded(self, of: Point) -> Bounded:
        """Return the sum. Sensitivity: `clip` plus rounding. One pass over the data."""
        bound, finish = of.problem.gradient_bound(self.clip), of.problem.table.viewed_sums
        return Bounded(lambda: of.gradient_sums(self.clip), bound, "Q1", finish=finish)


@dataclass(frozen=True, eq=False)
class GradientAt:
    """The same sum at the weights w, in a single pass (Q1)."""

    what: ClassVar[str] = "gradient"

    w: FloatArray
    clip: float

    def bounded(self, of: Problem) -> Bounded:
        """Return the sum. Sensitivity: `clip` plus rounding. One pass over the data."""
        bound, finish = of.gradient_bound(self.clip), of.table.viewed_sums
        return Bounded(lambda: of.gradient_sums_at(self.w, self.clip), bound, "Q1", finish=finish)


@dataclass(frozen=True, eq=False)
class PersonGradientAt:
    """The sum of gradients at the weights w, in which each person's sum is clipped to norm `clip` (Q26)."""

    what: ClassVar[str] = "gradient"

    w: FloatArray
    clip: float

    def bounded(self, of: Problem) -> Bounded:
        """Return the sum. Sensitivity, for a whole person: `clip` plus rounding. Two passes over the data."""
        persons_of(of)
        bound, finish = of.person_gradient_bound(self.clip), of.table.viewed_sums
        sums = partial(of.person_gradient_sums_at, self.w, self.clip)
        return Bounded(sums, bound, "Q26", unit="person", finish=finish)
