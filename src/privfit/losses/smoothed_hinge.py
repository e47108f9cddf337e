"""The hinge loss with a parabola in place of its kink."""

from privfit.losses.arithmetic import compilable
from privfit.losses.loss import Loss

HALF_WIDTH = 0.5  # of the parabola


@compilable
def value(prediction: float, target: float) -> float:
    """Return 0 above 1+H, 1-m below 1-H and (1+H-m)^2 / 4H in between, with the margin m."""
    m = target * prediction
    t = min(max(1.0 + HALF_WIDTH - m, 0.0), 2.0 * HALF_WIDTH)
    return t * t / (4.0 * HALF_WIDTH) + max(1.0 - HALF_WIDTH - m, 0.0)


@compilable
def derivative(prediction: float, target: float) -> float:
    """Return 0 above 1+H, -target below 1-H, and a linear interpolation in between."""
    m = target * prediction
    return -target * (min(max(1.0 + HALF_WIDTH - m, 0.0), 2.0 * HALF_WIDTH) / (2.0 * HALF_WIDTH))


SMOOTHED_HINGE = Loss("smoothed_hinge", value, derivative, lipschitz=1.0, smoothness=1 / (2 * HALF_WIDTH))


def sharpened(k: float) -> Loss:
    """Return the smoothed hinge with a parabola k times as narrow."""

    @compilable
    def sharp_value(prediction: float, target: float) -> float:
        return value(1.0 + k * (target * prediction - 1.0), 1.0) / k

    @compilable
    def sharp_derivative(prediction: float, target: float) -> float:
        return target * derivative(1.0 + k * (target * prediction - 1.0), 1.0)

    smoothness = k * SMOOTHED_HINGE.smoothness
    return Loss(f"smoothed_hinge_{k:g}", sharp_value, sharp_derivative, lipschitz=1.0, smoothness=smoothness)
