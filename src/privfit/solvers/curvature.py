"""How the loss curves: second moments of the features, bought once, tell it at all weights.

Of Gaussian features with second moments G the Hessian of the mean loss at weights w is known: where margins
have the standard deviation s = sqrt(w'Gw), it is c G + (c1 - c) (Gw)(Gw)' / s^2, c being the mean curvature
of the loss and c1 that along the margins (Stein's lemma). Of other features it is an approximation, which a
descent has to check by what its steps bring (`privfit.solvers.descent`).
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

SHARE = 0.05  # of what is left, for the second moments; it raises the gradients' noise by a fortieth
RADIUS = 2.0  # records longer than twice the typical one are shrunk
MOST_WEIGHTS = 500  # with so many, second moments take the time of some 40 passes over the data
AMPLE = 3000.0  # n sqrt(2 rho) from which on they are worth their price: noise is then not the first worry
COARSE = 1.0  # noise on eigenvalues, in units of their mean, up to which they can be told from it
MANY_RECORDS = 100_000  # from here on passes are dear; with fewer, hundreds of them are the better bargain,
FINE = 0.4  # unless the eigenvalues are known as well as this
COARSE_FOR_FEW_STEPS = 14.0  # the same, and no AMPLE, if few steps are allowed: a coarse curvature still
# leads further in a dozen steps than none
HALF_WINDOW = 0.5  # slopes are compared this far to both sides, because the hinge is curved at its kink alone
DIGITS = 2.0**-40  # of a regulariser in all directions, so that rounding leaves some of it in each
LEAST_CURVATURE = 1e-3  # on average, so that steps end even where the loss is straight
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
        """Return by how much the margin of a typical record changes in this direction.

        Of several outputs it is the root mean square of their changes.
        """
        if direction.ndim == 2:
            squares = np.einsum("ik,ij,jk->k", direction, self.moments, direction, optimize=True)
            return math.sqrt(max(0.0, float(np.mean(squares))))
        return math.sqrt(max(0.0, float(direction @ product(self.moments, direction))))

    def hessian(self, loss: Loss, w: Vector, n_features: int) -> tuple[float, float, Vector]:
        """Return c, k and v of the mean loss's Hessian at w, c G - k v v', which has no negative curvature.

        Margins count as at least 1 long, because the hinge has no curvature at shorter ones.
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
        """Return the Hessian's inverse times a gradient, v being taken care of as Sherman and Morrison do."""
        c, k, v = hessian
        weights = 1.0 / (c * self.values + 1.0)

        def solved(vector: Vector) -> Vector:
            return product(self.basis, weights * product(self.basis.T, vector))

        plain, along = solved(gradient), solved(v)
        return plain + along * (k * float(v @ plain) / (1.0 - k * float(v @ along)))


def product(matrix: NDArray[np.float64], vector: Vector) -> Vector:
    """Return matrix times vector on one core, because a library's threads spin and hold up the next pass."""
    multiplied: Vector = np.einsum("ij,j->i", matrix, vector)
    return multiplied


def curvature_noise(features: Curator, n: float) -> float:
    """Return how uncertain the moments' eigenvalues would be, before buying them: sigma sqrt(2 d) / n."""
    carried = features.reach(n, SHARE * features.remaining)
    return RADIUS**2 / carried * math.sqrt(2.0 * features.n_weights)


def affordable(features: Curator, n: float, *, few_steps: bool = False) -> bool:
    """Return whether the budget is ample, the table narrow enough, and curvature not lost in the noise.

    If only few steps are allowed, curvature may be lost in more noise, and the budget need not be ample.
    """
    d, reach = features.n_weights, features.reach(n)
    if few_steps:
        return d <= MOST_WEIGHTS and d * curvature_noise(features, n) < COARSE_FOR_FEW_STEPS
    coarsest = COARSE if n >= MANY_RECORDS else FINE
    return d <= MOST_WEIGHTS and reach > AMPLE and d * curvature_noise(features, n) < coarsest


def bought(features: Curator, n: float, bias: float) -> Curvature:
    """Buy the second moments of features whose typical norm is 1."""
    noise = curvature_noise(features, n)
    measured = features.measure(SecondMoments(RADIUS), SHARE * features.remaining)
    values, vectors = eigh(symmetric(measured.value) / n)
    return Curvature((vectors * np.maximum(values, 0.0)) @ vectors.T, noise, bias)


def mean_curvature(loss: Loss, size: float, offset: float = 0.0) -> tuple[float, float]:
    """Return the mean curvature of the loss over Gaussian margins of this size: in their scale, and offset.

    All typical targets are equally likely; the offset is the margins' mean.
    """
    sides = (offset + size * MARGINS)[:, None] + (-HALF_WINDOW, HALF_WINDOW)
    ends = [slopes_at(loss, sides, target) for target in loss.targets.typical]
    curved = np.diff(sum(ends))[:, 0] / (2.0 * len(ends) * HALF_WINDOW)
    return float(MARGIN_SHARES @ (curved * MARGINS**2)), float(MARGIN_SHARES @ curved)
