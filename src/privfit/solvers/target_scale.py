"""Private centre and scale of targets that are numbers, so that residuals have a size of about 1.

Bounds of targets hold for everybody, so they may be far wider than typical targets. Therefore the typical
size of the targets around their centre is bought, like that of the features. Shares are of the whole budget.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privfit.curator import Curator, Measurement, Vector
from privfit.losses import Loss
from privfit.losses.squared import SQUARED
from privfit.losses.targets import positive_mean
from privfit.questions import Magnitudes, SlopeCounts, SlopesAt
from privfit.solvers.base import BudgetWarning
from privfit.solvers.geometry import VISIBLE_DEVIATIONS, top_bin

MAGNITUDES = -60, 80  # range of exponents of two for sizes of undeclared targets
LIKELY_MAGNITUDES = -10, 24  # exponents among which the likeliest is chosen if none is above the noise
FIRST_SIZE_SHARE, MOST_SIZE_SHARE = 0.01, 0.2  # shares of the budget for the size of undeclared targets
SIZE_TAIL = 0.002  # share of the visible targets that may be larger than that size
# Doublings above the largest visible size of amounts: the largest amounts are too few to be seen, but matter
# for the mean, and a bound that is too wide does little harm.
HIDDEN_DOUBLINGS = 2
# Share of the budget for centre and scale: (REACH_FOR_LEAST_SHARE / reach)^2, within these limits. Amounts
# need more, because the largest of them are far from the mean.
CENTER_AND_SCALE_SHARES, REACH_FOR_LEAST_SHARE = (0.03, 0.5), 45.0
AMOUNTS_SHARES, AMOUNTS_REACH = (0.06, 0.5), 60.0
CONSTANT_REACH = 25.0  # up to this reach the whole budget buys the centre: only a constant can be learnt
BLIND_REACH = 15.0  # up to this reach only the mean is bought, without a range and a scale
FIRST_MEAN_PART = 0.3  # part of that for a first mean if n is noisy, so that the second mean is near 0
RANGE_PART, CENTER_PART, SCALE_PART = 0.15, 0.15, 0.2  # parts of that share; the last centre gets the rest
MOST_RANGE_PART = 0.3  # part of that share for a range that the noise hides
# of sums of bins, relative to the wanted share; sums with larger errors are not used
MOST_RELATIVE_ERROR = 0.5
VISIBLE_DEVIATIONS_OF_SIZES = 4.0  # pure noise reaches it in one of 490 fits, among 64 sums
MIN_VISIBLE_SHARE = 0.4  # share of the records in visible bins with which these decide the range
# For each histogram inside the range: its part of the budget, how many there are at most, and the factor by
# which the first has to narrow the range before a second is bought.
NARROW_PART, MOST_NARROWED, WORTH_NARROWING_FURTHER = 0.15, 2, 0.5
NARROWING_EDGES = np.linspace(-1.0, 1.0, 17)[1:-1]  # edges of its bins, in units of the range
NARROW_VISIBLE = 3.0  # standard deviations; pure noise reaches it in one of 46 fits, among 16 bins
MIN_SHARE_TO_NARROW = 0.65  # share of the records in visible bins with which these become the range
RANGE_TO_SCALE = 2.0  # the end of a narrowed range is taken to be this many scales from the centre
MOST_ROUNDS = 3  # the largest number of rounds, each of which buys a centre and a scale
MOST_FALL_WITHOUT_ANOTHER_ROUND = 0.2  # another round is bought if the scale falls below this share
RANGE_TAIL, SCALE_TAIL = 0.2, 0.32  # shares of the targets beyond their range, and beyond their scale
ONE_SIDED = 0.1  # share of targets on the other side of 0, up to which the range ends at 0
# Share of amounts beyond their range, and half the share beyond their slope: RARE_REACH / reach, within these
# limits. It is small, because most amounts may be 0.
RARE_SHARES, RARE_REACH = (0.005, 0.1), 30.0
# Standard deviations that are added to a noisy count of records beyond a size. A size that is too small clips
# targets; one that is too large only adds noise, so it does less harm.
CAUTIOUS_DEVIATIONS = 0.5
LARGEST_DISTANCE = 2.5  # targets are clipped to this distance from the centre, in scales
RANGE_EDGES = np.exp2(np.arange(-20.0, 1.0))  # edges of the range, in units of the largest possible
SCALE_EDGES = np.exp2(np.arange(-16.0, 1.0) / 2.0)  # and of the scale, in units of the range
# middles of bins of targets around their centre, in units of the scale
MIDDLES = np.arange(-16.0, 17.0) / 4.0
CONSTANTS = np.arange(-64.0, 65.0) / 16.0  # constant predictions that are tried for the quantile loss
KINKED_ERROR = 0.2  # standard error of the best of these constants
SLOPE_EDGES = np.exp2(np.arange(-1.0, 11.0) / 2.0)  # and of slopes of the loss of amounts


def bought_size(targets: Curator, *, amounts: bool = False) -> float:
    """Return a power of two that bounds nearly all values of the only column.

    Sizes are counted in bins of powers of two (Q8). The counts are refined until a bin is clearly above the
    noise. For amounts the bound is larger than the largest visible size, so that their mean is not clipped.
    """
    budget = targets.remaining
    counts = targets.measure(Magnitudes(*MAGNITUDES), FIRST_SIZE_SHARE * budget)
    while counts.value.max() < VISIBLE_DEVIATIONS * counts.sigma and counts.rho < MOST_SIZE_SHARE * budget:
        counts = targets.refine(counts, counts.rho)
    top = top_bin(counts.value[None], VISIBLE_DEVIATIONS * counts.sigma, SIZE_TAIL)[0]
    if top < 0:
        likely = slice(*(end - MAGNITUDES[0] for end in LIKELY_MAGNITUDES))
        top = likely.start + int(np.argmax(counts.value[likely]))
        warnings.warn(
            "The privacy budget could not resolve the size of the targets, so the model may be of no use; "
            "declare target_bounds=(low, high) or raise epsilon.",
            BudgetWarning,
            stacklevel=2,
        )
    return math.ldexp(1.0, MAGNITUDES[0] + int(top) + HIDDEN_DOUBLINGS * amounts)


@dataclass(frozen=True)
class ScaledTargets:
    """Targets in a private unit, and the conversion of weights to the original targets.

    Parameters
    ----------
    curator : Curator
        A curator over the scaled targets.
    scale : float
        The unit. Predictions are multiplied by it; if they are logarithms, its logarithm is added.
    center : float
        The original value of a prediction of 0.
    error : float
        Standard deviation of the noise in the centre, in the new unit.
    slope : float
        The size of the loss's derivatives at weights of zero.
    farthest : float
        For amounts: a size that few of them exceed, in the new unit.
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
    wanted, shares = (
        (REACH_FOR_LEAST_SHARE, CENTER_AND_SCALE_SHARES) if numbers else (AMOUNTS_REACH, AMOUNTS_SHARES)
    )
    share = 1.0 if reach <= CONSTANT_REACH else float(np.clip((wanted / reach) ** 2, *shares))
    rho, left = share * curator.remaining, (1.0 - share) * curator.remaining
    if not numbers:
        return _scaled_amounts(curator, rho, n, weight)
    if reach <= BLIND_REACH and curator.intercept and curator.loss.smoothness < math.inf:
        return _blind(curator, weight)
    center, half = _range(curator, RANGE_PART * rho, MOST_RANGE_PART * rho, n)
    before = half
    if reach <= REACH_FOR_LEAST_SHARE and curator.intercept:
        center, half = _narrowed(curator, center, half, curator.remaining - left, n)
    if half < before:
        scale = half / RANGE_TO_SCALE
    else:
        rho = (curator.remaining - left) / (1.0 - RANGE_PART)
        center, half, scale = _around(curator, center, half, rho, n, weight)
    error = 0.0
    if curator.intercept:
        residuals, clip = curator.retargeted(center, 1.0, SQUARED), min(LARGEST_DISTANCE * scale, half)
        rho = curator.remaining - left
        if curator.loss.smoothness < math.inf:
            center += _mean(residuals, clip, rho, weight)
            error = clip / scale / curator.reach(weight, rho)
        else:  # the quantile loss
            center += _best_constant(curator.retargeted(center, scale, SQUARED), curator.loss, rho) * scale
            error = KINKED_ERROR
    return ScaledTargets(curator.retargeted(center, scale, curator.loss), scale, center, error)


