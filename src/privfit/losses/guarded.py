"""A loss that a user wrote, as the engine takes it: checked, in one unit, finite and not negative."""

from __future__ import annotations

import math

from privfit.losses.arithmetic import compilable
from privfit.losses.loss import Loss
from privfit.losses.purity import fingerprint
from privfit.losses.targets import NUMBERS

_made: dict[tuple[object, ...], Loss] = {}


def unit_of(loss: Loss) -> float:
    """Return what a user's loss is divided by: its slope at 0, so that clips mean what they do for the hinge.

    A clip bounds slopes, and the defaults of solvers are made for slopes of about 1.
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

    A price never rests on it: solvers that take it clip each record's gradient and loss. So that this holds,
    value and derivative must be functions of their arguments alone (`purity`); what is no finite number
    counts as 0, and so does a negative loss.

    Parameters
    ----------
    loss : Loss
        Of one output, with functions written in Python.

    Returns
    -------
    loss : Loss
        The same loss divided by `unit_of`. Its name has a digest of its functions, so that compiled loops of
        another version are not taken for its own. Equal losses give the same object.

    Raises
    ------
    ValueError
        If a function uses what it may not, or the loss has several outputs.
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
