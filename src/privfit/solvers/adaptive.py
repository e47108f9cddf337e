"""The default solver: noisy gradient descent in private geometry, with nothing to tune.

Everything the walk needs is bought first, for about a tenth of the budget: how many records there are, how
large the features, how long and how spread. Features are then standardised (on the fly, in the kernels), so
that the right step is known and only one thing is left to decide: how long to walk. The noise alone moves
every weight by about one in the time 1 / sigma, sigma being the noise that the whole budget leaves on one
gradient; that is the length of the walk, unless two looks at the released weights say that the optimum is
further away. Weights that mostly noise explains are shrunk towards the end, and what is left of the budget
finds the intercept that goes with them. docs/solvers.md has the measurements, docs/research.md what was tried
and did not help.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privfit.accounting import Gaussian
from privfit.curator import Curator, Vector
from privfit.questions import GradientAt
from privfit.solvers.base import Solution, Step, register
from privfit.solvers.geometry import bounded, standardised
from privfit.solvers.kit import number_of_records
from privfit.solvers.requirements import POSITIVE_DELTA, Requirement

BIAS = 0.3  # what the intercept's column holds beside features of norm 1: the intercept is easily learnt
LOW_SNR, CLIPS = 200.0, (0.55, 1.0)  # clip closer to a typical gradient's norm, 1/2, the worse the signal
HIGH_SNR = 1000.0  # from here on clip less the better the signal: what the clip cuts off outweighs the noise
STEPS = (100, 300)  # passes over the data; more only smooth the same walk
PACE = 15.0  # walk time per step that momentum still follows
STEP = 5.0  # curvature is at most about 1/4 after standardising, so 5 is stable; momentum makes it longer
LONGEST_STEP = 100.0  # a momentum of .95; the walk is smooth enough, and more of it gains nothing
LOOKS = (0.2, 0.4)  # fractions of the planned walk after which the distance covered is looked at
AMBITION = 0.4  # lengthen only if the signal outweighs the noise 2.5 times: a needless mile costs more
START = 0.4  # of the walk: earlier iterates are not averaged, because they are too far from the optimum
DOUBT = (0.55, 0.75)  # from here on believe that noise explains that share of the weights' square
DECISION = 0.9  # of the walk: time enough to see what the weights are worth, and budget for the intercept
HARDLY = 0.6  # if less of the weights is kept, the intercept is worth more than their last steps
FAINT = 2.0**-20  # what features are scaled by while gradients are to tell of the intercept alone
SLOPE = 0.6  # where the loss's slopes are clipped then; the hinge's, which are 0 or 1, only become shorter
CURVATURE = 0.13  # mean curvature of features of norm 1 at typical margins (the logistic loss has 1/4 at 0)
LENGTHEN, MOST_STEPS = 4.0, 600  # how far a look may lengthen the walk


@register
@dataclass(frozen=True, kw_only=True)
class Adaptive:
    """Standardise privately, then walk for as long as the budget carries.

    Use it unless you know better; it needs no settings. With few records, or a tiny budget, no solver learns
    much: expect little below (number of records) x sqrt(2 rho) = 25.
    """

    name: ClassVar[str] = "adaptive"
    private: ClassVar[bool] = True
    requires: ClassVar[tuple[Requirement, ...]] = (POSITIVE_DELTA,)
    promise = staticmethod(Gaussian.of)

    def solve(self, curator: Curator) -> Solution:
        """Buy the geometry, walk, and average the walk, later steps weighing more."""
        budget = curator.remaining
        n = number_of_records(curator)
        features = standardised(bounded(curator, budget, n), budget, n, BIAS)
        walker = features.curator
        w, trace, decision = _Walk(walker, n).run()
        return Solution(walker.raw_weights(w), tuple(trace), (*features.notes, decision), walker.bounds)


class _Walk:
    """Heavy-ball descent with a budget shared evenly among the steps that are left."""

    def __init__(self, features: Curator, n: float) -> None:
        self.features, self.n = features, n
        self.d = features.n_weights
        carried = n * math.sqrt(2.0 * features.remaining)
        snr = carried / math.sqrt(self.d)
        self.clip = max(float(np.clip(snr / LOW_SNR, *CLIPS)), math.sqrt(snr / HIGH_SNR))
        # The gradient starts at l'(0): 1/2 for the logistic loss, 1 for the hinge, which so arrives earlier.
        duration = carried / self.clip / math.sqrt(2.0 * features.loss.slope_at_zero)
        self.planned = int(np.clip(math.ceil(duration / PACE), *STEPS))
        self.length = min(duration / self.planned, LONGEST_STEP, features.longest_regular_step)
        self.step = min(STEP, self.length)
        self.rhos: list[float] = []

    def run(self) -> tuple[Vector, list[Step], str]:
        """Return the weighted mean of the walk, the trace, and what was decided."""
        features, steps = self.features, self.planned
        w = velocity = mean = np.zeros(self.d)
        weight = 0.0
        trace: list[Step] = []
        looks = [max(1, int(share * steps)) for share in LOOKS]
        covered: list[tuple[float, float]] = []
        while len(trace) < steps:
            if features.intercept and len(trace) == int(DECISION * steps):
                noise = self._noise(steps)
                kept = _kept(_explained(mean[:-1], noise))
                if kept < HARDLY:
                    own = _james_stein(_explained(mean[-1:], noise))
                    shrunk = np.append(kept * mean[:-1], own * mean[-1])
                    decision = _decision(self.planned, steps, kept, steps - len(trace))
                    return self._settled(shrunk, steps, trace), trace, decision
            g = features.measure(GradientAt(w, self.clip), features.remaining / (steps - len(trace)))
            self.rhos.append(g.rho)
            length = self._length_at(len(trace))
            velocity = (1.0 - self.step / length) * velocity + g.value / self.n + features.penalty_gradient(w)
            w = w - self.step * velocity
            trace.append(Step(len(trace) + 1, length, g.rho, 0.0, g.sigma))
            if len(trace) in looks:
                covered.append(self._distance(w))
                if len(covered) == len(looks):
                    steps = self._lengthened(*covered)
            share = g.rho * max(len(trace) - START * steps, 0.0)
            if share > 0.0:
                weight += share
                mean = mean + (w - mean) * (share / weight)
        mean[: features.n_features] *= _kept(_explained(mean[: features.n_features], self._noise(steps)))
        return mean, trace, _decision(self.planned, steps)

    def _settled(self, w: Vector, steps: int, trace: list[Step]) -> Vector:
        """Return the weights with the intercept that goes with them, found in the steps that are left.

        Shrinking weights of features that are not quite centred moves all margins, and the noise on the
        intercept weighs more beside shorter weights. Newton's steps on the intercept alone, with a Kalman
        filter's gains, weigh what they learn against what the walk knew. The mean of their second half is for
        losses with a kink.
        """
        features, p, left = self.features, self.features.n_features, steps - len(trace)
        faint = features.transformed(np.zeros(p), np.full(p, FAINT), 1.0)
        w = np.append(w[:-1] / FAINT, BIAS * w[-1])
        smoothness = features.loss.smoothness
        first = 1.0 / ((smoothness if smoothness < math.inf else 1.0) + features.alpha)
        noise = first * SLOPE / (self.n * math.sqrt(2.0 * faint.remaining))
        doubt = left * noise**2 / (BIAS**2 * self._noise(steps))
        found = []
        for t in range(1, left + 1):
            g = faint.measure(GradientAt(w, SLOPE), faint.remaining / (left + 1 - t))
            w[-1] -= first / (t + doubt) * (g.value[-1] / self.n + faint.penalty_gradient(w)[-1])
            found.append(w[-1])
            trace.append(Step(len(trace) + 1, first / (t + doubt), g.rho, 0.0, g.sigma))
        return np.append(FAINT * w[:-1], np.mean(found[left // 2 :]) / BIAS)

    def _length_at(self, t: int) -> float:
        """Return how far the gradient after t steps carries in all, momentum included: 1 further each time.

        At full length the first gradients, which are the largest, would throw the weights far beyond the
        optimum. On nearly separable data only the few records that then lie wrong pull back, and slowly.
        """
        return min(self.step + t, self.length)

    def _entered(self, steps: int) -> NDArray[np.float64]:
        """Return what share of the gradient of step s (row) is in the weights after step t (column)."""
        kept = np.eye(steps)
        for t in range(1, steps):
            kept[:t, t] = (1.0 - self.step / self._length_at(t)) * kept[:t, t - 1]
        entered: NDArray[np.float64] = np.cumsum(kept, axis=1) * (self.step / self.length)
        return entered

    def _noise(self, steps: int) -> float:
        """Return the square that noise alone would give each of the averaged weights by now.

        The noise of step s enters the average with the weight that the steps after it give it. Curvature
        damps it on the way; how much, is that of an Ornstein-Uhlenbeck process averaged with those weights.
        """
        rhos = np.array(self.rhos)
        taken = len(rhos)
        tail = rhos * _weight(np.arange(1, taken + 1), steps)
        passed = self._entered(taken) @ tail / tail.sum()
        spread = (self.length * self.clip / self.n) ** 2 * float(np.sum(passed**2 / (2.0 * rhos)))
        return spread * _damping(CURVATURE / self.d * self.length * taken)

    def _distance(self, w: Vector) -> tuple[float, float]:
        """Return how far noise alone would be by now, in units of its plan, and how far the signal is."""
        h = self._entered(len(self.rhos))[:, -1]
        noise = (
            self.d
            * (self.length * self.clip / self.n) ** 2
            * float(np.sum(h**2 / (2.0 * np.array(self.rhos))))
        )
        return math.sqrt(self.d) * float(h.sum()) / self.planned, float(w @ w) - noise

    def _lengthened(self, first: tuple[float, float], second: tuple[float, float]) -> int:
        """Return the number of steps after which signal and noise would be balanced.

        The signal's distance grows like time^e. It is extrapolated from the two looks, and the walk goes on
        until it has fallen to the noise's, which grows like time.
        """
        (k1, s1), (k2, s2) = first, second
        if s1 <= 0.0 or s2 <= 0.0 or AMBITION * math.sqrt(s2) <= k2:
            return self.planned
        e = float(np.clip(math.log(s2 / s1) / (2.0 * math.log(k2 / k1)), 0.0, 0.6))
        balanced = k2 * (AMBITION * math.sqrt(s2) / k2) ** (1.0 / (1.0 - e))
        factor = float(np.clip(balanced / math.sqrt(self.d), 1.0, LENGTHEN))
        return min(int(self.planned * factor), max(MOST_STEPS, self.planned))


def _weight(step: ArrayLike, steps: int) -> Vector:
    """Return what the iterate after each step weighs in the average: more the later, nothing before START."""
    weight: Vector = np.maximum(np.subtract(step, START * steps), 0.0)
    return weight


def _explained(weights: Vector, noise: float) -> float:
    """Return what share of the weights' square noise explains; more than 1 if they are smaller than noise."""
    return len(weights) * noise / max(float(weights @ weights), 1e-300)


