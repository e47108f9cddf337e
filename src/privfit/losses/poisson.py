"""The loss of Poisson regression, which predicts the logarithm of a mean. For large predictions it is a line.

The slope is e^min(prediction, LINEAR_FROM) - target: from LINEAR_FROM on the loss is a line, so it is convex.
(If the prediction itself were clipped to LINEAR_FROM, the loss would be constant there, and not convex.)
"""

import math

import numpy as np
from numpy.typing import NDArray

from privfit.losses.arithmetic import compilable, exp, log
from privfit.losses.loss import Loss
from privfit.losses.targets import AMOUNTS, LARGEST_TARGET

LINEAR_FROM = math.log(
    LARGEST_TARGET
)  # so that no target is beyond the mean at which the loss becomes a line
LARGEST_PREDICTION = 1e300  # predictions are clipped to this, because 0 times infinity is NaN


@compilable
def value(prediction: float, target: float) -> float:
    """Return half the deviance of one record: e^p - t p, minus its minimum over p."""
    prediction = min(max(prediction, -LARGEST_PREDICTION), LARGEST_PREDICTION)
    inner = min(prediction, LINEAR_FROM)
    mean = float(exp(inner))  # a Python float, because NumPy's numbers warn when they overflow
    least = target - target * log(max(target, 1e-300))
    beyond = (mean - target) * (prediction - inner)
    return max(mean - target * inner - least + beyond, 0.0)


@compilable
def derivative(prediction: float, target: float) -> float:
    """Return the predicted mean, at most e^LINEAR_FROM, minus the target."""
    return exp(min(prediction, LINEAR_FROM)) - target


def second_derivative(
    slopes: NDArray[np.float64], predictions: NDArray[np.float64], targets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the predicted mean (slope plus target), and 0 from LINEAR_FROM on, where the loss is a line."""
    return np.where(predictions < LINEAR_FROM, slopes + targets, 0.0)


def link(mean: float) -> float:
    """Return the logarithm of the mean."""
    return math.log(mean)


POISSON = Loss(
    "poisson",
    value,
    derivative,
    lipschitz=LARGEST_TARGET,
    smoothness=LARGEST_TARGET,
    targets=AMOUNTS,
    link=link,
    second_derivative=second_derivative,
)
