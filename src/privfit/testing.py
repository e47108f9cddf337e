"""Tests of losses that users write: convexity, the derivative, and the constants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privfit.losses import Loss
from privfit.losses.guarded import guarded

Vector = NDArray[np.float64]

PREDICTIONS = np.unique(np.concatenate([np.linspace(-30.0, 30.0, 601), np.linspace(-2.0, 2.0, 161)]))
EXTREMES = np.array([-1e100, -1e10, -1e3, 1e3, 1e10, 1e100])
MOST_TARGETS = 9  # the largest number of targets that are tried if targets are numbers in an interval
TOLERANCE = 1e-6  # relative error that counts as rounding
EXTRA_RECORDS = 67  # more than a tile of the engine's loops, and not a multiple of any vector length


def check_loss(loss: Loss) -> None:
    """Test whether `DPLinearClassifier` and `DPLinearRegressor` can use a loss.

    The loss must be convex and not negative, `derivative` must be the derivative of `value`, the constants
    must be bounds, and both functions must depend on one record alone. A wrong derivative or constant makes
    models less accurate, but never less private, because no sensitivity depends on what users write.

    Parameters
    ----------
    loss : Loss
        A loss whose `value` and `derivative` are functions of (prediction, target).

    Raises
    ------
    ValueError
        If the loss is wrong; the message says what is wrong, and at which prediction and target.

    Examples
    --------
    >>> from privfit.losses import Loss
    >>> from privfit.testing import check_loss
    >>> def value(prediction, target):
    ...     return (prediction - target) ** 2
    >>> def derivative(prediction, target):
    ...     return prediction - target
    >>> check_loss(Loss("square", value, derivative))
    Traceback (most recent call last):
    ...
    ValueError: The loss 'square' is wrong: at prediction -30 and target -1 its derivative is -29, but ...
    """
    compiled = guarded(loss)  # raises ValueError unless both depend on one record alone
    for target in _targets(loss):
        for wrong in _Curve(loss, target).faults():
            raise ValueError(f"The loss {loss.name!r} is wrong: {wrong}.")
    for wrong in _differences(compiled, _targets(loss)):
        raise ValueError(f"The loss {loss.name!r} is wrong: {wrong}.")


def _targets(loss: Loss) -> list[float]:
    """Return the targets at which to test: the typical ones and, for an interval, some in between."""
    typical = sorted(loss.targets.typical)
    between = np.linspace(typical[0], typical[-1], MOST_TARGETS).tolist()
    return [*typical, *(t for t in between if t not in typical and loss.targets.hold(np.array([t])))]


@dataclass(frozen=True)
class _Curve:
    """A loss as a function of the prediction, for one target, computed by Python."""

    loss: Loss
    target: float

    def values(self, predictions: Vector) -> Vector:
        return self._computed(self.loss.value, predictions)

    def slopes(self, predictions: Vector) -> Vector:
        return self._computed(self.loss.derivative, predictions)

    def _computed(self, function: object, predictions: Vector) -> Vector:
        """Return a number for every prediction, or NaN if the function raises an error."""
        assert callable(function)
        found = np.full(len(predictions), np.nan)
        for i, prediction in enumerate(predictions.tolist()):
            try:
                found[i] = function(prediction, self.target)
            except (ArithmeticError, ValueError):
                continue
        return found

    def at(self, prediction: float) -> str:
        """Return the prediction and the target in words."""
        return f"at prediction {prediction:g} and target {self.target:g}"

    def faults(self) -> Iterator[str]:
        """Yield what is wrong; faults that may cause others come first."""
        yield from self._numbers()
        values, slopes = self.values(PREDICTIONS), self.slopes(PREDICTIONS)
        ways = np.diff(PREDICTIONS)
        rises, bends = np.diff(values), np.diff(slopes)
        for i in np.flatnonzero(bends < -TOLERANCE * (1.0 + np.abs(slopes[1:]))):
            yield f"{self.at(PREDICTIONS[i])} its derivative falls, so that it is not convex"
        # between two points a convex function rises at a rate between the slopes at both ends, even at a kink
        slack = TOLERANCE * (1.0 + np.abs(values[1:]))
        for i in np.flatnonzero((rises < slopes[:-1] * ways - slack) | (rises > slopes[1:] * ways + slack)):
            yield (
                f"{self.at(PREDICTIONS[i])} its derivative is {slopes[i]:g}, but its value rises by "
                f"{rises[i] / ways[i]:g} for each unit of the prediction"
            )
        for i in np.flatnonzero(np.abs(slopes) > self.loss.lipschitz * (1.0 + TOLERANCE)):
            yield f"{self.at(PREDICTIONS[i])} its derivative is {slopes[i]:g}, beyond its lipschitz constant"
        for i in np.flatnonzero(bends > self.loss.smoothness * ways + TOLERANCE * (1.0 + np.abs(slopes[1:]))):
            yield (
                f"{self.at(PREDICTIONS[i])} its derivative rises by {bends[i] / ways[i]:g} for each unit of "
                "the prediction, beyond its smoothness constant"
            )

    def _numbers(self) -> Iterator[str]:
        everywhere = np.concatenate([PREDICTIONS, EXTREMES])
        for what, found in (("value", self.values(everywhere)), ("derivative", self.slopes(everywhere))):
            for i in np.flatnonzero(~np.isfinite(found)):
                yield f"{self.at(everywhere[i])} its {what} is no finite number, and would count as 0"
            for i in np.flatnonzero(found < 0.0) if what == "value" else ():
                yield f"{self.at(everywhere[i])} its value is negative, and would count as 0"


def _differences(compiled: Loss, targets: list[float]) -> Iterator[str]:
    """Yield a fault if a record's result is not the same alone and among other records."""
    from privfit.engine.kernels.pointwise import loops  # imported late: it needs numba

    predictions = [*PREDICTIONS[::37], *EXTREMES, np.nan, np.inf, -np.inf]
    records = np.array([(p, t) for p in predictions for t in targets])
    rng = np.random.default_rng(0)
    for what, loop in (("value", loops(compiled).values), ("derivative", loops(compiled).derivatives)):
        alone = np.empty(len(records))
        for i, (prediction, target) in enumerate(records):
            loop(np.array([prediction]), np.array([target]), alone[i : i + 1])
        order = rng.permutation(np.resize(np.arange(len(records)), len(records) + EXTRA_RECORDS))
        among = np.empty(len(order))
        loop(records[order, 0].copy(), records[order, 1].copy(), among)
        if among.tobytes() != alone[order].tobytes():
            yield f"the {what} of a record depends on the records around it"
        if not np.isfinite(alone).all():
            yield f"its {what} is no finite number at a prediction that is not finite"
