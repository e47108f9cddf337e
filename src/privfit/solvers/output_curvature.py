"""The mean curvature of a loss of several outputs, computed from released numbers alone.

The second derivatives of a record's loss are the Kronecker product of a matrix over outputs, D, and of zz'.
One private matrix of second moments G therefore serves all outputs: the mean is taken to be the mean of D,
over margins that are Gaussian with the covariance W'GW, times G. For the softmax it is at most 1/2 (I -
11'/K) times G.
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

DRAWS = 128  # number of draws of margins, with as many of opposite sign; errors of a few percent do no harm
# with more outputs there are fewer draws, because time grows with the square of their number
MANY_OUTPUTS, FEWEST_DRAWS = 100, 8


def gaussian_margins(covariance: Matrix) -> Matrix:
    """Return public draws of Gaussian margins, one in each row, with the negative of each draw."""
    outputs = len(covariance)
    count = int(np.clip(DRAWS * (MANY_OUTPUTS / outputs) ** 2, FEWEST_DRAWS, DRAWS))
    draws = np.random.default_rng(0).standard_normal((count, outputs))
    values, vectors = np.linalg.eigh(covariance)
    margins = draws @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return np.concatenate([margins, -margins])


def mean_hessian(loss: Loss, scores: Matrix, offsets: Vector, scale: float = 1.0) -> Matrix:
    """Return the mean second derivatives in a common scale, which is first, and in the offset of each output.

    They are those at `scale` times each row of scores plus the offsets. Targets take turns. Slopes are
    compared half a window to both sides, because hinges are curved at their kinks alone.
    """
    rows, outputs = scores.shape
    typical = np.array(loss.targets.typical)
    targets = typical[np.arange(rows) % len(typical)]
    predictions = scale * scores + offsets
    hessian, along = np.empty((outputs + 1, outputs + 1)), np.zeros_like(scores)
    # one column of D after the other, because all columns together would need much memory
    for k in range(outputs):
        side = np.zeros(outputs)
        side[k] = HALF_WINDOW
        rise = output_slopes_at(loss, predictions + side, targets)
        rise -= output_slopes_at(loss, predictions - side, targets)
        column = loss.without_common_part(rise / (2.0 * HALF_WINDOW))
        hessian[1:, k + 1] = column.mean(axis=0)
        along += column * scores[:, k, None]
    of_outputs = (hessian[1:, 1:] + hessian[1:, 1:].T) / 2.0
    of_outputs = loss.without_common_part(loss.without_common_part(of_outputs).T)
    hessian[0, 0] = float(np.mean(np.sum(along * scores, axis=1)))
    hessian[0, 1:] = hessian[1:, 0] = along.mean(axis=0)
    hessian[1:, 1:] = of_outputs
    return hessian


def mean_of_outputs(loss: Loss, moments: Matrix, w: Vector, n_features: int) -> Matrix:
    """Return the mean of D at weights w, given second moments of the features.

    Margins count as at least 1 long on average, because hinges have no curvature at shorter ones.
    """
    own = np.zeros_like(w)
    own[:n_features] = w[:n_features]
    spread = own.T @ moments @ own
    outputs = len(spread)
    spread += max(0.0, 1.0 - float(np.trace(spread)) / outputs) * np.eye(outputs)
    bias = math.sqrt(max(float(moments[-1, -1]), 0.0))  # the value of the intercept's column
    offsets = bias * np.sum(w[n_features:], axis=0)
    return mean_hessian(loss, gaussian_margins(spread), offsets)[1:, 1:]


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
