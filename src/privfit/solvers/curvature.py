"""The curvature of the loss at any weights, from second moments of the features that are bought once.

For Gaussian features with second moments G, the Hessian of the mean loss at weights w follows from Stein's
lemma. If s = sqrt(w'Gw) is the standard deviation of the margins, it is c G + (c1 - c) (Gw)(Gw)' / s^2, where
c is the mean curvature of the loss and c1 its mean weighted by the squared margin. For other features this is
an approximation, so the descent checks whether its steps reduce the loss (`privfit.solvers.descent`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from privfit.curator import Curator, Vector
from privfit.losses import Loss
from privfit.questions import SecondMoments
from privfit.questions.products import symmetric
from privfit.questions.slopes import slopes_at

MOMENTS_SHARE = 0.05  # of what is left, for the second moments; it raises the gradients' noise by a fortieth
RADIUS = 2.0  # in units of the typical norm; longer records are clipped
MOST_WEIGHTS = 500  # with more weights, second moments take longer than some 40 passes over the data
MIN_REACH_FOR_CURVATURE = 3000.0  # n sqrt(2 rho); below it, lower noise of gradients is worth more
# The curvature is used if the noise on its eigenvalues, in units of their mean, is below these limits.
# Tables with few records have a stricter limit, because hundreds of passes over them are cheap. If only few
# steps are allowed, the limit is looser and the reach may be small: even a coarse curvature then helps.
MOST_CURVATURE_NOISE = 1.0
MANY_RECORDS = 100_000
MOST_CURVATURE_NOISE_FOR_FEW_RECORDS = 0.4
MOST_CURVATURE_NOISE_FOR_FEW_STEPS = 14.0
# slopes are compared at this distance on both sides, because the hinge is curved only at its kink
HALF_WINDOW = 0.5
# as a share of the trace, so that all eigenvalues stay positive despite rounding
LEAST_RELATIVE_PENALTY = 2.0**-40
LEAST_CURVATURE = 1e-3  # a lower limit, so that steps stay finite if the loss is linear
MARGINS = np.linspace(-3.0, 3.0, 61)  # in standard deviations, at which the mean curvature is averaged
MARGIN_SHARES = np.exp(-0.5 * MARGINS**2) / np.exp(-0.5 * MARGINS**2).sum()


@dataclass(frozen=True)
class Curvature:
    """Second moments of the features, the intercept's column last, and the noise on their eigenvalues.

    The moments are a noisy matrix without its negative part. `bias` is what the intercept's column holds.
    """

    moments: NDArray[np.float64]
    noise: float
    bias: float

    def length(self, direction: Vector) -> float:
        """Return the change of a typical record's margin along this direction.

        For several outputs this is the root mean square of their changes.
        """
        if direction.ndim == 2:
            squares = np.einsum("ik,ij,jk->k", direction, self.moments, direction, optimize=True)
            return math.sqrt(max(0.0, float(np.mean(squares))))
        return math.sqrt(max(0.0, float(direction @ product(self.moments, direction))))

    def hessian(self, loss: Loss, w: Vector, n_features: int) -> tuple[float, float, Vector]:
        """Return c, k and v of the mean loss's Hessian at w, c G - k v v', which has no negative curvature.

        Margins are taken to have a standard deviation of at least 1, because the hinge has no curvature at
        smaller ones.
        """
        own = np.zeros_like(w)
        own[:n_features] = w[:n_features]
        spread = self.length(own)
        along, mean = mean_curvature(loss, max(spread, 1.0), self.bias * float(np.sum(w[n_features:])))
        seen = product(self.moments, own) / max(spread, 1e-12)
        return max(mean, LEAST_CURVATURE), max(mean - along, 0.0), seen


class Newton:
    """Newton's steps for Hessians c (G + noise) - k v v' + floor; all but v is diagonal in one basis."""

    def __init__(self, curvature: Curvature, floor: NDArray[np.float64]) -> None:
        raised = curvature.moments + curvature.noise * np.eye(len(floor))
        self.values, self.basis = eigh(raised, floor)

    def step(self, hessian: tuple[float, float, Vector], gradient: Vector) -> Vector:
        """Return the inverse of the Hessian times a gradient, by the Sherman-Morrison formula."""
        c, k, v = hessian
        weights = 1.0 / (c * self.values + 1.0)

        def solved(vector: Vector) -> Vector:
            return product(self.basis, weights * product(self.basis.T, vector))

        plain, along = solved(gradient), solved(v)
        return plain + along * (k * float(v @ plain) / (1.0 - k * float(v @ along)))


def product(matrix: NDArray[np.float64], vector: Vector) -> Vector:
    """Return matrix times vector on one core; a library's threads would spin and delay the next pass."""
    multiplied: Vector = np.einsum("ij,j->i", matrix, vector)
    return multiplied


def curvature_noise(features: Curator, n: float) -> float:
    """Return the noise on the moments' eigenvalues before they are bought: sigma sqrt(2 d) / n."""
    carried = features.reach(n, MOMENTS_SHARE * features.remaining)
    return RADIUS**2 / carried * math.sqrt(2.0 * features.n_weights)


def affordable(features: Curator, n: float, *, few_steps: bool = False) -> bool:
    """Return whether it pays to buy the curvature: by the reach, the number of weights and the noise.

    If only few steps are allowed, more noise is accepted, and any reach.
    """
    d, reach = features.n_weights, features.reach(n)
    if few_steps:
        return d <= MOST_WEIGHTS and d * curvature_noise(features, n) < MOST_CURVATURE_NOISE_FOR_FEW_STEPS
    coarsest = MOST_CURVATURE_NOISE if n >= MANY_RECORDS else MOST_CURVATURE_NOISE_FOR_FEW_RECORDS
    return (
        d <= MOST_WEIGHTS and reach > MIN_REACH_FOR_CURVATURE and d * curvature_noise(features, n) < coarsest
    )


def bought(features: Curator, n: float, bias: float) -> Curvature:
    """Buy the second moments of features whose typical norm is 1."""
    noise = curvature_noise(features, n)
    measured = features.measure(SecondMoments(RADIUS), MOMENTS_SHARE * features.remaining)
    values, vectors = eigh(symmetric(measured.value) / n)
    return Curvature((vectors * np.maximum(values, 0.0)) @ vectors.T, noise, bias)


def mean_curvature(loss: Loss, size: float, offset: float = 0.0) -> tuple[float, float]:
    """Return the mean curvature of the loss over Gaussian margins: in their scale, and in their offset.

    `size` is the standard deviation of the margins, and `offset` their mean. All typical targets are equally
    likely.
    """
    sides = (offset + size * MARGINS)[:, None] + (-HALF_WINDOW, HALF_WINDOW)
    ends = [slopes_at(loss, sides, target) for target in loss.targets.typical]
    curved = np.diff(sum(ends))[:, 0] / (2.0 * len(ends) * HALF_WINDOW)
    return float(MARGIN_SHARES @ (curved * MARGINS**2)), float(MARGIN_SHARES @ curved)
