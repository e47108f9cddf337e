"""What a loss is: a function of a prediction and a target, and the constants that proofs need."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.losses.targets import AMOUNTS, TWO_LABELS, Targets

Pointwise = Callable[..., Any]

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
        Of (prediction, target): the loss, and its derivative with respect to the prediction. A user writes
        them in plain Python; privfit's own are `arithmetic.compilable`. With several outputs, which privfit's
        own may have, there is an array of predictions, and the derivative is a function of
        (predictions, target, out) that writes those with respect to all predictions to `out`.
    lipschitz : float
        Largest size of the derivative, or length of the gradient; infinite if there is none.
    smoothness : float
        Largest slope of the derivative; infinite where it jumps.
    targets : Targets
        The values that a target may have.
    link : callable, optional
        Of a mean target: the constant prediction that suits it best, where a walk starts. Without one it is
        the constant with the least loss if all targets were at the two ends of their range. With several
        outputs it is a function of the mean of `Targets.summands` that returns a prediction for each output.
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
    only_differences : bool
        Whether the loss stays the same if one number is added to all predictions. Then the derivatives of
        every record add up to 0, and noise on their sum can be taken off (`without_common_part`).
    of_classes : callable, optional
        Of a number of classes: the loss that does for so many what this one does for two labels.
    second_derivative : callable, optional
        Of arrays of (slopes, predictions, targets): the second derivative with respect to the prediction,
        from the first. It uses the four basic operations alone, so that what it computes for a record does
        not depend on other records. Standard errors need it.
    """

    name: str
    value: Pointwise
    derivative: Pointwise
    lipschitz: float = math.inf
    smoothness: float = math.inf
    targets: Targets = TWO_LABELS
    link: Callable[[Any], Any] | None = None
    smooth_stand_in: Loss | None = None
    sharpened: Callable[[float], Loss] | None = field(default=None, compare=False)
    is_softplus: bool = False
    outputs: int = 1
    is_scale_free: bool = False
    made_by: tuple[Callable[..., Loss], tuple[float, ...]] | None = None
    only_differences: bool = False
    of_classes: Callable[[int], Loss] | None = field(default=None, compare=False)
    second_derivative: Callable[..., NDArray[np.float64]] | None = field(default=None, compare=False)

    def __reduce__(self) -> Any:
        return super().__reduce__() if self.made_by is None else self.made_by

    @property
    def slope_at_zero(self) -> float:
        """How steep the loss is at prediction 0, where every walk starts; of several, in the steepest."""
        if self.outputs == 1:
            return max(abs(float(self.derivative(0.0, target))) for target in self.targets.typical)
        slopes = np.empty((len(self.targets.typical), self.outputs))
        for target, out in zip(self.targets.typical, slopes, strict=True):
            self.derivative(np.zeros(self.outputs), target, out)
        return float(np.max(np.abs(slopes)))

    def weights_of(self, size: int) -> NDArray[np.float64]:
        """Return zero weights of so many columns: a vector or, with several outputs, a column for each."""
        return np.zeros(size if self.outputs == 1 else (size, self.outputs))

    @property
    def joint_slope(self) -> float:
        """How much longer than those of one output the gradients of all outputs together can be."""
        return 1.0 if self.outputs == 1 else self.lipschitz

    @property
    def free_outputs(self) -> int:
        """How many of the outputs' weights can be chosen freely."""
        return self.outputs - self.only_differences

    def without_common_part(self, gradients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a noisy gradient sum without the noise that all outputs share, where the sum has none.

        It changes no exact sum of a loss of `only_differences`, so it is post-processing that takes noise
        off. Of other losses gradients are returned as they are.
        """
        return gradients - gradients.mean(axis=1, keepdims=True) if self.only_differences else gradients

    def unit_of_weights(self, center: float, scale: float) -> tuple[float, float]:
        """Return what is taken off the intercept, and the unit of weights, for (targets - center) / scale.

        Weights of amounts are about their logarithm: another unit of amounts moves the intercept alone.
        """
        return (math.log(scale), 1.0) if self.targets == AMOUNTS else (center, scale)

    def best_constant(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the constant prediction that suits a mean target, for each output: the link at weights 0."""
        if self.outputs > 1:
            if self.link is None:
                raise ValueError(f"the loss {self.name!r} has several outputs and needs a link")
            return np.asarray(self.link(mean), dtype=np.float64)
        return np.array([self._best_number(float(mean[0]))])

    def _best_number(self, at: float) -> float:
        if self.link is not None:
            return float(self.link(at))
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
