"""Private centre and scale of targets that are numbers, so that a walk is about residuals of size 1.

Bounds, declared or bought, hold for everybody, and may be far too wide. So the typical size of the targets
around their centre is bought, as the features' is. Shares are of the whole budget.
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
from privfit.solvers.geometry import RESOLVED, top_bin

MAGNITUDES = -60, 80  # exponents of two between which sizes of undeclared targets are told apart
LIKELY = -10, 24  # exponents among which the likeliest is taken if none stands out
FIRST_SIZE_SHARE, MOST_SIZE_SHARE = 0.01, 0.2  # of the budget, for the size of undeclared targets
SIZE_TAIL = 0.002  # share of the visible targets that may be larger than that size
HIDDEN_DOUBLINGS = 2  # beyond the largest visible size: the largest amounts, which carry much of the mean,
# are too few to be seen, and a bound that is too wide costs little
SHARES, REACH = (0.03, 0.5), 45.0  # of the budget, for centre and scale; in between (45 / reach)^2
AMOUNTS_SHARES, AMOUNTS_REACH = (0.06, 0.5), 60.0  # the same for amounts, whose largest are far from the mean
CONSTANT_REACH = 25.0  # up to here all of it, because nothing but a constant can be learnt
BLIND_REACH = 15.0  # up to here not even a range or a scale: the mean of all that is possible is bought
FIRST_MEAN_PART = 0.3  # of that, where the number of records is noisy: the second mean is then near 0
RANGE_PART, CENTER_PART, SCALE_PART = 0.15, 0.15, 0.2  # of that share; the last centre gets what is left
MOST_RANGE_PART = 0.3  # of that share, for a range that the noise hides
DOUBTFUL = 0.5  # of the share that is looked for: beyond this error, sums of bins are not believed
VISIBLE = 4.0  # standard deviations: one of 64 noisy sums that are empty reaches it in 490 fits
SEEN = 0.4  # share of the records in visible bins from which on they tell the range
NARROW_PART, MOST_NARROWED, NARROWER = 0.15, 2, 0.5  # the same for each histogram inside the range
INSIDE = np.linspace(-1.0, 1.0, 17)[1:-1]  # edges of its bins, in units of the range
NARROW_VISIBLE = 3.0  # standard deviations: one of 16 bins of noise reaches it in 46 fits
MOSTLY = 0.65  # share of the records in visible bins from which on they are the range
WITHIN = 2.0  # scales from the centre to the end of the range
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


def bought_size(targets: Curator, *, amounts: bool = False) -> float:
    """Return a power of two that nearly all values of the only column stay below in size.

    Sizes are counted by powers of two (Q8). The count is refined until a bin stands out of the noise. The
    size of amounts is taken to be larger than what stands out, so that their mean is not clipped.
    """
    budget = targets.remaining
    counts = targets.measure(Magnitudes(*MAGNITUDES), FIRST_SIZE_SHARE * budget)
    while counts.value.max() < RESOLVED * counts.sigma and counts.rho < MOST_SIZE_SHARE * budget:
        counts = targets.refine(counts, counts.rho)
    top = top_bin(counts.value[None], RESOLVED * counts.sigma, SIZE_TAIL)[0]
    if top < 0:
        likely = slice(*(end - MAGNITUDES[0] for end in LIKELY))
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
    if reach <= BLIND_REACH and curator.intercept and curator.loss.smoothness < math.inf:
        return _blind(curator, weight)
    center, half = _range(curator, RANGE_PART * rho, MOST_RANGE_PART * rho, n)
    before = half
    if reach <= REACH and curator.intercept:
        center, half = _narrowed(curator, center, half, curator.remaining - left, n)
    if half < before:
        scale = half / WITHIN
    else:
        rho = (curator.remaining - left) / (1.0 - RANGE_PART)
        center, half, scale = _around(curator, center, half, rho, n, weight)
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


def _narrowed(curator: Curator, center: float, half: float, rho: float, n: float) -> tuple[float, float]:
    """Return a narrower interval if bins of equal width that stand out of the noise hold most targets.

    It reaches one bin beyond them to both sides. A second histogram is bought if the first one has helped.
    """
    for _ in range(MOST_NARROWED):
        around = curator.retargeted(center, 1.0, SQUARED)
        point = around.at(np.zeros(around.n_weights))
        counts = around.measure(SlopeCounts(half * INSIDE), NARROW_PART * rho, of=point)
        records = counts.value[::-1]  # by target, whose slope at weights of zero has the other sign
        visible = np.flatnonzero(records > NARROW_VISIBLE * counts.sigma)
        if records[visible].sum() < MOSTLY * n:
            break
        bins = np.linspace(-1.0, 1.0, len(INSIDE) + 2)  # the first and the last bin end with the interval
        low, high = bins[max(visible[0] - 1, 0)], bins[min(visible[-1] + 2, len(bins) - 1)]
        center, before, half = center + 0.5 * (low + high) * half, half, 0.5 * (high - low) * half
        if half > NARROWER * before:
            break
    return center, half


def _around(
    curator: Curator, center: float, half: float, rho: float, n: float, weight: float
) -> tuple[float, float, float]:
    """Return a centre, how far from it targets are heard, and their scale around it."""
    scale, part = half, CENTER_PART * rho
    for _ in range(MOST_ROUNDS):
        residuals, noise = curator.retargeted(center, 1.0, SQUARED), 0.0
        if curator.intercept:
            center += _mean(residuals, half, part, weight)
            noise = half / curator.reach(weight, part)
            residuals = curator.retargeted(center, 1.0, SQUARED)
        scale = residual_size(residuals, half * SCALES, TYPICAL, SCALE_PART * rho, n)
        scale = min(max(scale, noise), half)  # residuals are no smaller than the error of their centre
        if scale > SMALLER * half:
            break
        half, rho = min(FARTHEST * scale, half), 0.5 * rho
    return center, half, scale


def _blind(curator: Curator, weight: float) -> ScaledTargets:
    """Buy nothing but the mean of targets in [-1, 1]; that around a first one hardly depends on `weight`."""
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
    """Return the middle and half the length of an interval that holds most targets; 0 is in it, or an end.

    Sums of many bins are noisier than one. Where they are too noisy, bins that stand out of the noise tell
    the range, for which up to `most` is paid; where none does, it is all that is possible.
    """
    edges = np.concatenate([-RANGES[::-1], RANGES])
    targets = curator.retargeted(0.0, 1.0, SQUARED)
    counts = targets.measure(SlopeCounts(edges), rho, of=targets.at(np.zeros(targets.n_weights)))
    exact = math.sqrt(len(RANGES)) * counts.sigma <= DOUBTFUL * TAIL * n
    while not exact and not _is_seen(counts, n) and counts.rho < most:
        counts = targets.refine(counts, min(counts.rho, most - counts.rho))
    if not exact and not _is_seen(counts, n):
        return 0.0, float(RANGES[-1])
    positive, negative, sizes = _by_size(counts.value)
    if exact:
        largest = exceeded_by(sizes, math.sqrt(2.0) * counts.sigma, RANGES, TAIL, n)
    else:
        visible = _visible(counts)
        top = int(np.flatnonzero(visible)[-1])  # the bin below the edge of that number
        largest = float(RANGES[min(top + 1, len(RANGES) - 1)])  # one more, which noise may hide
        positive, negative, n = positive[visible[1:]], negative[visible[1:]], float(sizes[visible].sum())
    if curator.intercept:
        for sign, other in ((1.0, negative), (-1.0, positive)):
            if other.sum() <= ONE_SIDED * n:
                return 0.5 * sign * largest, 0.5 * largest
    return 0.0, largest


def _by_size(counts: Vector) -> tuple[Vector, Vector, Vector]:
    """Return how many targets of each size are positive, negative, and either, those around 0 first."""
    around = len(RANGES)  # a target's slope at weights of zero has the other sign
    positive, negative = counts[:around][::-1], counts[around + 1 :]
    return positive, negative, np.append(counts[around], positive + negative)


def _visible(counts: Measurement) -> NDArray[np.bool_]:
    """Return which sizes stand out of the noise, on one side of 0 or on both together."""
    positive, negative, sizes = _by_size(counts.value)
    threshold = VISIBLE * counts.sigma
    visible = sizes > math.sqrt(2.0) * threshold
    visible[1:] |= np.maximum(positive, negative) > threshold
    return visible


def _is_seen(counts: Measurement, n: float) -> bool:
    """Return whether sizes that stand out of the noise, one of them not around 0, hold enough records."""
    visible, (*_, sizes) = _visible(counts), _by_size(counts.value)
    return bool(visible[1:].any() and sizes[visible].sum() >= SEEN * n)


def _scaled_amounts(curator: Curator, rho: float, n: float, weight: float) -> ScaledTargets:
    """Buy the mean of amounts in [0, 1], which becomes their unit, and how far they are from it."""
    amounts, loss = curator.retargeted(0.0, 1.0, SQUARED), curator.loss
    rare = float(np.clip(RARE_REACH / curator.reach(n), *RARE))
    left = curator.remaining - rho
    largest = _largest_amount(amounts, rare, rho, n)
    price = curator.remaining - left - SCALE_PART * rho
    error = largest / curator.reach(weight, price)
    mean = positive_mean(_mean(amounts, largest, price, weight), error)
    scaled = curator.retargeted(0.0, mean, loss)
    slope = min(residual_size(scaled, SLOPES, 2.0 * rare, SCALE_PART * rho, n), max(largest / mean, 1.0))
    return ScaledTargets(scaled, mean, error=error / mean, slope=slope, farthest=largest / mean)


def _largest_amount(amounts: Curator, rare: float, rho: float, n: float) -> float:
    """Return a size that few amounts exceed; if sums of bins are too noisy, from bins that stand out.

    Larger amounts are rarer, so that noise hides them: one more power of two is left for them.
    """
    point = amounts.at(np.zeros(amounts.n_weights))
    counts = amounts.measure(SlopeCounts(RANGES, sizes=True), RANGE_PART * rho, of=point)
    if math.sqrt(0.25 * len(RANGES)) * counts.sigma > DOUBTFUL * rare * n:
        while not (counts.value[1:] > VISIBLE * counts.sigma).any() and counts.rho < MOST_RANGE_PART * rho:
            counts = amounts.refine(counts, min(counts.rho, MOST_RANGE_PART * rho - counts.rho))
        seen = np.flatnonzero(counts.value[1:] > VISIBLE * counts.sigma)
        if len(seen):
            return float(RANGES[min(seen[-1] + 2, len(RANGES) - 1)])
    return exceeded_by(counts.value, counts.sigma, RANGES, rare, n)


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
