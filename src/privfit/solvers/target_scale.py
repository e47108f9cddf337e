"""Private centre and scale of targets that are numbers, so that a walk is about residuals of size 1.

Bounds, declared or bought, hold for everybody, and may be far too wide. So the typical size of the targets
around their centre is bought, as the features' is. Shares are of the whole budget.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from privfit.curator import Curator, Measurement, Vector
from privfit.losses.squared import SQUARED
from privfit.questions import Magnitudes, SlopeCounts, SlopesAt
from privfit.solvers.base import BudgetWarning
from privfit.solvers.geometry import RESOLVED, top_bin

MAGNITUDES = -60, 80  # exponents of two between which sizes of undeclared targets are told apart
FIRST_SIZE_SHARE, MOST_SIZE_SHARE = 0.01, 0.2  # of the budget, for the size of undeclared targets
SIZE_TAIL = 0.002  # share of the visible targets that may be larger than that size
SHARES, REACH = (0.02, 0.5), 25.0  # of the budget; in between (25 / reach)^2: a centre known to a tenth
MOST_ROUNDS = 4  # of a size and a centre, until the size no longer falls
SMALLER = 0.25  # the size falls by this factor at least if another round is worth its price
TAIL, TYPICAL = 0.02, 0.32  # shares of the targets that are beyond their largest size, and beyond the typical
DOUBLINGS = 4  # bins of sizes for each factor of two
LEAST = 2.0**-24  # of the largest possible size: what is below is not told apart
FARTHEST = 2.5  # typical sizes from the centre up to which targets are heard in it


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
    """A curator over (targets - center) / scale, and how its weights become those of the targets."""

    curator: Curator
    center: float
    scale: float

    def in_units(self, w: Vector) -> Vector:
        """Return the weights of the targets, given raw weights, the intercept last, of the scaled ones."""
        weights = w * self.scale
        if self.curator.intercept:
            weights[-1] += self.center
        return weights


def scaled_targets(curator: Curator, budget: float, n: float, weight: float) -> ScaledTargets:
    """Buy the centre and the scale of targets in [-1, 1] of n records, whose weights add up to `weight`."""
    loss, reach = curator.loss, curator.reach(n, budget)
    rho = float(np.clip((REACH / reach) ** 2, *SHARES)) * budget / (2 * MOST_ROUNDS)
    zero = np.zeros(curator.n_weights)
    center, scale = 0.0, 1.0
    for _ in range(MOST_ROUNDS):
        residuals = curator.retargeted(center, 1.0, SQUARED)
        size = typical_size(residuals, zero, TYPICAL, rho, n, largest=2.0)
        if curator.intercept:
            moved = residuals.measure(SlopesAt(zero, FARTHEST * size), rho)
            center = float(np.clip(center - moved.value[0] / weight, -1.0, 1.0))
        smaller, scale = size < SMALLER * scale, size
        if not smaller:
            break
    return ScaledTargets(curator.retargeted(center, scale, loss), center, scale)


def typical_size(
    residuals: Curator, w: Vector, share: float, rho: float, n: float, *, largest: float
) -> float:
    """Return a size that about `share` of the residuals at w exceed, to a fifth, from a noisy histogram."""
    steps = math.ceil(DOUBLINGS * math.log2(1.0 / LEAST))
    edges = largest * np.exp2(np.arange(-steps, 1) / DOUBLINGS)
    counts = residuals.measure(SlopeCounts(edges, sizes=True), rho, of=residuals.at(w))
    return exceeded_by(counts, edges, share, n)


def exceeded_by(counts: Measurement, edges: Vector, share: float, n: float) -> float:
    """Return the least edge that at most `share` of the records exceed, as far as a noisy histogram tells.

    How many are above an edge is counted from both ends, each weighted by its accuracy.
    """
    above = np.cumsum(counts.value[::-1])[:-1][::-1]  # of each edge
    below = n - np.cumsum(counts.value)[:-1]
    from_above = np.arange(1, len(edges) + 1) / (len(edges) + 1)
    likely = from_above * above + (1.0 - from_above) * below
    small = likely <= share * n
    return float(edges[int(np.argmax(small))] if small.any() else edges[-1])
