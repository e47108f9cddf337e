"""The logistic loss."""

import math

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
)
