"""The hinge loss of support vector machines."""

import math

from privfit.losses.arithmetic import compilable
from privfit.losses.hinges import hinges
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


def link(mean: float) -> float:
    """Return twice the log odds, at most 1 in size: larger margins do not reduce the hinge loss."""
    return min(max(2.0 * (math.log1p(mean) - math.log1p(-mean)), -1.0), 1.0)


HINGE = Loss(
    "hinge",
    value,
    derivative,
    lipschitz=1.0,
    smoothness=math.inf,
    link=link,
    smooth_stand_in=SMOOTHED_HINGE,
    sharpened=sharpened,
    of_classes=hinges,
)
