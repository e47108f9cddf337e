"""What a loss is: a function of a prediction and a target, and the constants that proofs need."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.losses.targets import TWO_LABELS, Targets

Pointwise = Callable[..., float]

FARTHEST_CONSTANT = 20.0  # a label of which there is one in 5e8 has these log odds
CONSTANT_TOLERANCE = 1e-6  # of the best constant, which noise moves by far more


@dataclass(frozen=True)
class Loss:
    """A function of a raw prediction and a target, convex and not negative.

    Parameters
    ----------
    name : str
        By which it is found, and which names its compiled loops.
    value, derivative : callable
        Of (prediction, target): the loss, and its derivative with respect to the prediction. Both are
        `arithmetic.compilable`. With several outputs there is an array of predictions, and the derivative is
        a function of (predictions, target, out) that writes those with respect to all predictions to `out`.
    lipschitz : float
        Largest size of the derivative, or length of the gradient; infinite if there is none.
    smoothness : float
        Largest slope of the derivative; infinite where it jumps.
    targets : Targets
        The values that a target may have.
    link : callable, optional
        Of a mean target: the constant prediction that suits it best, where a walk starts. Without one it is
        the constant with the least loss if all targets were at the two ends of their range.
    smooth_stand_in : Loss, optional
        A loss near this one whose derivative does not jump, for solvers that need one.
    sharpened : callable, optional
        Of a number k: the stand-in, k times nearer to this loss.
    is_softplus : bool
        Whether the value is log(1 + exp(-target * prediction)), so that sums of losses are logarithms of
        products. That is a fast path only.
    outputs : int
        How many predictions a record has.
    is_scale_free : bool
        Whether targets are numbers that may be measured from another zero and in another unit: a solver may
        then choose both, and the loss is about residuals in that unit.
    made_by : pair, optional
        The function that made a loss with parameters, and its arguments; pickles keep these.
    """

    name: str
    value: Pointwise
    derivative: Pointwise
    lipschitz: float
    smoothness: float
    targets: Targets = TWO_LABELS
    link: Callable[[float], float] | None = None
    smooth_stand_in: Loss | None = None
    sharpened: Callable[[float], Loss] | None = None
    is_softplus: bool = False
    outputs: int = 1
    is_scale_free: bool = False
    made_by: tuple[Callable[..., Loss], tuple[float, ...]] | None = None

    def __reduce__(self) -> Any:
        return super().__reduce__() if self.made_by is None else self.made_by

    @property
    def slope_at_zero(self) -> float:
        """How steep the loss is at prediction 0, where every walk starts."""
        return max(abs(self.derivative(0.0, target)) for target in self.targets.typical)

    def best_constant(self, mean: NDArray[np.float64]) -> float:
        """Return the constant prediction that suits a mean target: the link at weights zero."""
        at = float(mean[0])
        if self.link is not None:
            return self.link(at)
        low, high = self.targets.typical
        share = (at - low) / (high - low)
        below, above = -FARTHEST_CONSTANT, FARTHEST_CONSTANT
        while above - below > CONSTANT_TOLERANCE:
            middle = 0.5 * (below + above)
            rises = share * self.derivative(middle, high) + (1.0 - share) * self.derivative(middle, low) > 0.0
            below, above = (below, middle) if rises else (middle, above)
        return 0.5 * (below + above)

    @property
    def smoothed(self) -> Loss:
        """The loss itself if it is smooth, else its stand-in."""
        if self.smoothness < math.inf:
            return self
        if self.smooth_stand_in is None:
            raise ValueError(f"the loss {self.name!r} is not smooth and has no smooth stand-in")
        return self.smooth_stand_in
