"""Scores of candidates: sums of losses along a line, or of how losses change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privfit.engine.bounded import Scores
from privfit.engine.exact.bounds import MAX_CANDIDATES, loss_slack, rise_bound, rise_slack
from privfit.engine.exact.grids import FloatArray

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.points import Line, Point


@dataclass(frozen=True, eq=False)
class LossesAlong:
    """Equally spaced steps 0, h, 2h, ... along a line, scored by their loss (Q3).

    The score of a step is the sum over records of the loss at w - step * direction, each clipped to
    [0, `clip`]. One more record adds between 0 and `clip` to every score, plus rounding.
    """

    what: ClassVar[str] = "step size"

    steps: FloatArray
    clip: float

    def bounded(self, of: Line) -> Scores:
        """Return the scores. No pass over the data."""
        spacing, count = _spacing(self.steps)
        width = self.clip + 2.0 * loss_slack(self.clip)
        return Scores(lambda: of.loss_sums(spacing, count, self.clip), width, count + 1, True, "Q3")


@dataclass(frozen=True, eq=False)
class RisesAlong:
    """The same steps, scored by how far each record's loss lies above its minimum along the line (Q10).

    If the slope of a record's prediction is clipped to `slope_clip`, its loss changes by at most
    L * (largest step) * `slope_clip` along the line, however large the loss is. L is the loss's Lipschitz
    constant.
    """

    what: ClassVar[str] = "step size"

    steps: FloatArray
    slope_clip: float

    def bounded(self, of: Line) -> Scores:
        """Return the scores. No pass over the data."""
        spacing, count = _spacing(self.steps)
        bound = rise_bound(of.origin.problem.loss.lipschitz, spacing, count, self.slope_clip)
        width = bound + 2.0 * rise_slack(bound)
        return Scores(lambda: of.rise_sums(spacing, count, self.slope_clip), width, count + 1, True, "Q10")


@dataclass(frozen=True, eq=False)
class ChangesOfLoss:
    """Weight vectors v, one in each row, scored by the change of the loss from a point w to v (Q12).

    The change x.(v - w) of a record's prediction is clipped to +-`clip`. One more record changes a score by
    at most L * `clip` in either direction, plus rounding. L is the loss's Lipschitz constant.
    """

    what: ClassVar[str] = "weights"

    candidates: FloatArray
    clip: float

    def bounded(self, of: Point) -> Scores:
        """Return the scores. One pass over the data for every candidate."""
        bound = rise_bound(of.problem.loss.lipschitz, 1.0, 1, self.clip)

        def change(v: FloatArray) -> float:
            here, there = of.along(of.w - v).rise_sums(1.0, 1, self.clip)
            return float(there - here)  # for each record, one of the two differences is 0

        changes = bound + rise_slack(bound)
        count = len(self.candidates)
        return Scores(lambda: np.array([change(v) for v in self.candidates]), changes, count, False, "Q12")


def _spacing(steps: FloatArray) -> tuple[float, int]:
    """Return h and the number of steps beyond 0; raise ValueError unless the steps are 0, h, 2h, ..."""
    count = len(steps) - 1
    if not (1 <= count <= MAX_CANDIDATES and np.allclose(steps, steps[-1] * np.arange(count + 1) / count)):
        raise ValueError(f"steps must be 0, h, 2h, ... with at most {MAX_CANDIDATES} of them beyond 0.")
    return float(steps[-1]) / count, count