def _james_stein(explained: float) -> float:
    return max(1.0 - explained, 0.0)


def _kept(explained: float) -> float:
    """Return what to keep of weights whose square noise explains to this share.

    All of them if it is about a half or less, because shrinking then costs more than it gains; else as much
    as James and Stein would keep, and nothing if noise explains everything.
    """
    return max(float(np.interp(explained, DOUBT, (1.0, 0.0))), _james_stein(explained))


def _damping(x: float) -> float:
    """Return the variance of dw = -x w dt + dB averaged as the walk is, relative to that at x = 0."""
    t = np.linspace(0.0, 1.0, 129)[1:]
    weights = np.outer(_weight(t, 1), _weight(t, 1))
    s = t[:, None]
    early, late = np.minimum(t, s), np.maximum(t, s)
    covariance = np.exp(-x * (late - early)) * -np.expm1(-2.0 * x * early) / (2.0 * x)
    return float(np.sum(weights * covariance) / np.sum(weights * early))


def _decision(planned: int, steps: int, kept: float = 1.0, settling: int = 0) -> str:
    looks = "two looks at the released weights "
    if steps == planned:
        looks += f"kept the walk at its planned {planned} steps"
    else:
        looks += f"lengthened the walk from {planned} to {steps} steps"
    if settling:
        looks += f"; noise explained most of the weights, so they were shrunk to {kept:.0%}, and the last "
        looks += f"{settling} steps found the intercept alone"
    return looks
