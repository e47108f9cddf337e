"""How a loss of several outputs curves on average, computed from released weights alone.

The second derivatives of a record's loss are the Kronecker product of a matrix over outputs, D, and of zz'.
One private matrix of second moments G therefore serves all outputs: the mean is taken to be the mean of D,
over margins that are Gaussian with the covariance W'GW, times G. Of the softmax it is at most
1/2 (I - 11'/K) times G.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privfit.curator import Vector
from privfit.losses import Loss
from privfit.questions.slopes import output_slopes_at
from privfit.solvers.curvature import HALF_WINDOW, LEAST_CURVATURE
from privfit.solvers.curvature import Newton as NewtonOfOne

Matrix = NDArray[np.float64]

DRAWS = 128  # of margins, and as many of the opposite sign: a few percent of the curvature do


def gaussian_margins(covariance: Matrix) -> Matrix:
    """Return public draws of Gaussian margins, a row each, with each draw's opposite."""
    draws = np.random.default_rng(0).standard_normal((DRAWS, len(covariance)))
    values, vectors = np.linalg.eigh(covariance)
    margins = draws @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return np.concatenate([margins, -margins])


def curvatures(loss: Loss, predictions: Matrix) -> NDArray[np.float64]:
    """Return the loss's second derivatives at each row of predictions; targets take turns.

    Slopes are compared half a window to both sides, because hinges are curved at their kinks alone.
    """
    rows, outputs = predictions.shape
    typical = np.array(loss.targets.typical)
    targets = typical[np.arange(rows) % len(typical)]
    sides = HALF_WINDOW * np.eye(outputs)
    found = np.stack(
        [
            output_slopes_at(loss, predictions + side, targets)
            - output_slopes_at(loss, predictions - side, targets)
            for side in sides
        ],
        axis=2,
    )
    found = (found + found.transpose(0, 2, 1)) / (4.0 * HALF_WINDOW)
    if loss.only_differences:  # what a window as wide as this leaves of a common part is not there
        found = found - found.mean(axis=1, keepdims=True)
        found = found - found.mean(axis=2, keepdims=True)
    return found


def mean_of_outputs(loss: Loss, moments: Matrix, w: Vector, n_features: int) -> Matrix:
    """Return the mean of D at weights w, given second moments of the features.

    Margins count as at least 1 long on average, because hinges have no curvature at shorter ones.
    """
    own = np.zeros_like(w)
    own[:n_features] = w[:n_features]
    spread = own.T @ moments @ own
    outputs = len(spread)
    spread += max(0.0, 1.0 - float(np.trace(spread)) / outputs) * np.eye(outputs)
    bias = math.sqrt(max(float(moments[-1, -1]), 0.0))  # what the intercept's column holds
    offsets = bias * np.sum(w[n_features:], axis=0)
    found: Matrix = np.mean(curvatures(loss, gaussian_margins(spread) + offsets), axis=0)
    return found


class NewtonOfOutputs:
    """Newton's steps for Hessians that are Kronecker products, D times (G + noise), plus a floor."""

    def __init__(self, one: NewtonOfOne) -> None:
        self.values, self.basis = one.values, one.basis

    def step(self, of_outputs: Matrix, gradient: Matrix) -> Matrix:
        """Return the Hessian's inverse times a gradient, in the basis in which both factors are diagonal."""
        curved, directions = np.linalg.eigh(of_outputs)
        turned = np.einsum("ji,jk->ik", self.basis, gradient @ directions)
        turned /= self.values[:, None] * np.maximum(curved, LEAST_CURVATURE) + 1.0
        step: Matrix = np.einsum("ij,jk->ik", self.basis, turned) @ directions.T
        return step
