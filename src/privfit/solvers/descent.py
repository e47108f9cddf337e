"""The default solver's steps if the privacy budget is large: a few Newton steps with momentum.

The curvature is known approximately (`privfit.solvers.curvature`), so all directions converge at about the
same rate. Released gradients tell whether a step has reduced the loss, at no further cost. Because the loss
is convex, it falls in a step by at least the next gradient times the step taken back, and the error of this
number is known. If a step has clearly increased the loss, momentum starts anew; if there was no momentum,
steps are halved. If the loss still falls clearly when most of the planned steps are done, the number of steps
is doubled.
"""

from __future__ import annotations

import math

import numpy as np

from privfit.curator import Curator, Vector
from privfit.solvers.base import Step
from privfit.solvers.curvature import LEAST_RELATIVE_PENALTY, Curvature, Newton, bought
from privfit.solvers.output_curvature import NewtonOfOutputs, mean_of_outputs
from privfit.solvers.passes import MOST_PASSES
from privfit.solvers.people import gradient_at, reach_of_gradients
from privfit.solvers.walk import (
    AVERAGE_FROM,
    LATE_AVERAGE_FROM,
    dot,
    gradient_clip,
    iterate_weight,
)

PLANNED_STEPS = (32, 60)  # for a well known and for a badly known curvature
# from a million records on, plan 24 steps; the check at 60% may double them
RECORDS_FOR_FEWEST_STEPS, FEWEST_PLANNED_STEPS = 1_000_000, 24
MOMENTUM_GROWTH = 0.25  # each gradient moves the weights by this many steps more than the last (Nesterov)
# The descent lasts at most this many times as long as the walk would: if it took longer, a few records could
# lead it far away.
MOST_LONGER_SMOOTH, MOST_LONGER_KINKED = 8.0, 4.0
# the largest change of a typical margin in one step, so that the curvature stays nearly the same
LARGEST_MARGIN_CHANGE = 1.0
DOUBLING_DECIDED_AT = 0.6  # share of the planned steps after which their number may be doubled
PARTS_OF_PLAN = 4  # the fall of the loss is measured over the last quarter of the planned steps
LEAST_FALL_WORTH_PASSES = 1e-4  # fall of the loss in that time; a smaller fall is not worth more passes
CERTAIN_FALL, CERTAIN_RISE = 4.0, 3.0  # standard deviations of the noise
CERTAIN_FALL_WITH_NOISE = 8.0  # the same if noise matters, because most of the budget is then spent already


