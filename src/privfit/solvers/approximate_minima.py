"""Approximate minima perturbation: objective perturbation whose proof survives a real optimiser.

Iyengar, Near, Song, Thakkar, Thakurta & Wang (2019), with nothing to tune. The constants are those of claim
O2 in docs/privacy.md, which is for adding or removing a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privfit.accounting import Direct
from privfit.curator import Curator
from privfit.solvers.base import Solution, register
from privfit.solvers.kit import check_share
from privfit.solvers.objective_perturbation import noise_scale, tilted_objective
from privfit.solvers.release import COUNT_SHARE, open_release
from privfit.solvers.requirements import (
    BOUNDED_SLOPE,
    LABELS_ONLY,
    OWN_LOSS,
    PLAIN_RECORDS,
    POSITIVE_DELTA,
    SMOOTH_LOSS,
    Requirement,
)

GAMMA = 1e-5  # gradient norm, in records, that the noise on the weights hides: smaller would not be noticed
# What rounding may add to it for n records, twice: sums over chunks of 16,000 rows, or of n / 64.
GAMMA_PER_RECORD, GAMMA_PER_PAIR = 4e-12, 2.0**-58


@register
@dataclass(frozen=True, kw_only=True)
class ApproximateMinimaPerturbation:
    """Objective perturbation with a little noise on the weights, which hides where the optimiser stopped.

    Use it like "objective-perturbation" when a model is to be published: it costs 1% of the budget and its
    proof does not ask for an exact minimiser. It needs delta > 0.

    Parameters
    ----------
    output_share : float
        Share of epsilon and of delta for the noise on the weights.
    curvature_share : float
        As in `ObjectivePerturbation`, of the epsilon that remains.

    Notes
    -----
    Rows (x, 1) are scaled to norm 1, and predictions do the same. The hinge is rounded at its kink.
    """

    name: ClassVar[str] = "approximate-minima-perturbation"
    private: ClassVar[bool] = True
    requires: ClassVar[tuple[Requirement, ...]] = (
        *PLAIN_RECORDS,
        LABELS_ONLY,
        BOUNDED_SLOPE,
        SMOOTH_LOSS,
        POSITIVE_DELTA,
        OWN_LOSS,
    )
    promise = staticmethod(Direct.of)

    output_share: float = 0.01
    curvature_share: float = 0.2

    def __post_init__(self) -> None:
        check_share(self, "output_share", "curvature_share")

    def solve(self, curator: Curator) -> Solution:
        """Draw the tilt, minimise until the gradient is small, blur the weights, release."""
        # the part for the weights must be enough for some noise; else nothing is charged
        self._blur(1.0, (1.0 - COUNT_SHARE) * curator.epsilon, curator.delta)
        release = open_release(curator, why="approximate minima perturbation")
        tilt_share = 1.0 - self.output_share
        objective = tilted_objective(
            release.problem,
            release.noise,
            tilt_share * release.epsilon,
            tilt_share * release.delta,
            strength=release.n * curator.penalty.alpha,
            curvature_share=self.curvature_share,
        )
        # The number of records may be wrong, and more of them round more: then nothing may be released.
        gamma = GAMMA + release.n * (GAMMA_PER_RECORD + release.n * GAMMA_PER_PAIR)
        gamma += 2.0 * objective.tilt_error  # of which the gradient at the minimum may have one
        w = objective.minimiser(gamma, certain=True)
        # both neighbours stop within gamma / ridge of the same minimum
        sigma = self._blur(2.0 * gamma / objective.ridge, release.epsilon, release.delta)
        return Solution(release.noise.gaussian(w, sigma), notes=objective.notes, unit_rows=True)

    def _blur(self, distance: float, epsilon: float, delta: float) -> float:
        return noise_scale(distance, self.output_share * epsilon, self.output_share * delta)
