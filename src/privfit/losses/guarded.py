"""Prepare a user's loss for the engine: check it, rescale it, and make it finite and non-negative."""

from __future__ import annotations

import math

from privfit.losses.arithmetic import compilable
from privfit.losses.loss import Loss
from privfit.losses.purity import fingerprint
from privfit.losses.targets import NUMBERS

_made: dict[tuple[object, ...], Loss] = {}


def unit_of(loss: Loss) -> float:
    """Return the slope at 0 of a user's loss, by which the loss is divided.

    Clips bound slopes, and the defaults of solvers assume slopes of about 1, like those of the hinge.
    """
    try:
        slope = loss.slope_at_zero
    except (ArithmeticError, ValueError):
        slope = math.nan
    if not 1e-100 <= slope <= 1e100:
        raise ValueError(
            f"The loss {loss.name!r} must have a derivative at prediction 0 that is a finite number for "
            "every target, and not 0 for all of them."
        )
    return slope


def guarded(loss: Loss) -> Loss:
    """Return a user's loss with functions that the engine may compile.

    Sensitivities do not depend on the loss, because solvers that accept it clip each record's gradient and
    loss. For this to hold, value and derivative must be functions of their arguments alone (`purity`). Values
    that are not finite count as 0, and so do negative losses.

    Parameters
    ----------
    loss : Loss
        A loss with one output, whose functions are written in Python.

    Returns
    -------
    loss : Loss
        The same loss divided by `unit_of`. Its name holds a digest of its functions, so that cached loops of
        another version are never used for it. Equal losses give the same object.

    Raises
    ------
    ValueError
        If a function uses something that is not allowed, or the loss has several outputs.
    """
    if loss.outputs != 1:
        raise ValueError(f"The loss {loss.name!r} must have one output; several are for losses of privfit.")
    for name in ("lipschitz", "smoothness"):
        constant = getattr(loss, name)
        if not (isinstance(constant, int | float) and constant >= 1e-100):
            raise ValueError(f"{name} of the loss {loss.name!r} must be a positive number, or infinite.")
    prints = [
        fingerprint(function, f"{what} of the loss {loss.name!r}")
        for what, function in (("value", loss.value), ("derivative", loss.derivative))
    ]
    unit = unit_of(loss)
    key = (*prints, unit, loss.lipschitz, loss.smoothness, loss.targets, loss.link, loss.is_scale_free)
    if key not in _made:
        _made[key] = _compilable(loss, unit, "_".join(prints))
    return _made[key]


def _compilable(loss: Loss, unit: float, digest: str) -> Loss:
    value, derivative = compilable(loss.value), compilable(loss.derivative)

    @compilable
    def guarded_value(prediction: float, target: float) -> float:
        found = float(value(prediction, target)) / unit
        return found if 0.0 <= found < math.inf else 0.0

    @compilable
    def guarded_derivative(prediction: float, target: float) -> float:
        found = float(derivative(prediction, target)) / unit
        return found if abs(found) < math.inf else 0.0

    return Loss(
        f"user_{digest}",
        guarded_value,
        guarded_derivative,
        lipschitz=loss.lipschitz / unit,
        smoothness=loss.smoothness / unit,
        targets=NUMBERS if loss.is_scale_free else loss.targets,
        link=loss.link,
        is_scale_free=loss.is_scale_free,
    )
