"""Approximate minima perturbation: objective perturbation whose proof also holds for approximate minimisers.

Iyengar, Near, Song, Thakkar, Thakurta & Wang (2019), with nothing to tune. The constants are those of claim
O2 in docs/privacy.md, which is about adding or removing a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privfit.accounting import Direct
from privfit.curator import Curator
from privfit.solvers.base import Solution, register
from privfit.solvers.kit import check_share
from privfit.solvers.objective_perturbation import noise_scale, tilted_objective
from privfit.solvers.release import EPSILON_SHARE_OF_COUNT, open_release
from privfit.solvers.requirements import (
    BOUNDED_SLOPE,
    LABELS_ONLY,
    OWN_LOSS,
    PLAIN_RECORDS,
    POSITIVE_DELTA,
    SMOOTH_LOSS,
    Requirement,
)

GAMMA = 1e-5  # gradient norm at which the optimiser may stop; a smaller one would not improve the model
# The rounding error of the gradient for n records, twice: sums over chunks of 16,000 rows, or of n / 64.
GAMMA_PER_RECORD, GAMMA_PER_PAIR = 4e-12, 2.0**-58


@register
@dataclass(frozen=True, kw_only=True)
class ApproximateMinimaPerturbation:
    """Objective perturbation with a little noise on the weights, which hides where the optimiser stopped.

    Use it instead of "objective-perturbation" if the model will be published. The extra noise costs 1% of the
    privacy budget, and the proof does not require an exact minimiser. It needs delta > 0.

    Parameters
    ----------
    output_share : float
        Share of epsilon and of delta for the noise on the weights.
    curvature_share : float
        As in `ObjectivePerturbation`, as a share of the remaining epsilon.

    Notes
    -----
    Rows (x, 1) are scaled to norm 1, for fitting and for predictions. The kink of the hinge is smoothed.
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
        """Draw the tilt, minimise until the gradient is small, add noise to the weights, and release them."""
        # raises before the charge if no noise scale is large enough for the weights' part
        self._blur(1.0, (1.0 - EPSILON_SHARE_OF_COUNT) * curator.epsilon, curator.delta)
        release = open_release(curator, why="approximate minima perturbation", claim="O2")
        tilt_share = 1.0 - self.output_share
        objective = tilted_objective(
            release.problem,
            release.noise,
            tilt_share * release.epsilon,
            tilt_share * release.delta,
            strength=release.n * curator.penalty.alpha,
            curvature_share=self.curvature_share,
        )
        # if there are more records than the declared number, rounding errors may exceed gamma, and
        # `minimiser` then raises an error instead of releasing anything
        gamma = GAMMA + release.n * (GAMMA_PER_RECORD + release.n * GAMMA_PER_PAIR)
        gamma += 2.0 * objective.tilt_error  # the gradient at the minimum may be off by one tilt_error
        w = objective.minimiser(gamma, certain=True)
        # both neighbours stop within gamma / ridge of the same minimum
        sigma = self._blur(2.0 * gamma / objective.ridge, release.epsilon, release.delta)
        return Solution(release.noise.gaussian(w, sigma), notes=objective.notes, unit_rows=True)

    def _blur(self, distance: float, epsilon: float, delta: float) -> float:
        return noise_scale(distance, self.output_share * epsilon, self.output_share * delta)