def _narrowed(curator: Curator, center: float, half: float, rho: float, n: float) -> tuple[float, float]:
    """Return a narrower interval if most targets are in bins that are clearly above the noise.

    The interval extends one bin beyond these on both sides. A second histogram is bought if the first one has
    narrowed it enough.
    """
    for _ in range(MOST_NARROWED):
        around = curator.retargeted(center, 1.0, SQUARED)
        point = around.at(np.zeros(around.n_weights))
        counts = around.measure(SlopeCounts(half * NARROWING_EDGES), NARROW_PART * rho, of=point)
        records = counts.value[::-1]  # by target, whose slope at weights of zero has the other sign
        visible = np.flatnonzero(records > NARROW_VISIBLE * counts.sigma)
        if records[visible].sum() < MIN_SHARE_TO_NARROW * n:
            break
        bins = np.linspace(
            -1.0, 1.0, len(NARROWING_EDGES) + 2
        )  # the first and the last bin end with the interval
        low, high = bins[max(visible[0] - 1, 0)], bins[min(visible[-1] + 2, len(bins) - 1)]
        center, before, half = center + 0.5 * (low + high) * half, half, 0.5 * (high - low) * half
        if half > WORTH_NARROWING_FURTHER * before:
            break
    return center, half


def _around(
    curator: Curator, center: float, half: float, rho: float, n: float, weight: float
) -> tuple[float, float, float]:
    """Return a centre, the distance from it to which targets are clipped, and their scale."""
    scale, part = half, CENTER_PART * rho
    for _ in range(MOST_ROUNDS):
        residuals, noise = curator.retargeted(center, 1.0, SQUARED), 0.0
        if curator.intercept:
            center += _mean(residuals, half, part, weight)
            noise = half / curator.reach(weight, part)
            residuals = curator.retargeted(center, 1.0, SQUARED)
        scale = residual_size(residuals, half * SCALE_EDGES, SCALE_TAIL, SCALE_PART * rho, n)
        scale = min(max(scale, noise), half)  # residuals are no smaller than the error of their centre
        if scale > MOST_FALL_WITHOUT_ANOTHER_ROUND * half:
            break
        half, rho = min(LARGEST_DISTANCE * scale, half), 0.5 * rho
    return center, half, scale


