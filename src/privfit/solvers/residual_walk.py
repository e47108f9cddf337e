"""The walk for targets that are numbers or amounts, which measures the size of the residuals on the way.

The gradient clip depends on the size of the residuals. At the start this is the size of the targets around
their centre. After a third of the walk the residuals are smaller, and a small share of the budget measures by
how much. The expected size of the noise in the weights is known, so the weights are shrunk at the end.
"""

from __future__ import annotations

import math

import numpy as np

from privfit.curator import Vector
from privfit.losses.squared import SQUARED
from privfit.questions import SlopesAt
from privfit.solvers.base import Step
from privfit.solvers.passes import MOST_PASSES
from privfit.solvers.people import gradient_at
from privfit.solvers.target_scale import SCALE_TAIL, ScaledTargets, residual_size
from privfit.solvers.walk import Walk, iterate_weight

MEASURE_AT = 1 / 3  # share of the walk after which the residuals hardly become smaller
MEASURE_SHARE = 0.02  # share of what is left then
MEASURE_REACH = 15.0  # the least reach of that share at which residuals can be told from noise
SIZE_EDGES = np.exp2(np.arange(-16.0, 5.0) / 4.0)  # edges of sizes, in units of the size at the start
STABLE_STEP = 2.0  # stable for a curvature of 1, which is that of residuals of size 1 and records of norm 1
MEAN_RESIDUAL_CURVATURE = 0.7  # mean curvature of the loss if residuals have size 1
NOISE_DEVIATIONS = 2.0  # weights whose square is within this many deviations of noise count as noise
INTERCEPT_DOUBT = 0.05  # prior standard deviation of the intercept, in addition to the noise of the centre
# Share of what is left for the mean residual of amounts: (LAST_REACH / reach)^2, within these limits.
LAST_SHARES, LAST_REACH = (0.02, 0.15), 40.0
LARGEST_ERROR = 0.15  # the largest error of that mean; residuals are clipped so that its noise is no larger
MOST_MEAN_CHANGE = 1.5  # the largest factor by which the mean of the predictions is changed


class ResidualWalk(Walk):
    """Heavy-ball descent on residuals of size 1, which are measured once more on the way.

    `weight` is the sum of the records' weights, `records` their number; `bias` is what the intercept's column
    holds.
    """

    def __init__(
        self,
        scaled: ScaledTargets,
        weight: float,
        records: float,
        bias: float,
        *,
        longer: float,
        start: Vector,
        max_steps: int = MOST_PASSES,
    ) -> None:
        super().__init__(
            scaled.curator, weight, start=start, longer=longer, slope=scaled.slope, max_steps=max_steps
        )
        self.records, self.bias, self.error = records, bias, scaled.error
        self.step = min(STABLE_STEP, self.length)
        self.curvature, self.farthest = MEAN_RESIDUAL_CURVATURE, scaled.farthest
        self.unit = 1.0  # the unit of the weights, in units of the scale at the start

    def run(self) -> Vector:
        """Return the weighted mean of the iterates, shrunk by the expected size of the noise."""
        w, velocity, weight = self.start, np.zeros_like(self.start), 0.0
        last = 0.0 if self.features.loss.is_scale_free else self._last_share() * self.features.remaining
        for t in range(self.planned):
            if t == int(MEASURE_AT * self.planned) and self._can_measure():
                smaller = self._measured(w)
                w, velocity = w / smaller, velocity / smaller
            features = self.features
            price = (features.remaining - last) / (self.planned - t)
            g = features.measure(gradient_at(w, self.clip, features.relation), price)
            self.rhos.append(g.rho)
            length = self.length_at(t)
            gradient = g.value / self.n + features.regulariser.gradient(w)
            velocity = (1.0 - self.step / length) * velocity + gradient
            w, velocity = self.moved(w, velocity)
            self.trace.append(Step(t + 1, length, g.rho, 0.0, g.sigma))
            share = g.rho * float(iterate_weight(t + 1, self.planned, self.average_from))
            if share > 0.0:
                weight += share
                self.mean = self.mean + (w - self.mean) * (share / weight)
        shrunk = self.unit * self._shrunk()
        return shrunk if last == 0.0 else self._with_mean(shrunk)

    def _last_share(self) -> float:
        return float(np.clip((LAST_REACH / self.features.reach(self.n)) ** 2, *LAST_SHARES))

    def _with_mean(self, w: Vector) -> Vector:
        """Return weights of amounts with the intercept corrected, so that the mean prediction is the mean.

        Clipped gradients do not ensure this. If r is the mean residual, the mean of the predictions is 1 + r
        in units of the mean of the amounts.
        """
        clip = min(self.farthest, LARGEST_ERROR * self.features.reach(self.n))
        residuals = self.features.measure(SlopesAt(w, clip), self.features.remaining)
        mean = 1.0 + float(residuals.value[0]) / self.n
        return np.append(
            w[:-1], w[-1] - math.log(min(max(mean, 1.0 / MOST_MEAN_CHANGE), MOST_MEAN_CHANGE)) / self.bias
        )

    def _can_measure(self) -> bool:
        rho = MEASURE_SHARE * self.features.remaining
        return self.features.loss.is_scale_free and self.features.reach(self.records, rho) > MEASURE_REACH

    def _measured(self, w: Vector) -> float:
        """Measure the residuals, make their size the unit of the targets, and return it in the old unit."""
        rho, loss = MEASURE_SHARE * self.features.remaining, self.features.loss
        residuals = self.features.retargeted(0.0, 1.0, SQUARED)
        smaller = residual_size(residuals, SIZE_EDGES, SCALE_TAIL, rho, self.records, w)
        self.features = self.features.retargeted(0.0, smaller, loss)
        self.rhos = [rho * smaller**2 for rho in self.rhos]  # earlier noise is larger in the new unit
        self.unit *= smaller
        return smaller

    def _shrunk(self) -> Vector:
        """Return the mean after James-Stein shrinkage; the prior of the intercept is the released centre."""
        p, noise = self.features.n_features, self.noise()
        moved = self.mean - self.start
        own = float(moved[:p] @ moved[:p])
        kept = max(1.0 - (p + NOISE_DEVIATIONS * math.sqrt(2.0 * p)) * noise / max(own, 1e-300), 0.0)
        prior = (self.error**2 + INTERCEPT_DOUBT**2) / (self.unit * self.bias) ** 2
        shrunk = self.start + np.append(kept * moved[:p], prior / (prior + noise) * moved[p:])
        return self.features.regulariser.nearest(shrunk)
