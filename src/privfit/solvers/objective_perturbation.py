"""Objective perturbation: add a random linear term (the tilt) to the objective, and release its minimiser.

Chaudhuri, Monteleoni & Sarwate (2011) for delta = 0, Kifer, Smith & Thakurta (2012) for delta > 0. The
constants are those of claim O1 in docs/privacy.md, which is about adding or removing a record.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.optimize import NoConvergence, minimize, newton_krylov

from privfit.accounting import Direct
from privfit.accounting.subsampled import gaussian_noise
from privfit.accounting.zcdp import NOISE_MARGIN
from privfit.curator import Curator, NoiseSource, Vector
from privfit.losses import Loss
from privfit.solvers.base import Solution, register
from privfit.solvers.kit import check_share
from privfit.solvers.release import EPSILON_SHARE_OF_COUNT, open_release
from privfit.solvers.requirements import (
    BOUNDED_SLOPE,
    LABELS_ONLY,
    OWN_LOSS,
    PLAIN_RECORDS,
    SMOOTH_LOSS,
    Requirement,
)

if TYPE_CHECKING:
    from privfit.curator import Problem

LONGEST_UNIT_ROW = 1.0 + 2.0**-20  # the largest norm, after rounding, of a row scaled to norm 1
MOST_CURVATURE = 1.0  # share of epsilon; with more, the objective would be too flat to be minimised
# gradient norm relative to the summands; rounding errors are a hundred times smaller
GRADIENT_PRECISION = 2.0**-44
HALF_STEP = 2.0**-40  # half a step of the grid to which Gaussian noise is rounded, in units of sigma (N2)
MAX_ITER = 10_000


@register
@dataclass(frozen=True, kw_only=True)
class ObjectivePerturbation:
    """The minimiser of the regularised loss plus a random linear term, with nothing to tune.

    Use it for delta = 0, and as a baseline. Its proof is about the exact minimiser in exact arithmetic. If a
    model will be published, use "approximate-minima-perturbation", whose proof covers what an optimiser
    returns.

    Parameters
    ----------
    curvature_share : float
        Share of epsilon that pays for the change of the objective's curvature by one record, if the loss has
        smoothness 1, like the smoothed hinge. The logistic loss, with smoothness 1/4, uses half of it. The
        proof needs a regulariser on the sum of losses of about smoothness / (share epsilon): a larger share
        means less regularisation and more noise.

    Notes
    -----
    Rows (x, 1) are scaled to norm 1, for fitting and for predictions. The kink of the hinge is smoothed.
    """

    name: ClassVar[str] = "objective-perturbation"
    private: ClassVar[bool] = True
    requires: ClassVar[tuple[Requirement, ...]] = (
        *PLAIN_RECORDS,
        LABELS_ONLY,
        BOUNDED_SLOPE,
        SMOOTH_LOSS,
        OWN_LOSS,
    )
    promise = staticmethod(Direct.of)

    curvature_share: float = 0.2

    def __post_init__(self) -> None:
        check_share(self, "curvature_share")

    def solve(self, curator: Curator) -> Solution:
        """Draw the tilt, minimise the objective, and release the minimiser."""
        # raises before the charge if no noise scale is large enough for the tilt
        noise_scale(
            1.0,
            (1.0 - EPSILON_SHARE_OF_COUNT) * (1.0 - self.curvature_share) * curator.epsilon,
            curator.delta,
        )
        release = open_release(curator, why="objective perturbation", claim="O1")
        objective = tilted_objective(
            release.problem,
            release.noise,
            release.epsilon,
            release.delta,
            strength=release.n * curator.penalty.alpha,
            curvature_share=self.curvature_share,
        )
        return Solution(objective.minimiser(objective.precision), notes=objective.notes, unit_rows=True)


@dataclass(frozen=True)
class TiltedObjective:
    """The sum of smooth losses over unit rows, plus ridge/2 ||w||^2, plus tilt.w."""

    problem: Problem
    ridge: float
    tilt: Vector
    tilt_error: float = 0.0  # bound on the tilt's rounding to its grid (N2)

    @property
    def notes(self) -> tuple[str, ...]:
        """The objective in words, for the statement."""
        loss = self.problem.loss.name.replace("_", " ")
        return (f"the {loss} was summed over rows of norm 1 and regularised by {self.ridge:.4g}/2 ||w||^2",)

    @property
    def precision(self) -> float:
        """A gradient norm that is small, but larger than rounding errors."""
        return GRADIENT_PRECISION * (self.problem.n_records + float(np.linalg.norm(self.tilt)))

    def gradient(self, w: Vector) -> Vector:
        """Return the gradient at w. One pass over the data."""
        return self.problem.gradient_at(w, math.inf) + self.ridge * w + self.tilt

    def value_and_gradient(self, w: Vector) -> tuple[float, Vector]:
        """Return both at w. Two passes over the data."""
        point = self.problem.at(w)
        value = point.loss_sum() + self.ridge / 2.0 * float(w @ w) + float(self.tilt @ w)
        return value, point.gradient_sum() + self.ridge * w + self.tilt

    def rounding(self, w: Vector) -> float:
        """Bound the L2 distance of `gradient(w)` from the gradient in exact arithmetic."""
        sizes = self.problem.n_records * self.problem.loss.lipschitz * LONGEST_UNIT_ROW
        sizes += self.ridge * float(np.linalg.norm(w)) + float(np.linalg.norm(self.tilt))
        return self.problem.gradient_error(w) + 2.0**-50 * sizes + self.tilt_error

    def minimiser(self, tolerance: float, *, certain: bool = False) -> Vector:
        """Return a point where the gradient's norm is at most `tolerance`; raise RuntimeError otherwise.

        If `certain`, this holds for the gradient in exact arithmetic: a bound on rounding errors is added.

        L-BFGS compares values of the objective, so it stops when rounding hides their differences, at
        gradients of about 1e-4. Newton's method, which needs gradients only, continues from there.
        """
        options = {"maxiter": MAX_ITER, "maxfun": 2 * MAX_ITER, "gtol": 0.0, "ftol": 2.0**-46, "maxcor": 30}
        start = np.zeros(self.problem.n_weights)
        w: Vector = minimize(self.value_and_gradient, start, jac=True, method="L-BFGS-B", options=options).x
        if self._misses(w, tolerance, certain):
            aim = tolerance / 2.0 if certain else tolerance
            with suppress(NoConvergence, ValueError):  # the point reached is checked below
                w = newton_krylov(self.gradient, w, f_tol=aim, tol_norm=np.linalg.norm, maxiter=100)
        if self._misses(w, tolerance, certain):
            raise RuntimeError(
                "The perturbed objective was not minimised to the precision its privacy proof needs, so no "
                "model is released and its price stays spent; raise alpha or lower curvature_share."
            )
        return w

    def _misses(self, w: Vector, tolerance: float, certain: bool) -> bool:
        norm = float(np.linalg.norm(self.gradient(w)))
        if certain:
            norm = norm * (1.0 + 2.0**-20) + self.rounding(w)
        return not norm <= tolerance


def tilted_objective(
    problem: Problem,
    noise: NoiseSource,
    epsilon: float,
    delta: float,
    *,
    strength: float,
    curvature_share: float,
) -> TiltedObjective:
    """Return the objective whose exact minimiser is an (epsilon, delta)-DP release (O1).

    `strength` is the regulariser on the sum of losses that was asked for.
    """
    rows = problem.with_rows_of(1.0).with_loss(problem.loss.smoothed)
    ridge, rest = ridge_and_rest(rows.loss, epsilon, strength, curvature_share)
    scale = noise_scale(rows.loss.lipschitz * LONGEST_UNIT_ROW, rest, delta)
    if delta == 0.0:
        return TiltedObjective(rows, ridge, noise.radial(rows.n_weights, scale))
    tilt = noise.gaussian(np.zeros(rows.n_weights), scale)
    return TiltedObjective(rows, ridge, tilt, math.sqrt(rows.n_weights) * HALF_STEP * scale)


def ridge_and_rest(
    loss: Loss, epsilon: float, strength: float, curvature_share: float
) -> tuple[float, float]:
    """Return the regulariser, and the part of epsilon that is left for the tilt.

    One record multiplies the determinant of the Hessian by at most 1 + curvature / ridge; epsilon pays for
    the logarithm of this factor. With the share that pays for it, the regulariser's bias falls as smoothness
    / share, and the variance of the tilt rises as (1 - share)^-2. So the best small share grows as
    sqrt(smoothness).
    """
    curvature = loss.smoothness * LONGEST_UNIT_ROW**2
    share = curvature_share * min(1.0, math.sqrt(loss.smoothness))
    ridge = max(strength, curvature / math.expm1(min(share * epsilon, MOST_CURVATURE)))
    return ridge, epsilon - math.log1p(curvature / ridge)


def noise_scale(distance: float, epsilon: float, delta: float) -> float:
    """Return the scale of the noise that hides this L2 distance: Gaussian noise, radial if delta is 0."""
    return distance * NOISE_MARGIN * (1.0 / epsilon if delta == 0.0 else gaussian_noise(epsilon, delta))