def _blind(curator: Curator, weight: float) -> ScaledTargets:
    """Buy only the mean of targets in [-1, 1]; around a first mean, the second hardly depends on `weight`."""
    center = 0.0
    if curator.n_records is None or curator.weighted:
        first = FIRST_MEAN_PART * curator.remaining
        center = _mean(curator.retargeted(0.0, 1.0, SQUARED), 1.0, first, weight)
    center += _mean(curator.retargeted(center, 1.0, SQUARED), 1.0, curator.remaining, weight)
    center = min(max(center, -1.0), 1.0)
    return ScaledTargets(curator.retargeted(center, 1.0, curator.loss), 1.0, center)


def _best_constant(residuals: Curator, loss: Loss, rho: float) -> float:
    """Return the constant with the least loss over a noisy histogram of targets in units of their scale."""
    edges = 0.5 * (MIDDLES[1:] + MIDDLES[:-1])
    counts = residuals.measure(SlopeCounts(edges), rho, of=residuals.at(np.zeros(residuals.n_weights)))
    records = counts.value[::-1]  # by target, whose slope at weights of zero has the other sign
    losses = [
        [loss.value(constant, target) for target in MIDDLES.tolist()] for constant in CONSTANTS.tolist()
    ]
    return float(CONSTANTS[int(np.argmin(np.array(losses) @ records))])


def _range(curator: Curator, rho: float, most: float, n: float) -> tuple[float, float]:
    """Return the middle and half the length of an interval that holds most targets and 0, perhaps as an end.

    Sums of many bins are noisier than single bins. If they are too noisy, bins that are clearly above the
    noise decide the range, and up to `most` is paid for them. If there are none, the whole range is returned.
    """
    edges = np.concatenate([-RANGE_EDGES[::-1], RANGE_EDGES])
    targets = curator.retargeted(0.0, 1.0, SQUARED)
    counts = targets.measure(SlopeCounts(edges), rho, of=targets.at(np.zeros(targets.n_weights)))
    exact = math.sqrt(len(RANGE_EDGES)) * counts.sigma <= MOST_RELATIVE_ERROR * RANGE_TAIL * n
    while not exact and not _is_seen(counts, n) and counts.rho < most:
        counts = targets.refine(counts, min(counts.rho, most - counts.rho))
    if not exact and not _is_seen(counts, n):
        return 0.0, float(RANGE_EDGES[-1])
    positive, negative, sizes = _by_size(counts.value)
    if exact:
        largest = exceeded_by(sizes, math.sqrt(2.0) * counts.sigma, RANGE_EDGES, RANGE_TAIL, n)
    else:
        visible = _visible(counts)
        top = int(np.flatnonzero(visible)[-1])  # the bin below the edge of that number
        largest = float(RANGE_EDGES[min(top + 1, len(RANGE_EDGES) - 1)])  # one more, which noise may hide
        positive, negative, n = positive[visible[1:]], negative[visible[1:]], float(sizes[visible].sum())
    if curator.intercept:
        for sign, other in ((1.0, negative), (-1.0, positive)):
            if other.sum() <= ONE_SIDED * n:
                return 0.5 * sign * largest, 0.5 * largest
    return 0.0, largest


