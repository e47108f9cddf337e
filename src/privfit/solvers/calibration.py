"""The two numbers that a model's probabilities hang on: the scale of its margins, and its intercept.

A direction takes as many noisy numbers as there are columns, but these are only two, so little budget buys
them well. The intercept is started where the mean target puts it; and where the walk has left the margins
too long (noise) or too short (a far optimum), both are found anew along the released direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privfit.curator import Curator, Vector
from privfit.questions import GradientAt, Norms, TargetSums
from privfit.solvers.base import Step
from privfit.solvers.curvature import mean_curvature
from privfit.solvers.geometry import ENOUGH

TARGET_SHARES = 0.002, 0.03  # of the budget, for the mean target; in between (10 / reach)^2,
TARGET_REACH = 10.0  # because the mean is then known to a tenth of its bound
TINY_TABLE_SHARE = 0.5  # the same where nothing but the intercept can be learnt
# share of its bound from which on the walk starts from the mean target (a label rarer than 1 in 5), because
# from 0 it would not get there in time
FAR_MEAN = 0.6

CALIBRATION_STEPS = 8  # Newton's steps; each is noisier the more there are, and 8 are enough to settle
SIZE_SHARE = 0.1  # of what is left, for the margins' size, which is wanted to a factor of two only
SIZE_QUANTILE = 0.3  # share of margins above their size; of Gaussian ones it is then a standard deviation
BIN_MIDDLE = 0.75  # a size between two powers of two is taken to be the middle
LEAST_CLIP = 1.0  # a gradient in (margin / size, 1) is seldom longer
CLIP_REACH = 400.0  # reach of what is left from which on clip less, because noise no longer matters
# the scale that is expected where noise explains so much of the weights
NOISE_RANGE, SCALE_RANGE = (0.5, 1.0), (1.0, 0.5)
SCALE_DOUBT = 0.7  # standard deviation of that expectation
INTERCEPT_DOUBT = 0.3  # likewise of the intercept, beside the noise on it
START_SHARE = 0.1  # of what is left, for the scale and the intercept of declared weights
LARGE_MARGIN = 2.0  # standard deviation of margins that few models exceed
MEMORY = 0.7  # of earlier steps: they were taken where the curvature was another
LONGEST_STEP = 0.5  # in units of the scale: losses with a kink have next to no curvature far from it


def first_weights(features: Curator, budget: float, n: float, weight: float, bias: float) -> Vector:
    """Return where walks start: weights of zero with an intercept that is bought, or declared weights.

    The intercept's column holds `bias`, and the n records weigh `weight` together.
    """
    if features.penalty.start is not None:
        return calibrated_start(features, n, weight, bias)
    start = features.loss.weights_of(features.n_weights)
    if features.intercept:
        start[-1:] = first_intercept(features, budget, weight) / bias
    return features.regulariser.nearest(start)


def first_intercept(features: Curator, budget: float, n: float) -> Vector:
    """Return the best constant prediction if the mean target is far from the middle, else 0.

    There is one for each output. The mean is bought (`TargetSums`); the loss's own link turns it into a
    prediction.
    """
    targets, reach = features.loss.targets, features.reach(n, budget)
    share = (
        float(np.clip((TARGET_REACH / reach) ** 2, *TARGET_SHARES)) if reach > ENOUGH else TINY_TABLE_SHARE
    )
    sums = features.measure(TargetSums(), share * budget)
    mean, error = sums.value / n, sums.sigma / n
    if features.loss.smoothness < math.inf and reach <= ENOUGH and features.loss.outputs == 1:
        # shrink as James and Stein would; the hinge is linear, so that caution gains nothing
        size = float(np.linalg.norm(mean))
        mean = mean * (1.0 - (error / size) ** 2 if size > error else 0.0)
    likely = targets.likely_mean(mean, error)
    if (
        reach > ENOUGH
        and features.loss.outputs == 1
        and float(np.linalg.norm(likely)) < FAR_MEAN * targets.bound
    ):
        return np.zeros(1)
    return features.loss.best_constant(likely)


@dataclass(frozen=True)
class Calibration:
    """Weights with the scale and the intercept that go with their direction."""

    w: Vector
    trace: tuple[Step, ...]
    decision: str


def calibrated(
    features: Curator,
    w: Vector,
    n: float,
    weight: float,
    bias: float,
    noise: float,
    taken: int,
    *,
    size: float = 0.0,
    keep: float = 0.0,
) -> Calibration:
    """Spend what is left, but for `keep`, on the scale of the margins z.w and the intercept for it.

    Newton's steps with a Kalman filter's gains weigh what they learn against what the walk knew: a scale of
    1 and its intercept, each with a doubt. `weight` is what the n records weigh together, `noise` is
    the square that noise gave each weight of the model, `taken` is the number of steps so far. The size of
    margins is bought unless it is given.
    """
    p = features.n_features
    margins = features.projected(w)
    size = size or margin_size(margins, math.sqrt(noise), 2.0 * float(np.linalg.norm(w[:p])), n)
    margins = margins.transformed(np.zeros(1), np.array([1.0 / size]), 1.0)
    basis = np.zeros((margins.n_weights, features.n_weights))  # what the scale, and the intercept, are in w
    basis[0, :p] = w[:p] / size
    basis[1:, p:] = 1.0 / bias
    explained = p * noise / max(float(w[:p] @ w[:p]), 1e-300)
    expected = float(np.interp(explained, NOISE_RANGE, SCALE_RANGE))
    state = np.append(expected * size, bias * w[p:])
    doubts = np.append(
        SCALE_DOUBT * size, np.full(len(state) - 1, math.hypot(bias * math.sqrt(noise), INTERCEPT_DOUBT))
    )
    clip = max(LEAST_CLIP, margins.reach(weight) / CLIP_REACH)
    information = np.zeros(len(state))
    trace = []
    for t in range(CALIBRATION_STEPS):
        g = margins.measure(GradientAt(state, clip), (margins.remaining - keep) / (CALIBRATION_STEPS - t))
        slope = g.value / weight + basis @ features.regulariser.gradient(state @ basis)
        curved = mean_curvature(features.loss, max(state[0], size))[: len(state)]
        curvature = np.array(curved) + [b @ features.regulariser.gradient(b) for b in basis]
        certainty = (weight / g.sigma) ** 2
        information = MEMORY * information + curvature**2 * certainty
        step = curvature * certainty / (information + doubts**-2) * slope
        longest = LONGEST_STEP * max(state[0], size)
        state = state - np.clip(step, -longest, longest)
        state[0] = max(state[0], 0.0)
        trace.append(Step(taken + t + 1, 1.0, g.rho, 0.0, g.sigma))
    decision = (
        f"{CALIBRATION_STEPS} further steps scaled its margins by {state[0] / size:.2f} and found their "
        "intercept"
    )
    return Calibration(state @ basis, tuple(trace), decision)


def calibrated_start(features: Curator, n: float, weight: float, bias: float) -> Vector:
    """Return the declared start with the scale and the intercept that suit these records.

    A start that points the wrong way is scaled down, so that it costs little more than these two numbers.
    """
    start = features.regulariser.start(np.zeros(features.n_weights))
    p = features.n_features
    size = float(np.linalg.norm(start[:p])) / math.sqrt(p)  # of margins, if columns are not correlated
    if not size or features.loss.is_scale_free:  # the scale of numbers is bought before
        return start
    likely = min(size, LARGE_MARGIN)
    start[:p] *= likely / size
    keep = (1.0 - START_SHARE) * features.remaining
    found = calibrated(features, start, n, weight, bias, 0.0, 0, size=likely, keep=keep)
    return features.regulariser.nearest(found.w)


def margin_size(margins: Curator, least: float, most: float, n: float) -> float:
    """Return how large margins are, to a factor of two, and not less than noise alone makes them.

    Where a noisy histogram does not show surely that many are larger, they are taken to be noise.
    """
    doublings = math.ceil(math.log2(max(most / least, 2.0)))
    edges = least * np.exp2(np.arange(doublings, -2, -1, dtype=np.float64))
    counts = margins.measure(Norms(edges), SIZE_SHARE * margins.remaining)
    surely_above = np.cumsum(counts.value) - counts.sigma * np.sqrt(np.arange(1, len(edges)))
    reached = edges[:-1][surely_above >= SIZE_QUANTILE * n]
    return BIN_MIDDLE * max(float(reached[0]) if len(reached) else 0.0, least)
