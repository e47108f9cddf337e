"""Huber's loss: a parabola for small residuals and a straight line for large ones."""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from privfit.losses.arithmetic import compilable
from privfit.losses.loss import Loss
from privfit.losses.squared import link
from privfit.losses.targets import NUMBERS

TAU = 1.345  # in standard deviations; with Gaussian residuals the estimate is then 95% efficient


@cache
def huber(tau: float) -> Loss:
    """Return the loss with half the squared residual up to `tau`, and a line of slope `tau` beyond.

    It is cached, so that equal settings share their compiled loops.

    Parameters
    ----------
    tau : float
        The residual above which the loss is a line; positive.

    Returns
    -------
    loss : Loss
        A loss whose slope is at most `tau`.

    Raises
    ------
    ValueError
        If `tau` is not positive, because the loss would then be negative, and a clip would not bound it.
    """
    if not 0.0 < tau < math.inf:
        raise ValueError(f"tau must be a positive number, got {tau!r}.")

    @compilable
    def value(prediction: float, target: float) -> float:
        size = abs(prediction - target)
        inner = min(size, tau)
        return inner * (size - 0.5 * inner)

    @compilable
    def derivative(prediction: float, target: float) -> float:
        return min(max(prediction - target, -tau), tau)

    def second_derivative(
        slopes: NDArray[np.float64], predictions: NDArray[np.float64], targets: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return (np.abs(slopes) < tau).astype(np.float64)

    return Loss(
        f"huber_{tau!r}",
        value,
        derivative,
        lipschitz=tau,
        smoothness=1.0,
        targets=NUMBERS,
        link=link,
        is_scale_free=True,
        made_by=(huber, (tau,)),
        second_derivative=second_derivative,
    )


HUBER = huber(TAU)
