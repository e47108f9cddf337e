"""Plain noisy gradient descent on all records: equal steps, equal prices, and the mean of the second half."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privfit.accounting import Gaussian
from privfit.curator import Curator
from privfit.losses.targets import Interval
from privfit.questions import GradientAt
from privfit.solvers.adaptive import BIAS
from privfit.solvers.base import Solution, Step, register
from privfit.solvers.kit import check_positive, check_whole, total_weight
from privfit.solvers.numbers import in_bought_units
from privfit.solvers.requirements import POSITIVE_DELTA, Requirement

# distance by which noise alone may move a weight over all steps; .3 to 1 give similar results
NOISE_PER_WEIGHT = 0.5


@register
@dataclass(frozen=True, kw_only=True)
class GradientDescent:
    """Full-batch gradient descent with the budget shared evenly among its steps (Q1).

    Use it as the simplest method, on features of similar size in [-1, 1]. "adaptive" is more accurate, and
    much more accurate if columns differ in scale. For models of numbers and counts the features may have any
    size, because targets and features are then scaled in the same way as by "adaptive".

    Parameters
    ----------
    steps : int
        Number of steps, each one pass over the data.
    step : float
        The largest step size. Steps are shorter if noise would move the weights too far in this many steps.
    clip : float
        Clipping threshold of a record's gradient norm.
    """

    name: ClassVar[str] = "gradient-descent"
    private: ClassVar[bool] = True
    requires: ClassVar[tuple[Requirement, ...]] = (POSITIVE_DELTA,)
    promise = staticmethod(Gaussian.of)

    steps: int = 600
    step: float = 2.0
    clip: float = 2.0

    def __post_init__(self) -> None:
        check_positive(self, "step", "clip")
        check_whole(self, "steps")

    def solve(self, curator: Curator) -> Solution:
        """Take the steps, in private units if the targets are numbers."""
        if isinstance(curator.loss.targets, Interval):
            return in_bought_units(curator, BIAS, self._walked)
        return self._walked(curator, total_weight(curator, curator.remaining))

    def _walked(self, curator: Curator, n: float) -> Solution:
        """Take the steps and average the second half of the iterates; n is the sum of records' weights."""
        affordable = NOISE_PER_WEIGHT * curator.reach(n) / (self.clip * self.steps)
        step = min(self.step, affordable, curator.regulariser.longest_step)
        loss, regulariser = curator.loss, curator.regulariser
        w = mean = regulariser.start(loss.weights_of(curator.n_weights))
        trace: list[Step] = []
        while len(trace) < self.steps:
            g = curator.measure(GradientAt(w, self.clip), curator.remaining / (self.steps - len(trace)))
            gradient = loss.without_common_part(g.value) / n + regulariser.gradient(w)
            w = regulariser.nearest(w - step * gradient)
            trace.append(Step(len(trace) + 1, step, g.rho, 0.0, g.sigma))
            averaged = len(trace) - self.steps // 2
            if averaged > 0:
                mean = mean + (w - mean) / averaged
        return Solution(regulariser.nearest(mean), tuple(trace))