def _by_size(counts: Vector) -> tuple[Vector, Vector, Vector]:
    """Return how many targets of each size are positive, negative, and both together, from small to large."""
    around = len(RANGE_EDGES)  # a target's slope at weights of zero has the other sign
    positive, negative = counts[:around][::-1], counts[around + 1 :]
    return positive, negative, np.append(counts[around], positive + negative)


def _visible(counts: Measurement) -> NDArray[np.bool_]:
    """Return which sizes are clearly above the noise, on one side of 0 or on both sides together."""
    positive, negative, sizes = _by_size(counts.value)
    threshold = VISIBLE_DEVIATIONS_OF_SIZES * counts.sigma
    visible = sizes > math.sqrt(2.0) * threshold
    visible[1:] |= np.maximum(positive, negative) > threshold
    return visible


def _is_seen(counts: Measurement, n: float) -> bool:
    """Return whether the visible sizes, of which one must not be around 0, hold enough records."""
    visible, (*_, sizes) = _visible(counts), _by_size(counts.value)
    return bool(visible[1:].any() and sizes[visible].sum() >= MIN_VISIBLE_SHARE * n)


def _scaled_amounts(curator: Curator, rho: float, n: float, weight: float) -> ScaledTargets:
    """Buy the mean of amounts in [0, 1], which becomes their unit, and how far they are from it."""
    amounts, loss = curator.retargeted(0.0, 1.0, SQUARED), curator.loss
    rare = float(np.clip(RARE_REACH / curator.reach(n), *RARE_SHARES))
    left = curator.remaining - rho
    largest = _largest_amount(amounts, rare, rho, n)
    price = curator.remaining - left - SCALE_PART * rho
    error = largest / curator.reach(weight, price)
    mean = positive_mean(_mean(amounts, largest, price, weight), error)
    scaled = curator.retargeted(0.0, mean, loss)
    slope = min(residual_size(scaled, SLOPE_EDGES, 2.0 * rare, SCALE_PART * rho, n), max(largest / mean, 1.0))
    return ScaledTargets(scaled, mean, error=error / mean, slope=slope, farthest=largest / mean)


def _largest_amount(amounts: Curator, rare: float, rho: float, n: float) -> float:
    """Return a size that few amounts exceed; if sums of bins are too noisy, decide it by visible bins.

    Larger amounts are rarer, so noise hides them; the bound is one power of two larger because of them.
    """
    point = amounts.at(np.zeros(amounts.n_weights))
    counts = amounts.measure(SlopeCounts(RANGE_EDGES, sizes=True), RANGE_PART * rho, of=point)
    if math.sqrt(0.25 * len(RANGE_EDGES)) * counts.sigma > MOST_RELATIVE_ERROR * rare * n:
        while (
            not (counts.value[1:] > VISIBLE_DEVIATIONS_OF_SIZES * counts.sigma).any()
            and counts.rho < MOST_RANGE_PART * rho
        ):
            counts = amounts.refine(counts, min(counts.rho, MOST_RANGE_PART * rho - counts.rho))
        seen = np.flatnonzero(counts.value[1:] > VISIBLE_DEVIATIONS_OF_SIZES * counts.sigma)
        if len(seen):
            return float(RANGE_EDGES[min(seen[-1] + 2, len(RANGE_EDGES) - 1)])
    return exceeded_by(counts.value, counts.sigma, RANGE_EDGES, rare, n)


def _mean(targets: Curator, clip: float, rho: float, weight: float) -> float:
    """Return the mean of targets, each clipped to +-clip, as is the mean."""
    slopes = targets.measure(SlopesAt(np.zeros(targets.n_weights), clip), rho)
    return min(max(-float(slopes.value[0]) / weight, -clip), clip)


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
    """Return the least edge that at most `share` of the records exceed, estimated from a noisy histogram.

    The number above an edge is estimated from both ends, averaged by accuracy, and rounded up a little.
    """
    below = np.arange(1, len(edges) + 1)  # bins, of each edge
    above = len(edges) + 1 - below
    counted_above = np.cumsum(counts[::-1])[:-1][::-1]
    counted_below = np.cumsum(counts)[:-1]
    likely = (below * counted_above + above * (n - counted_below)) / (below + above)
    error = sigma * np.sqrt(below * above / (below + above))
    small = np.minimum.accumulate((likely + CAUTIOUS_DEVIATIONS * error <= share * n)[::-1])[
        ::-1
    ]  # down to this edge
    return float(edges[int(np.argmax(small))] if small.any() else edges[-1])
