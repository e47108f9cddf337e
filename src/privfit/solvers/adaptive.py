"""The default solver: noisy gradient descent on privately standardised features, with nothing to tune.

The solver first spends about a tenth of the privacy budget on statistics: the number of records (and the sum
of their weights, if they have any), the scales of the features, the norms of the records, and the share of
the rarer label. It then standardises the features (on the fly, in the kernels). This fixes the step size, so
only the duration of the descent has to be chosen (`privfit.solvers.walk`, which calls the descent a *walk*).
The released steps may show that the margins have a wrong scale, because of noise or of a descent that was too
short. In that case the last tenth of the budget fits the scale and the intercept
(`privfit.solvers.calibration`). If the budget is large enough, a twentieth of it buys the curvature of the
loss (`privfit.solvers.curvature`), and a few dozen Newton steps replace the walk (`privfit.solvers.descent`).
docs/solvers.md has the measurements, and docs/research.md what was tried and did not help.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from privfit.accounting import Gaussian
from privfit.curator import Curator
from privfit.solvers.base import Solution, register
from privfit.solvers.calibration import calibrated, first_weights
from privfit.solvers.curvature import affordable
from privfit.solvers.descent import Descent
from privfit.solvers.geometry import bounded, counted, standardised
from privfit.solvers.joint_calibration import jointly_calibrated
from privfit.solvers.kit import check_whole, total_weight
from privfit.solvers.numbers import constant_only, fitted_numbers, has_a_unit
from privfit.solvers.passes import most_steps
from privfit.solvers.requirements import POSITIVE_DELTA, Requirement
from privfit.solvers.target_scale import scaled_targets
from privfit.solvers.walk import PLANNED_PASSES, Walk

# value of the intercept's column if features have norm 1; small, because one weight is easy to learn
BIAS = 0.3


@register
@dataclass(frozen=True, kw_only=True)
class Adaptive:
    """Standardise the features privately, then take noisy gradient steps, as many as the budget allows.

    This is the default, and it needs no settings. If (number of records) x sqrt(2 rho) is below 25, because
    there are few records or the privacy budget is tiny, no solver learns much.

    Parameters
    ----------
    max_passes : int, optional
        The largest number of passes over the data; see `privfit.solvers.passes`.
    """

    name: ClassVar[str] = "adaptive"
    private: ClassVar[bool] = True
    requires: ClassVar[tuple[Requirement, ...]] = (POSITIVE_DELTA,)
    promise = staticmethod(Gaussian.of)

    max_passes: int | None = None

    def __post_init__(self) -> None:
        check_whole(self, "max_passes")

    def solve(self, curator: Curator) -> Solution:
        """Buy the statistics, take the steps, and return a weighted average of the iterates."""
        budget = curator.remaining
        n = counted(curator, budget)
        weight = total_weight(curator, budget, n)
        declared = curator.penalty.is_constraint or curator.penalty.start is not None
        if has_a_unit(curator.loss) and not (curator.loss.is_scale_free and declared):
            max_steps = most_steps(self.max_passes, curator)
            return fitted_numbers(curator, budget, n, weight, BIAS, max_steps)
        if curator.loss.is_scale_free:  # a declared set or start is converted to the new unit of the targets
            scaled = scaled_targets(curator, budget, n, weight)
            left = curator.remaining
            if only := constant_only(scaled, left, budget):
                return only
            solution = self._walked(scaled.curator, left, n, weight, starts_at_zero=True)
            return replace(solution, w=scaled.in_units(solution.w))
        return self._walked(curator, budget, n, weight)

    def _walked(
        self, curator: Curator, budget: float, n: float, weight: float, *, starts_at_zero: bool = False
    ) -> Solution:
        """Buy statistics of the features, take the steps, and return the average of the iterates."""
        features = standardised(bounded(curator, budget, n), budget, n, BIAS)
        walker = features.curator
        if starts_at_zero and walker.penalty.start is None:
            start = walker.regulariser.nearest(np.zeros(walker.n_weights))
        else:
            start = first_weights(walker, budget, n, weight, BIAS)
        walk: Walk | Descent
        max_steps = most_steps(self.max_passes, curator)
        curved = affordable(walker, weight, few_steps=max_steps < PLANNED_PASSES[0])
        if curved and not walker.penalty.is_constraint:  # Newton steps do not project
            walk = Descent(walker, weight, BIAS, start=start, longer=features.longer, max_steps=max_steps)
        else:
            walk = Walk(walker, weight, start=start, longer=features.longer, max_steps=max_steps)
        w, trace = walk.run(), walk.trace
        decisions = [walk.decision()]
        if isinstance(walk, Walk) and len(trace) < walk.planned:
            find = calibrated if walker.loss.outputs == 1 else jointly_calibrated
            calibration = find(walker, w, n, weight, BIAS, walk.noise(), len(trace))
            w, trace = calibration.w, trace + list(calibration.trace)
            decisions.append(calibration.decision)
        notes = (*features.notes, "; ".join(decisions))
        w = walker.regulariser.nearest(w)  # calibration may have scaled the weights out of the constraint set
        return Solution(
            walker.raw_weights(w),
            tuple(trace),
            notes,
            walker.bounds,
            view=walker.regulariser.view,
            total=weight,
        )