class Descent:
    """Newton steps with momentum; the remaining budget is shared evenly among the remaining steps."""

    def __init__(
        self,
        features: Curator,
        n: float,
        bias: float,
        *,
        start: Vector | None = None,
        longer: float = 1.0,
        max_steps: int = MOST_PASSES,
    ) -> None:
        self.features, self.n, self.max_steps = features, n, max_steps
        self.d = features.n_weights
        self.start = features.loss.weights_of(self.d) if start is None else start
        self.curvature: Curvature = bought(features, n, bias)
        carried = reach_of_gradients(features, n)
        loss = features.loss
        self.clip = loss.joint_slope * gradient_clip(carried / math.sqrt(self.d * loss.free_outputs))
        coarse = self.d * self.curvature.noise  # noise on the eigenvalues, in units of their mean, 1 / d
        self.certain_fall = max(CERTAIN_FALL, CERTAIN_FALL_WITH_NOISE * math.sqrt(coarse))
        few, many = (
            PLANNED_STEPS if n < RECORDS_FOR_FEWEST_STEPS else (FEWEST_PLANNED_STEPS, PLANNED_STEPS[1])
        )
        usual = int(np.clip(math.ceil(many * math.sqrt(coarse)), few, many))
        self.planned = self.steps = min(usual, max_steps)
        self.average_from = AVERAGE_FROM if usual <= max_steps else LATE_AVERAGE_FROM
        # In a direction without curvature, noise alone moves a weight by about one in this duration. If the
        # curvature is known well, the descent lasts longer, because noise then does less harm than stopping
        # early.
        duration = longer * carried / self.clip / math.sqrt(2.0 * features.loss.slope_at_zero)
        most = MOST_LONGER_SMOOTH if features.loss.smoothness < math.inf else MOST_LONGER_KINKED
        duration *= float(np.clip(1.0 / coarse, 1.0, most))
        self.floor = sum(self._carries(age) for age in range(self.planned)) / duration
        self.newton = self._newton()
        self.length = 1.0  # the length of a step, in units of the Newton step
        self.trace: list[Step] = []
        self.falls: list[tuple[float, float]] = []  # least fall of the loss in each step, and its variance

    def _newton(self) -> Newton:
        """Return Newton steps with a floor under the curvature, so that noise is not amplified."""
        penalty = np.array([self.features.regulariser.gradient(row) for row in np.eye(self.d)])
        floor = max(self.floor, LEAST_RELATIVE_PENALTY * float(np.trace(penalty)))
        return Newton(self.curvature, floor * np.eye(self.d) + penalty)

    @staticmethod
    def _carries(age: int) -> float:
        """Return by how many step lengths a gradient moves the weights, `age` steps after momentum began."""
        return 1.0 + MOMENTUM_GROWTH * age

    def run(self) -> Vector:
        """Return the weighted mean of the iterates."""
        features = self.features
        w, velocity, mean = self.start, np.zeros_like(self.start), np.zeros_like(self.start)
        weight, age = 0.0, 0
        while len(self.trace) < self.steps:
            price = features.remaining / (self.steps - len(self.trace))
            g = features.measure(gradient_at(w, self.clip, features.relation), price)
            gradient = features.loss.without_common_part(g.value) / self.n + features.regulariser.gradient(w)
            error = g.sigma / self.n
            self.falls.append((dot(gradient, velocity), error**2 * dot(velocity, velocity)))
            age = self._age(age)
            step = self.length * self._newton_step(w, gradient)
            velocity = (1.0 - 1.0 / self._carries(age)) * velocity + step
            velocity = velocity * min(
                1.0, LARGEST_MARGIN_CHANGE / max(self.curvature.length(velocity), 1e-300)
            )
            w = w - velocity
            self.trace.append(Step(len(self.trace) + 1, self.length, g.rho, 0.0, g.sigma))
            share = g.rho * float(iterate_weight(len(self.trace), self.steps, self.average_from))
            if share > 0.0:
                weight += share
                mean = mean + (w - mean) * (share / weight)
            if len(self.trace) == int(DOUBLING_DECIDED_AT * self.steps) and self._still_falls():
                self.steps = min(2 * self.steps, self.max_steps)
                # with growing momentum, twice as many steps go four times as far; the floor makes that twice
                self.floor *= 2.0
                self.newton = self._newton()
                mean, weight = np.zeros_like(w), 0.0
        return mean

    def _newton_step(self, w: Vector, gradient: Vector) -> Vector:
        """Return Newton's step at w."""
        loss, p = self.features.loss, self.features.n_features
        if loss.outputs == 1:
            return self.newton.step(self.curvature.hessian(loss, w, p), gradient)
        of_outputs = mean_of_outputs(loss, self.curvature.moments, w, p)
        return NewtonOfOutputs(self.newton).step(of_outputs, gradient)

    def _age(self, age: int) -> int:
        """Return for how many steps momentum has grown: 0 if the last step has clearly increased the loss."""
        fall, variance = self.falls[-1]
        if fall >= -CERTAIN_RISE * math.sqrt(variance):
            return age + 1 if len(self.falls) > 1 else 0
        if age == 0:
            self.length /= 2.0
        return 0

    def _still_falls(self) -> bool:
        """Return whether the loss has clearly fallen in the last steps, by enough to be worth more passes."""
        if self.steps >= self.max_steps:
            return False
        fall, variance = np.sum(self.falls[-(self.steps // PARTS_OF_PLAN) :], axis=0)
        return bool(fall > max(LEAST_FALL_WORTH_PASSES, self.certain_fall * math.sqrt(variance)))

    def decision(self) -> str:
        """Say how many steps were taken; the released steps decided it."""
        if self.steps > self.planned:
            return (
                f"the released steps showed that {self.planned} Newton steps were too few, so the fit took "
                f"{len(self.trace)}"
            )
        return f"the fit took the planned {self.planned} Newton steps"
