"""The walk for targets that are numbers or amounts: the size of the residuals is measured on the way.

Gradients are clipped by the size of the residuals. At the start that is the size of the targets around their
centre; after a third of the walk the residuals are smaller, and a small share of the budget tells by how
much. What noise alone would give the weights is known, so that they are shrunk by it at the end.
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
from privfit.solvers.target_scale import TYPICAL, ScaledTargets, residual_size
from privfit.solvers.walk import Walk, iterate_weight

MEASURE_AT = 1 / 3  # of the walk: the weights are then near enough for the residuals to stay as large
MEASURE_SHARE = 0.02  # of what is left then
MEASURE_REACH = 15.0  # of that share, from which on residuals stand out of the noise
SIZES = np.exp2(np.arange(-16.0, 5.0) / 4.0)  # edges of sizes, in units of that at the start
STEP = 2.0  # stable for a curvature of 1, which losses have where residuals have size 1, and records norm 1
CURVATURE = 0.7  # mean curvature of the loss where residuals have size 1
CERTAIN = 2.0  # standard deviations of the square that noise gives the weights, which are taken for noise
DOUBT = 0.05  # of the intercept beside the noise on the centre: the centre is that of clipped targets
LAST_SHARES, LAST_REACH = (0.02, 0.15), 40.0  # of what is left, for the mean residual of amounts
LARGEST_ERROR = 0.15  # of that mean, which is clipped where it would be noisier
MOST = 1.5  # times by which the mean of the predictions is changed, up or down


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
        self.step = min(STEP, self.length)
        self.curvature, self.farthest = CURVATURE, scaled.farthest
        self.unit = 1.0  # of the weights, in units of the scale at the start

    def run(self) -> Vector:
        """Return the weighted mean of the walk, shrunk by what noise alone would give it."""
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
        """Return weights of amounts whose mean prediction is the mean, which gradients clip too much to tell.

        With r the mean residual, the mean of the predictions is 1 + r in units of the mean of the amounts.
        """
        clip = min(self.farthest, LARGEST_ERROR * self.features.reach(self.n))
        residuals = self.features.measure(SlopesAt(w, clip), self.features.remaining)
        mean = 1.0 + float(residuals.value[0]) / self.n
        return np.append(w[:-1], w[-1] - math.log(min(max(mean, 1.0 / MOST), MOST)) / self.bias)

    def _can_measure(self) -> bool:
        rho = MEASURE_SHARE * self.features.remaining
        return self.features.loss.is_scale_free and self.features.reach(self.records, rho) > MEASURE_REACH

    def _measured(self, w: Vector) -> float:
        """Measure the residuals, make their size the unit of the targets, and return it in the old unit."""
        rho, loss = MEASURE_SHARE * self.features.remaining, self.features.loss
        residuals = self.features.retargeted(0.0, 1.0, SQUARED)
        smaller = residual_size(residuals, SIZES, TYPICAL, rho, self.records, w)
        self.features = self.features.retargeted(0.0, smaller, loss)
        self.rhos = [rho * smaller**2 for rho in self.rhos]  # earlier noise is larger in the new unit
        self.unit *= smaller
        return smaller

    def _shrunk(self) -> Vector:
        """Return the mean, shrunk as James and Stein would; the centre tells much of the intercept."""
        p, noise = self.features.n_features, self.noise()
        moved = self.mean - self.start
        own = float(moved[:p] @ moved[:p])
        kept = max(1.0 - (p + CERTAIN * math.sqrt(2.0 * p)) * noise / max(own, 1e-300), 0.0)
        prior = (self.error**2 + DOUBT**2) / (self.unit * self.bias) ** 2
        shrunk = self.start + np.append(kept * moved[:p], prior / (prior + noise) * moved[p:])
        return self.features.regulariser.nearest(shrunk)
