"""The class of losses: functions of a prediction and a target, with the constants that proofs need."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.losses.targets import AMOUNTS, TWO_LABELS, Targets

Pointwise = Callable[..., Any]

FARTHEST_CONSTANT = 20.0  # the log odds of a label that one in 5e8 records has
CONSTANT_TOLERANCE = 1e-6  # of the best constant; noise changes it by far more


@dataclass(frozen=True)
class Loss:
    """A function of a raw prediction and a target, convex and not negative.

    Parameters
    ----------
    name : str
        The name of the loss, and of its compiled loops.
    value, derivative : callable
        Functions of (prediction, target) that return the loss, and its derivative with respect to the
        prediction. Users write them in plain Python; privfit's own are `arithmetic.compilable`. Losses with
        several outputs, which are privfit's own only, take an array of predictions. Their derivative is a
        function of (predictions, target, out) that writes the derivatives with respect to all predictions to
        `out`.
    lipschitz : float
        The largest absolute derivative, or gradient norm; infinite if there is none.
    smoothness : float
        The largest slope of the derivative; infinite if the derivative jumps.
    targets : Targets
        The values that a target may have.
    link : callable, optional
        Returns the best constant prediction for a given mean target, from which descent starts. By default
        this is the constant with the least loss if all targets were at the two ends of their range. With
        several outputs, the function takes the mean of `Targets.summands` and returns a prediction for each
        output.
    smooth_stand_in : Loss, optional
        A similar loss whose derivative does not jump, for solvers that need a smooth loss.
    sharpened : callable, optional
        Returns, for a number k, a stand-in that is k times nearer to this loss.
    is_softplus : bool
        Whether the value is log(1 + exp(-target * prediction)). Sums of losses are then computed as
        logarithms of products, which is faster.
    outputs : int
        The number of predictions for each record.
    is_scale_free : bool
        Whether the targets are numbers whose zero and unit a solver may choose. The loss is then a function
        of residuals in that unit.
    made_by : pair, optional
        The function that made a loss with parameters, and its arguments; pickles keep these.
    only_differences : bool
        Whether the loss stays the same if one number is added to all predictions. The derivatives of every
        record then add up to 0, so noise in their sum can be removed (`without_common_part`).
    of_classes : callable, optional
        Returns, for a number of classes, the loss of several classes that corresponds to this one.
    second_derivative : callable, optional
        A function of arrays (slopes, predictions, targets) that returns the second derivatives with respect
        to the predictions. It uses additions, subtractions, multiplications and divisions only, so that the
        result for a record does not depend on other records. Standard errors need it.
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
        """The largest absolute derivative at prediction 0, over all typical targets and all outputs."""
        if self.outputs == 1:
            return max(abs(float(self.derivative(0.0, target))) for target in self.targets.typical)
        slopes = np.empty((len(self.targets.typical), self.outputs))
        for target, out in zip(self.targets.typical, slopes, strict=True):
            self.derivative(np.zeros(self.outputs), target, out)
        return float(np.max(np.abs(slopes)))

    def weights_of(self, size: int) -> NDArray[np.float64]:
        """Return zero weights for this many columns: a vector, or a matrix with a column for each output."""
        return np.zeros(size if self.outputs == 1 else (size, self.outputs))

    @property
    def joint_slope(self) -> float:
        """How much longer the gradient of all outputs together can be than that of one output."""
        return 1.0 if self.outputs == 1 else self.lipschitz

    @property
    def free_outputs(self) -> int:
        """How many of the outputs' weights can be chosen freely."""
        return self.outputs - self.only_differences

    def without_common_part(self, gradients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a noisy gradient sum without the noise that all outputs share.

        If `only_differences`, the exact sum has mean 0 over the outputs, so subtracting the mean is
        post-processing that removes only noise. For other losses the gradients are returned unchanged.
        """
        return gradients - gradients.mean(axis=1, keepdims=True) if self.only_differences else gradients

    def unit_of_weights(self, center: float, scale: float) -> tuple[float, float]:
        """Return the shift of the intercept and the unit of weights for targets (targets - center) / scale.

        A model of amounts predicts their logarithm, so another unit of amounts changes the intercept alone.
        """
        return (math.log(scale), 1.0) if self.targets == AMOUNTS else (center, scale)

    def best_constant(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the best constant prediction for a mean target, one for each output."""
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
