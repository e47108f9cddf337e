"""The hinge loss of support vector machines."""

import math

from privfit.losses.arithmetic import compilable
from privfit.losses.loss import Loss
from privfit.losses.smoothed_hinge import SMOOTHED_HINGE, sharpened


@compilable
def value(prediction: float, target: float) -> float:
    """Return max(1 - m, 0) with the margin m = target * prediction."""
    return max(1.0 - target * prediction, 0.0)


@compilable
def derivative(prediction: float, target: float) -> float:
    """Return -target below the kink at m = 1, and 0 from there on."""
    return -target if target * prediction < 1.0 else 0.0


HINGE = Loss(
    "hinge",
    value,
    derivative,
    lipschitz=1.0,
    smoothness=math.inf,
    smooth_stand_in=SMOOTHED_HINGE,
    sharpened=sharpened,
)
