"""Half the squared residual, the loss of least squares."""

import math

import numpy as np
from numpy.typing import NDArray

from privfit.losses.arithmetic import compilable
from privfit.losses.loss import Loss
from privfit.losses.targets import NUMBERS


@compilable
def value(prediction: float, target: float) -> float:
    """Return half the square of the residual, prediction - target."""
    residual = prediction - target
    return 0.5 * residual * residual


@compilable
def derivative(prediction: float, target: float) -> float:
    """Return the residual."""
    return prediction - target


def second_derivative(
    slopes: NDArray[np.float64], predictions: NDArray[np.float64], targets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return 1 for every record."""
    return np.ones_like(slopes)


def link(mean: float) -> float:
    """Return the mean itself, which is the best constant."""
    return mean


SQUARED = Loss(
    "squared",
    value,
    derivative,
    lipschitz=math.inf,
    smoothness=1.0,
    targets=NUMBERS,
    link=link,
    is_scale_free=True,
    second_derivative=second_derivative,
)
