"""The loss of Poisson regression, which predicts the logarithm of a mean, and is a line far out.

The slope is e^min(prediction, E) - target: beyond E the loss goes on as a line, and stays convex. (If the
prediction itself were clipped to E, the loss would be flat there, and would not be convex.)
"""

import math

import numpy as np
from numpy.typing import NDArray

from privfit.losses.arithmetic import compilable, exp, log
from privfit.losses.loss import Loss
from privfit.losses.targets import AMOUNTS, LARGEST

E = math.log(LARGEST)  # so that no target is beyond the mean at which the loss becomes a line
FARTHEST = 1e300  # predictions are clipped here, because 0 times an infinite one is no number


@compilable
def value(prediction: float, target: float) -> float:
    """Return e^p - t p, less the least that it can be for this target: half the deviance of one record."""
    prediction = min(max(prediction, -FARTHEST), FARTHEST)
    inner = min(prediction, E)
    mean = float(exp(inner))  # of Python, because NumPy's numbers warn where they overflow
    least = target - target * log(max(target, 1e-300))
    beyond = (mean - target) * (prediction - inner)
    return max(mean - target * inner - least + beyond, 0.0)


@compilable
def derivative(prediction: float, target: float) -> float:
    """Return the mean that is predicted, at most e^E, less the target."""
    return exp(min(prediction, E)) - target


def second_derivative(
    slopes: NDArray[np.float64], predictions: NDArray[np.float64], targets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean that is predicted, the slope plus the target, and 0 where the loss is a line."""
    return np.where(predictions < E, slopes + targets, 0.0)


def link(mean: float) -> float:
    """Return the logarithm of the mean."""
    return math.log(mean)


POISSON = Loss(
    "poisson",
    value,
    derivative,
    lipschitz=LARGEST,
    smoothness=LARGEST,
    targets=AMOUNTS,
    link=link,
    second_derivative=second_derivative,
)
