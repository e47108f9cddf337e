"""What a loss is: a function of a prediction and a target, and the constants that proofs need."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

Pointwise = Callable[..., float]


@dataclass(frozen=True)
class Loss:
    """A function of a raw prediction and a target, convex and not negative.

    Parameters
    ----------
    name : str
        By which it is found, and which names its compiled loops.
    value, derivative : callable
        Of (prediction, target): the loss, and its derivative with respect to the prediction. Both are
        `arithmetic.compilable`. With several outputs there is an array of predictions, and the derivative
        is that of (predictions, target, output) with respect to the prediction of this number.
    lipschitz : float
        Largest size of the derivative, or length of the gradient; infinite if there is none.
    smoothness : float
        Largest slope of the derivative; infinite where it jumps.
    targets : tuple of float
        The values that a target may have.
    smooth_stand_in : Loss, optional
        A loss near this one whose derivative does not jump, for solvers that need one.
    sharpened : callable, optional
        Of a number k: the stand-in, k times nearer to this loss.
    is_softplus : bool
        Whether the value is log(1 + exp(-target * prediction)), so that sums of losses are logarithms of
        products. That is a fast path only.
    outputs : int
        How many predictions a record has.
    """

    name: str
    value: Pointwise
    derivative: Pointwise
    lipschitz: float
    smoothness: float
    targets: tuple[float, ...] = (-1.0, 1.0)
    smooth_stand_in: Loss | None = None
    sharpened: Callable[[float], Loss] | None = None
    is_softplus: bool = False
    outputs: int = 1

    @property
    def slope_at_zero(self) -> float:
        """How steep the loss is at prediction 0, where every walk starts."""
        return max(abs(self.derivative(0.0, target)) for target in self.targets)

    @property
    def smoothed(self) -> Loss:
        """The loss itself if it is smooth, else its stand-in."""
        if self.smoothness < math.inf:
            return self
        if self.smooth_stand_in is None:
            raise ValueError(f"the loss {self.name!r} is not smooth and has no smooth stand-in")
        return self.smooth_stand_in
