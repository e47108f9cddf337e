"""The walk: noisy gradient descent with momentum, from the first weights to the last.

The *duration* of a walk is the number of steps times the step size. Let sigma be the noise of one gradient
that is bought with the whole privacy budget. After a duration of 1 / sigma, noise alone has moved every
weight by about one, so the walk ends there. More steps of a smaller size give nearly the same result. The
released gradients also show whether the weights are too small or too large, at no further cost (`Drift`).
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

# Up to this signal-to-noise ratio (the reach per root of the number of weights) the clip grows with it,
# between these limits, because with more noise a smaller clip is better.
LOW_SNR, LOW_SNR_CLIPS = 200.0, (0.55, 1.0)
HIGH_SNR = 1000.0  # above it the clip grows further, because clipping then does more harm than noise
PLANNED_PASSES = (100, 300)  # fewest and most planned steps; more would hardly change the result
TIME_PER_STEP = 15.0  # the largest duration per step at which momentum still works
STABLE_STEP_TIMES_CURVATURE = 2.0  # the step size at which descent is stable; momentum makes steps longer
KINKED_STEP = 5.0  # the step size for a loss with a kink
STEP_GROWTH = 1.0  # growth of the effective step, momentum included, with each step
FULL_LENGTH_BY = 0.5  # share of the planned steps by which the effective step has its full length
LARGEST_STEP_WITH_MOMENTUM = 100.0  # effective step at a momentum of .95; more momentum gave no better models
# share of the walk before which iterates are not averaged, because they are far from the optimum
AVERAGE_FROM = 0.4
LATE_AVERAGE_FROM = 0.7  # the same if a limit of passes makes the walk shorter
MEAN_CURVATURE = 0.13  # mean curvature of the loss at typical margins (that of the logistic loss is 1/4 at 0)

CALIBRATE_AT = 0.9  # share of the walk after which the rest of the budget may calibrate the model instead
LARGE_DRIFT = 0.02  # fall of the loss per relative growth of all weights that makes calibration worthwhile
CERTAIN_DRIFT = 2.0  # standard deviations at which a fall counts as certain
BACKWARD_DRIFT = 0.015  # rise of the loss per relative growth above which the weights are too large
# share of noise in the squared weights, above which their scale is mostly noise
NOISE_SHARE_TO_CALIBRATE = 0.6
# above this share of noise, calibrate even if the drift is uncertain
NOISE_SHARE_FOR_LIKELY_DRIFT, LIKELY_DRIFT = 0.35, 0.05


def gradient_clip(snr: float) -> float:
    """Return the clip for gradients of records of norm 1, given the reach per root of the number of weights.

    It is for losses whose slope is at most 1. With several outputs, multiply it by `Loss.joint_slope`.
    """
    return max(float(np.clip(snr / LOW_SNR, *LOW_SNR_CLIPS)), math.sqrt(snr / HIGH_SNR))


def step_for(loss: Loss) -> float:
    """Return a step size at which descent is stable: 8 for the logistic loss with its curvature of 1/4."""
    if loss.is_scale_free or loss.smoothness < math.inf:
        return STABLE_STEP_TIMES_CURVATURE / loss.smoothed.smoothness
    return KINKED_STEP


def dot(a: Vector, b: Vector) -> float:
    """Return the inner product of weights, over all outputs."""
    return float(a.ravel() @ b.ravel())


class Drift:
    """The drift: how the mean loss changes if all weights grow by the same factor.

    It is estimated by the mean of gradient times weights. The noise of a gradient is independent of the
    weights at which it is measured, so the error of the mean is known. The gradients are clipped, so at the
    point to which the walk converges the drift is 0.
    """

    def __init__(self) -> None:
        self.weight = self.mean = self.variance = 0.0

    def add(self, share: float, gradient: Vector, error: float, weights: Vector) -> None:
        """Add a gradient at these weights with the error of its coordinates; `share` is its weight."""
        self.weight += share
        new = share / self.weight
        self.mean += new * (dot(gradient, weights) - self.mean)
        self.variance = (1.0 - new) ** 2 * self.variance + (new * error) ** 2 * dot(weights, weights)

    @property
    def is_certain(self) -> bool:
        """Whether the loss clearly falls as the weights grow, by enough to make calibration worthwhile."""
        return self.mean < -max(CERTAIN_DRIFT * math.sqrt(self.variance), LARGE_DRIFT)


class Walk:
    """Heavy-ball descent; the remaining budget is shared evenly among the remaining steps."""

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
        # the sensitivity of a gradient sum to one person
        self.heard = self.clip * records_heard(features.relation)
        # The first gradient is l'(0) in size, 1/2 for the logistic loss and 1 for the hinge, so the hinge
        # needs less time. If the typical record is shorter than 1, the duration is longer by that factor.
        duration = longer * carried / self.clip / math.sqrt(2.0 * features.loss.slope_at_zero)
        usual = int(np.clip(math.ceil(duration / TIME_PER_STEP), *PLANNED_PASSES))
        self.planned = min(usual, max_steps)
        self.average_from = AVERAGE_FROM if usual <= max_steps else LATE_AVERAGE_FROM
        self.length = min(
            duration / self.planned, LARGEST_STEP_WITH_MOMENTUM, features.regulariser.longest_step
        )
        self.step = min(step_for(features.loss), self.length)
        self.growth = max(STEP_GROWTH, self.length / (FULL_LENGTH_BY * self.planned))
        self.curvature = MEAN_CURVATURE
        self.trace: list[Step] = []
        self.rhos: list[float] = []
        self.mean: Vector = np.zeros_like(self.start)
        self.drift = Drift()
        self.held = False  # whether the constraint set has ever stopped a step

    def run(self) -> Vector:
        """Return the weighted mean of the iterates; stop early if the model should be calibrated."""
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
        """Return the point after a step, projected into the set, and the remaining velocity."""
        end = w - self.step * velocity
        allowed = self.features.regulariser.nearest(end)
        if allowed is end:
            return end, velocity
        self.held = True
        return allowed, (w - allowed) / self.step  # without the component of the velocity that leaves the set

    def _miscalibrated(self) -> bool:
        """Return whether noise, or too short a walk, has given the margins a wrong scale."""
        if self._border_sets_the_scale:
            return False
        own = self.mean[: self.features.n_features]
        explained = len(own) * self.outputs * self.noise() / max(dot(own, own), 1e-300)
        likely = explained > NOISE_SHARE_FOR_LIKELY_DRIFT and self.drift.mean < -LIKELY_DRIFT
        smooth = self.features.loss.smoothness < math.inf  # with a kink, the drift may stay positive
        too_long = smooth and self.drift.mean > max(math.sqrt(self.drift.variance), BACKWARD_DRIFT)
        return explained > NOISE_SHARE_TO_CALIBRATE or likely or self.drift.is_certain or too_long

    @property
    def _border_sets_the_scale(self) -> bool:
        """Whether a constraint set that limits the size of the weights has stopped a step.

        The size of the weights is then right. In a cone the weights may grow, and at the best point the
        gradient along the weights is 0, as without a set.
        """
        return self.held and not self.features.penalty.is_cone

    def length_at(self, t: int) -> float:
        """Return the effective step of the gradient after t steps, momentum included; it grows with t.

        With the full length at once, the first gradients, which are the largest, would move the weights far
        beyond the optimum. If classes are nearly separable, only the few records that are then misclassified
        move them back, and slowly.
        """
        return min(self.step + self.growth * t, self.length)

    def _entered(self, steps: int) -> NDArray[np.float64]:
        """Return the share of step s's gradient (row) that has reached the weights after step t (column)."""
        kept = np.eye(steps)
        for t in range(1, steps):
            kept[:t, t] = (1.0 - self.step / self.length_at(t)) * kept[:t, t - 1]
        entered: NDArray[np.float64] = np.cumsum(kept, axis=1) * (self.step / self.length)
        return entered

    def noise(self) -> float:
        """Return the expected square of the noise in each averaged weight so far.

        The noise of each step enters the average with a weight that depends on later steps. Curvature damps
        it, by the same factor as an Ornstein-Uhlenbeck process that is averaged with the same weights.
        """
        rhos = np.array(self.rhos)
        taken = len(rhos)
        tail = rhos * iterate_weight(np.arange(1, taken + 1), self.planned, self.average_from)
        passed = self._entered(taken) @ tail / tail.sum()
        spread = (self.length * self.heard / self.n) ** 2 * float(np.sum(passed**2 / (2.0 * rhos)))
        return spread * damping(self.curvature / self.d * self.length * taken, self.average_from)

    def decision(self) -> str:
        """Say how many of the planned steps were taken; the released steps decided it."""
        taken = len(self.trace)
        if taken < self.planned:
            return f"the fit took {taken} of its {self.planned} planned steps"
        return f"the fit took the planned {self.planned} steps"


def iterate_weight(step: ArrayLike, steps: int, average_from: float = AVERAGE_FROM) -> Vector:
    """Return the weight of each iterate in the average: 0 at first, and then growing linearly."""
    weight: Vector = np.maximum(np.subtract(step, average_from * steps), 0.0)
    return weight


def damping(x: float, average_from: float = AVERAGE_FROM) -> float:
    """Return the variance of the walk's average of dw = -x w dt + dB, relative to that at x = 0."""
    t = np.linspace(0.0, 1.0, 129)[1:]
    weight = iterate_weight(t, 1, average_from)
    weights = np.outer(weight, weight)
    s = t[:, None]
    early, late = np.minimum(t, s), np.maximum(t, s)
    covariance = np.exp(-x * (late - early)) * -np.expm1(-2.0 * x * early) / (2.0 * x)
    return float(np.sum(weights * covariance) / np.sum(weights * early))
