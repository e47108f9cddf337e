"""The derivative of a loss at public predictions. It reads no record, so nothing is charged."""

from __future__ import annotations

import numpy as np

from privfit.engine.exact.grids import FloatArray
from privfit.losses import Loss


def slopes_at(loss: Loss, predictions: FloatArray, target: float) -> FloatArray:
    """Return the derivative of a loss of one output at each prediction, for this target.

    The loop is compiled, as for records, because calling the derivative of the logistic loss from Python
    takes some 7 microseconds.
    """
    from privfit.engine.kernels.pointwise import loops  # imported late: it needs numba

    slopes = np.empty(predictions.size)
    loops(loss).derivatives(predictions.ravel(), np.full(predictions.size, target), slopes)
    return slopes.reshape(predictions.shape)


def output_slopes_at(loss: Loss, predictions: FloatArray, targets: FloatArray) -> FloatArray:
    """Return the derivatives of a loss of several outputs at each row of predictions."""
    from privfit.engine.kernels.pointwise import loops  # imported late: it needs numba

    slopes = np.empty_like(predictions)
    loops(loss).derivatives(np.ascontiguousarray(predictions), targets, slopes)
    return slopes
