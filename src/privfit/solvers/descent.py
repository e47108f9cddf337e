"""The walk of the default solver where the budget is ample: Newton's steps with momentum, and few of them.

The curvature is known (`privfit.solvers.curvature`), so all directions arrive at about the same time. What is
not known of it is found out on the way, free of charge: because the loss is convex, it falls in a step by at
least the next gradient times the way back, and the error of that is known. A step that surely led uphill
stops the momentum, and one that did so without any is too long; and if the loss still surely falls when most
of the plan is done, the plan is doubled.
"""

from __future__ import annotations

import math

import numpy as np

from privfit.curator import Curator, Vector
from privfit.solvers.base import Step
from privfit.solvers.curvature import DIGITS, Curvature, Newton, bought
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

PLANS = (32, 60)  # steps; fewer where the curvature is better known, and noise matters less
MILLION, FEWEST = 1_000_000, 24  # records, and steps that do for so many: a look then tells what is left
MOMENTUM_GROWTH = 0.25  # how many steps' way more each gradient carries than the last, as Nesterov's do
MOST_TIMES, KINKED_TIMES = 8.0, 4.0  # as long as the walk; beyond, few records lead far astray
FARTHEST = 1.0  # change of a typical margin in one step: the curvature is then still nearly the same
LOOK_AT = 0.6  # of the plan, when it may be doubled
QUARTER = 4  # the fall of the loss is looked at over this part of the plan
WORTH = 1e-4  # fall in that time that is worth more passes
CERTAIN_FALL, CERTAIN_RISE = 4.0, 3.0  # standard deviations
FALL_AND_NOISE = 8.0  # the same where noise matters: most of the budget is gone when a plan is doubled


class Descent:
    """Newton's steps with momentum, and a budget shared evenly among the steps that are left."""

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
        coarse = self.d * self.curvature.noise  # the eigenvalues' noise in units of their mean, 1 / d
        self.certain_fall = max(CERTAIN_FALL, FALL_AND_NOISE * math.sqrt(coarse))
        few, many = PLANS if n < MILLION else (FEWEST, PLANS[1])
        usual = int(np.clip(math.ceil(many * math.sqrt(coarse)), few, many))
        self.planned = self.steps = min(usual, max_steps)
        self.average_from = AVERAGE_FROM if usual <= max_steps else LATE_AVERAGE_FROM
        # In directions without curvature noise alone moves a weight by about one in this time. Where the
        # budget tells the curvature well it takes longer, because noise then costs less than a short walk.
        duration = longer * carried / self.clip / math.sqrt(2.0 * features.loss.slope_at_zero)
        most = MOST_TIMES if features.loss.smoothness < math.inf else KINKED_TIMES
        duration *= float(np.clip(1.0 / coarse, 1.0, most))
        self.floor = sum(self._carries(age) for age in range(self.planned)) / duration
        self.newton = self._newton()
        self.length = 1.0  # of a step, in Newton's
        self.trace: list[Step] = []
        self.falls: list[tuple[float, float]] = []  # at least so much in each step, and its variance

    def _newton(self) -> Newton:
        """Return the steps, which are shorter where curvature is small, so that noise is not amplified."""
        penalty = np.array([self.features.regulariser.gradient(row) for row in np.eye(self.d)])
        floor = max(self.floor, DIGITS * float(np.trace(penalty)))
        return Newton(self.curvature, floor * np.eye(self.d) + penalty)

    @staticmethod
    def _carries(age: int) -> float:
        """Return how many times its own way a gradient carries, so many steps after momentum set in."""
        return 1.0 + MOMENTUM_GROWTH * age

    def run(self) -> Vector:
        """Return the weighted mean of the steps."""
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
            velocity = velocity * min(1.0, FARTHEST / max(self.curvature.length(velocity), 1e-300))
            w = w - velocity
            self.trace.append(Step(len(self.trace) + 1, self.length, g.rho, 0.0, g.sigma))
            share = g.rho * float(iterate_weight(len(self.trace), self.steps, self.average_from))
            if share > 0.0:
                weight += share
                mean = mean + (w - mean) * (share / weight)
            if len(self.trace) == int(LOOK_AT * self.steps) and self._still_falls():
                self.steps = min(2 * self.steps, self.max_steps)
                # With momentum that grows, twice the steps go four times as far; twice is far enough.
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
        """Return for how many steps momentum has been growing: none if the last one surely led uphill."""
        fall, variance = self.falls[-1]
        if fall >= -CERTAIN_RISE * math.sqrt(variance):
            return age + 1 if len(self.falls) > 1 else 0
        if age == 0:
            self.length /= 2.0
        return 0

    def _still_falls(self) -> bool:
        """Return whether the loss has surely fallen of late, and by more than passes cost."""
        if self.steps >= self.max_steps:
            return False
        fall, variance = np.sum(self.falls[-(self.steps // QUARTER) :], axis=0)
        return bool(fall > max(WORTH, self.certain_fall * math.sqrt(variance)))

    def decision(self) -> str:
        """Say how many steps were taken, which the released steps decided."""
        if self.steps > self.planned:
            return (
                f"the released steps showed that {self.planned} Newton steps were too few, so the fit took "
                f"{len(self.trace)}"
            )
        return f"the fit took the planned {self.planned} Newton steps"
