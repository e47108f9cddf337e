"""The quantile loss, also called pinball loss, and a version of it without a kink.

The constant with the least mean loss is the quantile: if the prediction grows by 1, the loss falls by q while
the prediction is below the target, and rises by 1 - q while it is above.
"""

import math
from functools import cache

from privfit.losses.arithmetic import compilable
from privfit.losses.loss import Loss
from privfit.losses.squared import link
from privfit.losses.targets import NUMBERS

HALF_WIDTH = 0.25  # of the parabola that replaces the kink, in units of the targets' scale


@cache
def smoothed_quantile(q: float, half_width: float) -> Loss:
    """Return the quantile loss with a parabola in place of its kink.

    It is the quantile loss averaged over all shifts of the target by at most `half_width`. Its slope rises
    linearly from -q to 1 - q as the residual goes from -half_width to half_width.

    Parameters
    ----------
    q : float
        Which quantile is predicted, between 0 and 1.
    half_width : float
        Half the width of the parabola; positive.

    Returns
    -------
    loss : Loss
        A loss that exceeds the quantile loss by at most half_width / 4.

    Raises
    ------
    ValueError
        If `q` is not between 0 and 1, or `half_width` is not positive. The loss would then be negative, and a
        clip would not bound it.
    """
    _check(q)
    if not 0.0 < half_width < math.inf:
        raise ValueError(f"half_width must be a positive number, got {half_width!r}.")

    @compilable
    def value(prediction: float, target: float) -> float:
        # written as the quantile loss plus a parabola, so that no infinite numbers are subtracted
        residual = prediction - target
        near = max(half_width - abs(residual), 0.0)
        return max((1.0 - q) * residual, -q * residual) + near * near / (4.0 * half_width)

    @compilable
    def derivative(prediction: float, target: float) -> float:
        t = min(max(prediction - target + half_width, 0.0), 2.0 * half_width)
        return t / (2.0 * half_width) - q

    return Loss(
        f"smoothed_quantile_{q!r}_{half_width!r}",
        value,
        derivative,
        lipschitz=max(q, 1.0 - q),
        smoothness=1.0 / (2.0 * half_width),
        targets=NUMBERS,
        link=link,
        is_scale_free=True,
        made_by=(smoothed_quantile, (q, half_width)),
    )


@cache
def quantile_loss(q: float) -> Loss:
    """Return the quantile loss.

    Parameters
    ----------
    q : float
        Which quantile is predicted, between 0 and 1.

    Returns
    -------
    loss : Loss
        A loss whose slope is at most the larger of q and 1 - q.

    Raises
    ------
    ValueError
        If `q` is not between 0 and 1, because the loss would then be negative, and a clip would not bound it.
    """
    _check(q)

    @compilable
    def value(prediction: float, target: float) -> float:
        residual = prediction - target
        return max((1.0 - q) * residual, -q * residual)

    @compilable
    def derivative(prediction: float, target: float) -> float:
        return 1.0 - q if prediction > target else -q

    return Loss(
        f"quantile_{q!r}",
        value,
        derivative,
        lipschitz=max(q, 1.0 - q),
        smoothness=math.inf,
        targets=NUMBERS,
        link=link,
        smooth_stand_in=smoothed_quantile(q, HALF_WIDTH),
        sharpened=lambda k: smoothed_quantile(q, HALF_WIDTH / k),
        is_scale_free=True,
        made_by=(quantile_loss, (q,)),
    )


def _check(q: float) -> None:
    if not 0.0 < q < 1.0:
        raise ValueError(f"q must lie between 0 and 1, both excluded, got {q!r}.")


MEDIAN, UPPER_DECILE = quantile_loss(0.5), quantile_loss(0.9)
SMOOTHED_MEDIAN = smoothed_quantile(0.5, HALF_WIDTH)
