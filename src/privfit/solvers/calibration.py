"""Calibration: fit the scale of a model's margins and its intercept, which decide its probabilities.

The direction of the weights has as many noisy numbers as there are columns. Scale and intercept are only two
numbers, so a small part of the privacy budget determines them well. The intercept starts at the constant that
fits the mean target. If the walk has left the margins too large (because of noise) or too small (because the
optimum is far), both numbers are fitted again along the released direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privfit.curator import Curator, Vector
from privfit.questions import GradientAt, Norms, TargetSums
from privfit.solvers.base import Step
from privfit.solvers.curvature import mean_curvature
from privfit.solvers.geometry import MIN_REACH_FOR_GEOMETRY

# Share of the budget for the mean target: (REACH_FOR_TARGET_SHARE / reach)^2, within these limits. It is
# then known to a tenth of its bound.
TARGET_SHARES = 0.002, 0.03
REACH_FOR_TARGET_SHARE = 10.0
TINY_TABLE_SHARE = 0.5  # the share if only the intercept can be learnt
# The walk starts from the mean target if it exceeds this share of its bound (a label rarer than 1 in 5),
# because from 0 it would take too long.
LEAST_MEAN_TO_START_FROM = 0.6

CALIBRATION_STEPS = 8  # Newton steps; more steps make each of them noisier, and 8 are enough to converge
# share of what is left, for the size of margins, which is needed only within a factor of two
SIZE_SHARE = 0.1
# share of margins above the size; for Gaussian margins the size is then one standard deviation
SIZE_QUANTILE = 0.3
BIN_MIDDLE = 0.75  # a size between two powers of two is estimated by this share of the upper one
LEAST_CALIBRATION_CLIP = 1.0  # few gradients with respect to (margin / size, 1) are longer
CLIP_REACH = 400.0  # if the reach of what is left is larger, clip less, because noise matters less
# The prior mean of the scale, interpolated: it falls as noise explains more of the squared weights.
NOISE_RANGE, SCALE_RANGE = (0.5, 1.0), (1.0, 0.5)
SCALE_DOUBT = 0.7  # prior standard deviation of the scale
INTERCEPT_DOUBT = 0.3  # prior standard deviation of the intercept, in addition to its noise
START_SHARE = 0.1  # share of what is left, for the scale and the intercept of declared weights
LARGE_MARGIN = 2.0  # standard deviation of margins that few models exceed
# factor for the information of earlier steps, because the curvature was different there
FORGETTING_FACTOR = 0.7
# in units of the scale; limits steps because a loss with a kink has little curvature far from it
LONGEST_CALIBRATION_STEP = 0.5


def first_weights(features: Curator, budget: float, n: float, weight: float, bias: float) -> Vector:
    """Return the weights at which a walk starts: zeros with a noisy intercept, or declared weights.

    The intercept's column holds `bias`, and `weight` is the sum of the n records' weights.
    """
    if features.penalty.start is not None:
        return calibrated_start(features, n, weight, bias)
    start = features.loss.weights_of(features.n_weights)
    if features.intercept:
        start[-1:] = first_intercept(features, budget, weight) / bias
    return features.regulariser.nearest(start)


def first_intercept(features: Curator, budget: float, n: float) -> Vector:
    """Return the best constant prediction if the mean target is far from the middle, and 0 otherwise.

    There is one for each output. The noisy mean (`TargetSums`) is turned into a prediction by the loss's
    link.
    """
    targets, reach = features.loss.targets, features.reach(n, budget)
    share = (
        float(np.clip((REACH_FOR_TARGET_SHARE / reach) ** 2, *TARGET_SHARES))
        if reach > MIN_REACH_FOR_GEOMETRY
        else TINY_TABLE_SHARE
    )
    sums = features.measure(TargetSums(), share * budget)
    mean, error = sums.value / n, sums.sigma / n
    if features.loss.smoothness < math.inf and reach <= MIN_REACH_FOR_GEOMETRY and features.loss.outputs == 1:
        # James-Stein shrinkage; it does not help the hinge, which is linear
        size = float(np.linalg.norm(mean))
        mean = mean * (1.0 - (error / size) ** 2 if size > error else 0.0)
    likely = targets.likely_mean(mean, error)
    if (
        reach > MIN_REACH_FOR_GEOMETRY
        and features.loss.outputs == 1
        and float(np.linalg.norm(likely)) < LEAST_MEAN_TO_START_FROM * targets.bound
    ):
        return np.zeros(1)
    return features.loss.best_constant(likely)


@dataclass(frozen=True)
class Calibration:
    """Weights with a fitted scale and intercept."""

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
    """Spend the remaining budget, except `keep`, on the scale of the margins z.w and the intercept.

    Newton steps use the gains of a Kalman filter. They combine each noisy gradient with a prior: a scale of
    1 and the walk's intercept, each with a standard deviation (`SCALE_DOUBT`, `INTERCEPT_DOUBT`). `weight` is
    the sum of the n records' weights, `noise` is the expected square of the noise in each weight, and `taken`
    is the number of steps so far. The size of margins is bought unless it is given.
    """
    p = features.n_features
    margins = features.projected(w)
    size = size or margin_size(margins, math.sqrt(noise), 2.0 * float(np.linalg.norm(w[:p])), n)
    margins = margins.transformed(np.zeros(1), np.array([1.0 / size]), 1.0)
    # the change of w by the scale and by the intercept
    basis = np.zeros((margins.n_weights, features.n_weights))
    basis[0, :p] = w[:p] / size
    basis[1:, p:] = 1.0 / bias
    explained = p * noise / max(float(w[:p] @ w[:p]), 1e-300)
    expected = float(np.interp(explained, NOISE_RANGE, SCALE_RANGE))
    state = np.append(expected * size, bias * w[p:])
    doubts = np.append(
        SCALE_DOUBT * size, np.full(len(state) - 1, math.hypot(bias * math.sqrt(noise), INTERCEPT_DOUBT))
    )
    clip = max(LEAST_CALIBRATION_CLIP, margins.reach(weight) / CLIP_REACH)
    information = np.zeros(len(state))
    trace = []
    for t in range(CALIBRATION_STEPS):
        g = margins.measure(GradientAt(state, clip), (margins.remaining - keep) / (CALIBRATION_STEPS - t))
        slope = g.value / weight + basis @ features.regulariser.gradient(state @ basis)
        curved = mean_curvature(features.loss, max(state[0], size))[: len(state)]
        curvature = np.array(curved) + [b @ features.regulariser.gradient(b) for b in basis]
        certainty = (weight / g.sigma) ** 2
        information = FORGETTING_FACTOR * information + curvature**2 * certainty
        step = curvature * certainty / (information + doubts**-2) * slope
        longest = LONGEST_CALIBRATION_STEP * max(state[0], size)
        state = state - np.clip(step, -longest, longest)
        state[0] = max(state[0], 0.0)
        trace.append(Step(taken + t + 1, 1.0, g.rho, 0.0, g.sigma))
    decision = (
        f"{CALIBRATION_STEPS} further steps scaled its margins by {state[0] / size:.2f} and found their "
        "intercept"
    )
    return Calibration(state @ basis, tuple(trace), decision)


def calibrated_start(features: Curator, n: float, weight: float, bias: float) -> Vector:
    """Return the declared start with its scale and its intercept fitted to these records.

    A start that points in a wrong direction is scaled down, so that it does little harm.
    """
    start = features.regulariser.start(np.zeros(features.n_weights))
    p = features.n_features
    # the size of margins if columns are not correlated
    size = float(np.linalg.norm(start[:p])) / math.sqrt(p)
    if not size or features.loss.is_scale_free:  # the scale of numbers has been bought already
        return start
    likely = min(size, LARGE_MARGIN)
    start[:p] *= likely / size
    keep = (1.0 - START_SHARE) * features.remaining
    found = calibrated(features, start, n, weight, bias, 0.0, 0, size=likely, keep=keep)
    return features.regulariser.nearest(found.w)


def margin_size(margins: Curator, least: float, most: float, n: float) -> float:
    """Return the size of margins within a factor of two, at least that of margins from noise alone.

    If a noisy histogram does not show clearly that many margins are larger, they are assumed to be noise.
    """
    doublings = math.ceil(math.log2(max(most / least, 2.0)))
    edges = least * np.exp2(np.arange(doublings, -2, -1, dtype=np.float64))
    counts = margins.measure(Norms(edges), SIZE_SHARE * margins.remaining)
    surely_above = np.cumsum(counts.value) - counts.sigma * np.sqrt(np.arange(1, len(edges)))
    reached = edges[:-1][surely_above >= SIZE_QUANTILE * n]
    return BIN_MIDDLE * max(float(reached[0]) if len(reached) else 0.0, least)
