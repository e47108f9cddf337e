"""The walk of the default solver: how long, in how many steps, and what it is worth.

The noise alone moves every weight by about one in the time 1 / sigma, sigma being the noise that the whole
budget leaves on one gradient; that is the length of the walk. Time is what matters; passes only smooth it.
Whether it has left the weights too short is told, free of charge, by the released gradients along them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privfit.curator import Curator, Vector
from privfit.losses import Loss
from privfit.solvers.base import Step
from privfit.solvers.passes import MOST_PASSES
from privfit.solvers.people import gradient_at, reach_of_gradients, records_heard

LOW_SNR, LOW_SNR_CLIPS = 200.0, (0.55, 1.0)  # clip closer to a typical gradient's norm the worse the signal
HIGH_SNR = 1000.0  # from here on clip less the better the signal: what the clip cuts off outweighs the noise
PASSES = (100, 300)  # planned passes over the data; more only smooth the same walk
TIME_PER_STEP = 15.0  # that momentum still follows
STABLE = 2.0  # step times curvature; momentum makes steps longer
KINKED_STEP = 5.0
STEP_GROWTH = 1.0  # how much longer, momentum included, each step is than the last
FULL_LENGTH_BY = 0.5  # of the plan at the latest
LONGEST_STEP = 100.0  # a momentum of .95; the walk is smooth enough, and more of it gains nothing
AVERAGE_FROM = 0.4  # of the walk: earlier iterates are too far from the optimum to be averaged
LATE_AVERAGE_FROM = 0.7  # the same of a walk that a limit of passes cuts short
MEAN_CURVATURE = 0.13  # of features of norm 1 at typical margins (the logistic loss has 1/4 at 0)

CALIBRATE_AT = 0.9  # of the walk: time enough to see what the weights are worth, and budget for two numbers
LARGE_DRIFT = 0.02  # fall of the loss per relative growth of all weights that is worth calibrating
CERTAIN_DRIFT = 2.0  # standard deviations of it
BACKWARD_DRIFT = 0.015  # rise of the loss per relative growth from which on the weights are too long
NOISY = 0.6  # from here on noise explains so much of the weights' square that their scale means nothing
RATHER_NOISY, LIKELY_DRIFT = 0.35, 0.05  # from here on that of an uncertain drift is looked for, too


def gradient_clip(snr: float) -> float:
    """Return where to clip gradients of records of norm 1, given what the budget carries per weight.

    It is meant for losses whose slope is at most 1. With several outputs it is to be multiplied by
    `Loss.joint_slope`.
    """
    return max(float(np.clip(snr / LOW_SNR, *LOW_SNR_CLIPS)), math.sqrt(snr / HIGH_SNR))


def step_for(loss: Loss) -> float:
    """Return a step at which the walk is stable: 8 for the logistic loss, whose curvature is at most 1/4."""
    if loss.is_scale_free or loss.smoothness < math.inf:
        return STABLE / loss.smoothed.smoothness
    return KINKED_STEP


def dot(a: Vector, b: Vector) -> float:
    """Return the inner product of weights, those of all outputs taken together."""
    return float(a.ravel() @ b.ravel())


class Drift:
    """How the mean loss changes if all weights grow by the same factor: mean of gradient times weights.

    A gradient's noise does not know the weights it is asked at, so the mean's error is known. The walk's own
    clip is in it: where the walk has arrived the drift is 0.
    """

    def __init__(self) -> None:
        self.weight = self.mean = self.variance = 0.0

    def add(self, share: float, gradient: Vector, error: float, weights: Vector) -> None:
        """Add a gradient with the error of its coordinates, asked at these weights, and weighing so much."""
        self.weight += share
        new = share / self.weight
        self.mean += new * (dot(gradient, weights) - self.mean)
        self.variance = (1.0 - new) ** 2 * self.variance + (new * error) ** 2 * dot(weights, weights)

    @property
    def is_certain(self) -> bool:
        """Whether the loss surely falls as the weights grow, and by enough to be worth calibrating."""
        return self.mean < -max(CERTAIN_DRIFT * math.sqrt(self.variance), LARGE_DRIFT)


class Walk:
    """Heavy-ball descent with a budget shared evenly among the steps that are left."""

    def __init__(
        self,
        features: Curator,
        n: float,
        *,
        start: Vector | None = None,
        longer: float = 1.0,
        slope: float = 1.0,
        max_steps: int = MOST_PASSES,
    ) -> None:
        self.features, self.n = features, n
        self.start = features.loss.weights_of(features.n_weights) if start is None else start
        self.outputs = features.loss.free_outputs
        self.d = features.n_weights * self.outputs
        carried = reach_of_gradients(features, n)
        self.clip = slope * features.loss.joint_slope * gradient_clip(carried / math.sqrt(self.d))
        self.heard = self.clip * records_heard(features.relation)  # how far one person moves a gradient sum
        # The gradient starts at l'(0): 1/2 for the logistic loss, 1 for the hinge, which so arrives earlier.
        # Where the typical record is shorter than 1, it takes longer by as much.
        duration = longer * carried / self.clip / math.sqrt(2.0 * features.loss.slope_at_zero)
        usual = int(np.clip(math.ceil(duration / TIME_PER_STEP), *PASSES))
        self.planned = min(usual, max_steps)
        self.average_from = AVERAGE_FROM if usual <= max_steps else LATE_AVERAGE_FROM
        self.length = min(duration / self.planned, LONGEST_STEP, features.regulariser.longest_step)
        self.step = min(step_for(features.loss), self.length)
        self.growth = max(STEP_GROWTH, self.length / (FULL_LENGTH_BY * self.planned))
        self.curvature = MEAN_CURVATURE
        self.trace: list[Step] = []
        self.rhos: list[float] = []
        self.mean: Vector = np.zeros_like(self.start)
        self.drift = Drift()
        self.held = False  # whether the constraint set has ever stopped a step

    def run(self) -> Vector:
        """Return the weighted mean of the walk, which ends early if the rest should calibrate the margins."""
        features, p = self.features, self.features.n_features
        w, velocity = self.start, np.zeros_like(self.start)
        while len(self.trace) < self.planned:
            if len(self.trace) == int(CALIBRATE_AT * self.planned) and self._miscalibrated():
                break
            price = features.remaining / (self.planned - len(self.trace))
            g = features.measure(gradient_at(w, self.clip, features.relation), price)
            self.rhos.append(g.rho)
            length = self.length_at(len(self.trace))
            gradient = features.loss.without_common_part(g.value) / self.n + features.regulariser.gradient(w)
            before, velocity = w, (1.0 - self.step / length) * velocity + gradient
            w, velocity = self.moved(w, velocity)
            self.trace.append(Step(len(self.trace) + 1, length, g.rho, 0.0, g.sigma))
            share = g.rho * float(iterate_weight(len(self.trace), self.planned, self.average_from))
            if share > 0.0:
                self.drift.add(share, gradient[:p], g.sigma / self.n, before[:p])
                self.mean = self.mean + (w - self.mean) * (share / self.drift.weight)
        return self.mean

    def moved(self, w: Vector, velocity: Vector) -> tuple[Vector, Vector]:
        """Return where a step leads, which the set must hold, and the velocity that is left."""
        end = w - self.step * velocity
        allowed = self.features.regulariser.nearest(end)
        if allowed is end:
            return end, velocity
        self.held = True
        return allowed, (w - allowed) / self.step  # the border takes the speed, too, which would lead nowhere

    def _miscalibrated(self) -> bool:
        """Return whether noise, or too short a walk, leaves the margins at a wrong scale."""
        if self._border_sets_the_scale:
            return False
        own = self.mean[: self.features.n_features]
        explained = len(own) * self.outputs * self.noise() / max(dot(own, own), 1e-300)
        likely = explained > RATHER_NOISY and self.drift.mean < -LIKELY_DRIFT
        smooth = self.features.loss.smoothness < math.inf  # the hinge's kink lets drifts be positive for good
        too_long = smooth and self.drift.mean > max(math.sqrt(self.drift.variance), BACKWARD_DRIFT)
        return explained > NOISY or likely or self.drift.is_certain or too_long

    @property
    def _border_sets_the_scale(self) -> bool:
        """Whether a set stopped the walk in which the weights may not grow: how large they are is then right.

        In a cone they may, and at its best point the gradient along the weights is 0, as without a set.
        """
        return self.held and not self.features.penalty.is_cone

    def length_at(self, t: int) -> float:
        """Return how far the gradient after t steps carries in all, momentum included: further each time.

        At full length the first gradients, which are the largest, would throw the weights far beyond the
        optimum. On nearly separable data only the few records that then lie wrong pull back, and slowly.
        """
        return min(self.step + self.growth * t, self.length)

    def _entered(self, steps: int) -> NDArray[np.float64]:
        """Return what share of the gradient of step s (row) is in the weights after step t (column)."""
        kept = np.eye(steps)
        for t in range(1, steps):
            kept[:t, t] = (1.0 - self.step / self.length_at(t)) * kept[:t, t - 1]
        entered: NDArray[np.float64] = np.cumsum(kept, axis=1) * (self.step / self.length)
        return entered

    def noise(self) -> float:
        """Return the square that noise alone would give each of the averaged weights by now.

        The noise of step s enters the average with the weight that the steps after it give it. Curvature
        damps it on the way; how much, is that of an Ornstein-Uhlenbeck process averaged with those weights.
        """
        rhos = np.array(self.rhos)
        taken = len(rhos)
        tail = rhos * iterate_weight(np.arange(1, taken + 1), self.planned, self.average_from)
        passed = self._entered(taken) @ tail / tail.sum()
        spread = (self.length * self.heard / self.n) ** 2 * float(np.sum(passed**2 / (2.0 * rhos)))
        return spread * damping(self.curvature / self.d * self.length * taken, self.average_from)

    def decision(self) -> str:
        """Say how many steps were taken; whether the last ones were, the released steps decided."""
        taken = len(self.trace)
        if taken < self.planned:
            return f"the fit took {taken} of its {self.planned} planned steps"
        return f"the fit took the planned {self.planned} steps"


def iterate_weight(step: ArrayLike, steps: int, average_from: float = AVERAGE_FROM) -> Vector:
    """Return what the iterate after each step weighs in the average: more the later, nothing at first."""
    weight: Vector = np.maximum(np.subtract(step, average_from * steps), 0.0)
    return weight


def damping(x: float, average_from: float = AVERAGE_FROM) -> float:
    """Return the variance of dw = -x w dt + dB averaged as the walk is, relative to that at x = 0."""
    t = np.linspace(0.0, 1.0, 129)[1:]
    weight = iterate_weight(t, 1, average_from)
    weights = np.outer(weight, weight)
    s = t[:, None]
    early, late = np.minimum(t, s), np.maximum(t, s)
    covariance = np.exp(-x * (late - early)) * -np.expm1(-2.0 * x * early) / (2.0 * x)
    return float(np.sum(weights * covariance) / np.sum(weights * early))
