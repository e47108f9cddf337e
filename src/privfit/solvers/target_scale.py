"""Private centre and scale of targets that are numbers, so that a walk is about residuals of size 1.

Bounds, declared or bought, hold for everybody, and may be far too wide. So the typical size of the targets
around their centre is bought, as the features' is. Shares are of the whole budget.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from privfit.curator import Curator, Vector
from privfit.losses import Loss
from privfit.losses.squared import SQUARED
from privfit.losses.targets import positive_mean
from privfit.questions import Magnitudes, SlopeCounts, SlopesAt
from privfit.solvers.base import BudgetWarning
from privfit.solvers.geometry import RESOLVED, top_bin

MAGNITUDES = -60, 80  # exponents of two between which sizes of undeclared targets are told apart
FIRST_SIZE_SHARE, MOST_SIZE_SHARE = 0.01, 0.2  # of the budget, for the size of undeclared targets
SIZE_TAIL = 0.002  # share of the visible targets that may be larger than that size
SHARES, REACH = (0.03, 0.5), 45.0  # of the budget, for centre and scale; in between (45 / reach)^2
AMOUNTS_SHARES, AMOUNTS_REACH = (0.06, 0.5), 60.0  # the same for amounts, whose largest are far from the mean
CONSTANT_REACH = 25.0  # up to here all of it, because nothing but a constant can be learnt
RANGE_PART, CENTER_PART, SCALE_PART = 0.15, 0.1, 0.25  # of that share; the last centre gets what is left
MOST_ROUNDS = 3  # of a centre and a scale, until the scale no longer falls
SMALLER = 0.2  # the scale falls by this factor at least if another round is worth its price
TAIL, TYPICAL = 0.2, 0.32  # shares of the targets that are beyond their range, and beyond their scale
ONE_SIDED = 0.1  # share of targets on the other side of 0 up to which the range is taken to end there
RARE, RARE_REACH = (0.005, 0.1), 30.0  # shares of amounts beyond their range, and half of those beyond their
# slope: 30 / reach in between, because most amounts may be 0
CAUTION = 0.5  # standard deviations that are added to a noisy count of records beyond a size: a size that is
# too small clips what should be heard, and one that is too large is only noisier
FARTHEST = 2.5  # scales from the centre up to which targets are heard in it
RANGES = np.exp2(np.arange(-20.0, 1.0))  # edges of the range, in units of the largest possible
SCALES = np.exp2(np.arange(-16.0, 1.0) / 2.0)  # and of the scale, in units of the range
MIDDLES = np.arange(-16.0, 17.0) / 4.0  # of bins of targets around their centre, in units of the scale
CONSTANTS = np.arange(-64.0, 65.0) / 16.0  # that are tried for the quantile loss
KINKED_ERROR = 0.2  # of the best of them
SLOPES = np.exp2(np.arange(-1.0, 11.0) / 2.0)  # and of slopes of the loss of amounts


def bought_size(targets: Curator) -> float:
    """Return a power of two that nearly all values of the only column stay below in size.

    Sizes are counted by powers of two (Q8). The count is refined until a bin stands out of the noise.
    """
    budget = targets.remaining
    counts = targets.measure(Magnitudes(*MAGNITUDES), FIRST_SIZE_SHARE * budget)
    while counts.value.max() < RESOLVED * counts.sigma and counts.rho < MOST_SIZE_SHARE * budget:
        counts = targets.refine(counts, counts.rho)
    top = top_bin(counts.value[None], RESOLVED * counts.sigma, SIZE_TAIL)[0]
    if top < 0:
        top = int(np.argmax(counts.value))
        warnings.warn(
            "The privacy budget could not resolve the size of the targets, so the model may be of no use; "
            "declare target_bounds=(low, high) or raise epsilon.",
            BudgetWarning,
            stacklevel=2,
        )
    return math.ldexp(1.0, MAGNITUDES[0] + int(top))


@dataclass(frozen=True)
class ScaledTargets:
    """Targets in a unit that was bought, and how weights become those of the targets as they were.

    Parameters
    ----------
    curator : Curator
        Over the scaled targets.
    scale : float
        Their unit. Predictions are multiplied by it, or its logarithm is added to those of logarithms.
    center : float
        What predictions of 0 stand for.
    error : float
        Standard deviation of the noise on the centre, in that unit.
    slope : float
        How large the derivatives of the loss are at weights of zero.
    farthest : float
        Of amounts: a size that few of them exceed, in that unit.
    """

    curator: Curator
    scale: float
    center: float = 0.0
    error: float = 0.0
    slope: float = 1.0
    farthest: float = 1.0

    def in_units(self, w: Vector) -> Vector:
        """Return the weights of the targets, given raw weights, the intercept last, of the scaled ones."""
        if not self.curator.loss.is_scale_free:
            return np.append(w[:-1], w[-1] + math.log(self.scale))
        weights = w * self.scale
        if self.curator.intercept:
            weights[-1] += self.center
        return weights


def scaled_targets(curator: Curator, budget: float, n: float, weight: float) -> ScaledTargets:
    """Buy the centre and the scale of targets in [-1, 1] of n records, whose weights add up to `weight`."""
    reach, numbers = curator.reach(n, budget), curator.loss.is_scale_free
    wanted, shares = (REACH, SHARES) if numbers else (AMOUNTS_REACH, AMOUNTS_SHARES)
    share = 1.0 if reach <= CONSTANT_REACH else float(np.clip((wanted / reach) ** 2, *shares))
    rho, left = share * curator.remaining, (1.0 - share) * curator.remaining
    if not numbers:
        return _scaled_amounts(curator, rho, n, weight)
    center, half = _range(curator, RANGE_PART * rho, n)
    scale, part = half, CENTER_PART * rho
    for _ in range(MOST_ROUNDS):
        residuals = curator.retargeted(center, 1.0, SQUARED)
        if curator.intercept:
            center += _mean(residuals, half, part, weight)
            residuals = curator.retargeted(center, 1.0, SQUARED)
        scale = residual_size(residuals, half * SCALES, TYPICAL, SCALE_PART * rho, n)
        if scale > SMALLER * half:
            break
        half, rho = min(FARTHEST * scale, half), 0.5 * rho
    error = 0.0
    if curator.intercept:
        residuals, clip = curator.retargeted(center, 1.0, SQUARED), min(FARTHEST * scale, half)
        rho = curator.remaining - left
        if curator.loss.smoothness < math.inf:
            center += _mean(residuals, clip, rho, weight)
            error = clip / scale / curator.reach(weight, rho)
        else:  # the quantile loss
            center += _best_constant(curator.retargeted(center, scale, SQUARED), curator.loss, rho) * scale
            error = KINKED_ERROR
    return ScaledTargets(curator.retargeted(center, scale, curator.loss), scale, center, error)


def _best_constant(residuals: Curator, loss: Loss, rho: float) -> float:
    """Return the constant with the least loss over a noisy histogram of targets in units of their scale."""
    edges = 0.5 * (MIDDLES[1:] + MIDDLES[:-1])
    counts = residuals.measure(SlopeCounts(edges), rho, of=residuals.at(np.zeros(residuals.n_weights)))
    records = counts.value[::-1]  # by target, whose slope at weights of zero has the other sign
    losses = [
        [loss.value(constant, target) for target in MIDDLES.tolist()] for constant in CONSTANTS.tolist()
    ]
    return float(CONSTANTS[int(np.argmin(np.array(losses) @ records))])


def _range(curator: Curator, rho: float, n: float) -> tuple[float, float]:
    """Return the middle and half the length of an interval that holds most targets; 0 is in it, or an end."""
    edges = np.concatenate([-RANGES[::-1], RANGES])
    targets = curator.retargeted(0.0, 1.0, SQUARED)
    counts = targets.measure(SlopeCounts(edges), rho, of=targets.at(np.zeros(targets.n_weights)))
    middle = len(RANGES)  # the bin around 0; a target's slope at weights of zero has the other sign
    positive, negative = counts.value[:middle][::-1], counts.value[middle + 1 :]
    sizes = np.append(counts.value[middle], positive + negative)
    largest = exceeded_by(sizes, math.sqrt(2.0) * counts.sigma, RANGES, TAIL, n)
    if curator.intercept:
        for sign, other in ((1.0, negative), (-1.0, positive)):
            if other.sum() <= ONE_SIDED * n:
                return 0.5 * sign * largest, 0.5 * largest
    return 0.0, largest


def _scaled_amounts(curator: Curator, rho: float, n: float, weight: float) -> ScaledTargets:
    """Buy the mean of amounts in [0, 1], which becomes their unit, and how far they are from it."""
    amounts, loss = curator.retargeted(0.0, 1.0, SQUARED), curator.loss
    rare = float(np.clip(RARE_REACH / curator.reach(n), *RARE))
    largest = residual_size(amounts, RANGES, rare, RANGE_PART * rho, n)
    price = (1.0 - RANGE_PART - SCALE_PART) * rho
    error = largest / curator.reach(weight, price)
    mean = positive_mean(_mean(amounts, largest, price, weight), error)
    scaled = curator.retargeted(0.0, mean, loss)
    slope = min(residual_size(scaled, SLOPES, 2.0 * rare, SCALE_PART * rho, n), max(largest / mean, 1.0))
    return ScaledTargets(scaled, mean, error=error / mean, slope=slope, farthest=largest / mean)


def _mean(targets: Curator, clip: float, rho: float, weight: float) -> float:
    """Return the mean of targets, each clipped to +-clip."""
    slopes = targets.measure(SlopesAt(np.zeros(targets.n_weights), clip), rho)
    return -float(slopes.value[0]) / weight


def residual_size(
    residuals: Curator,
    edges: Vector,
    share: float,
    rho: float,
    n: float,
    w: Vector | None = None,
) -> float:
    """Return the least edge that at most `share` of the residuals at w, by default 0, exceed in size."""
    point = residuals.at(np.zeros(residuals.n_weights) if w is None else w)
    counts = residuals.measure(SlopeCounts(edges, sizes=True), rho, of=point)
    return exceeded_by(counts.value, counts.sigma, edges, share, n)


def exceeded_by(counts: Vector, sigma: float, edges: Vector, share: float, n: float) -> float:
    """Return the least edge that at most `share` of the records exceed, as far as a noisy histogram tells.

    How many are above an edge is counted from both ends, each weighted by its accuracy, and rather too high.
    """
    below = np.arange(1, len(edges) + 1)  # bins, of each edge
    above = len(edges) + 1 - below
    counted_above = np.cumsum(counts[::-1])[:-1][::-1]
    counted_below = np.cumsum(counts)[:-1]
    likely = (below * counted_above + above * (n - counted_below)) / (below + above)
    error = sigma * np.sqrt(below * above / (below + above))
    small = np.minimum.accumulate((likely + CAUTION * error <= share * n)[::-1])[::-1]  # down to this edge
    return float(edges[int(np.argmax(small))] if small.any() else edges[-1])
