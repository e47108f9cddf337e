"""The logistic loss."""

import math

import numpy as np
from numpy.typing import NDArray

from privfit.losses.arithmetic import compilable, exp, log1p_unit
from privfit.losses.loss import Loss
from privfit.losses.softmax import softmax


@compilable
def value(prediction: float, target: float) -> float:
    """Return log(1 + exp(-m)) with the margin m = target * prediction."""
    m = target * prediction
    return max(-m, 0.0) + log1p_unit(exp(-abs(m)))


@compilable
def derivative(prediction: float, target: float) -> float:
    """Return -target / (1 + exp(m))."""
    m = target * prediction
    e = exp(-abs(m))
    return -target * ((e if m > 0.0 else 1.0) / (1.0 + e))


def second_derivative(
    slopes: NDArray[np.float64], predictions: NDArray[np.float64], targets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return p (1 - p), where p = |slope| is the probability of the label that a record does not have."""
    sizes = np.abs(slopes)
    return sizes * (1.0 - sizes)


def link(mean: float) -> float:
    """Return the log odds of the second label, given the difference of the labels' shares."""
    return math.log1p(mean) - math.log1p(-mean)


LOGISTIC = Loss(
    "logistic",
    value,
    derivative,
    lipschitz=1.0,
    smoothness=0.25,
    link=link,
    is_softplus=True,
    of_classes=softmax,
    second_derivative=second_derivative,
)
