"""Tests of what a user writes: whether a loss is convex, has its own derivative, and keeps its constants."""

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
MOST_TARGETS = 9  # of an interval
SLACK = 1e-6  # relative error that is forgiven as rounding
ROWS = 67  # more than a tile of the engine, and a multiple of no vector's length


def check_loss(loss: Loss) -> None:
    """Test whether a loss is fit for `DPLinearClassifier` or `DPLinearRegressor`.

    It must be convex and not negative, the derivative must be that of the value, the constants must be
    bounds, and value and derivative must be functions of one record alone. A wrong derivative or constant
    costs accuracy, never privacy: no price rests on what you wrote.

    Parameters
    ----------
    loss : Loss
        With `value` and `derivative`, functions of (prediction, target).

    Raises
    ------
    ValueError
        With a sentence that says what is wrong, and at which prediction and target.

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
    compiled = guarded(loss)  # refuses what is no function of one record
    for target in _targets(loss):
        for wrong in _Curve(loss, target).faults():
            raise ValueError(f"The loss {loss.name!r} is wrong: {wrong}.")
    for wrong in _differences(compiled, _targets(loss)):
        raise ValueError(f"The loss {loss.name!r} is wrong: {wrong}.")


def _targets(loss: Loss) -> list[float]:
    """Return targets at which to test: the typical ones and, of an interval, some in between."""
    typical = sorted(loss.targets.typical)
    between = np.linspace(typical[0], typical[-1], MOST_TARGETS).tolist()
    return [*typical, *(t for t in between if t not in typical and loss.targets.hold(np.array([t])))]


@dataclass(frozen=True)
class _Curve:
    """A loss as a function of the prediction, at one target, as Python computes it."""

    loss: Loss
    target: float

    def values(self, predictions: Vector) -> Vector:
        return self._computed(self.loss.value, predictions)

    def slopes(self, predictions: Vector) -> Vector:
        return self._computed(self.loss.derivative, predictions)

    def _computed(self, function: object, predictions: Vector) -> Vector:
        """Return a number for every prediction, NaN where Python raises."""
        assert callable(function)
        found = np.full(len(predictions), np.nan)
        for i, prediction in enumerate(predictions.tolist()):
            try:
                found[i] = function(prediction, self.target)
            except (ArithmeticError, ValueError):
                continue
        return found

    def at(self, prediction: float) -> str:
        """Name a place."""
        return f"at prediction {prediction:g} and target {self.target:g}"

    def faults(self) -> Iterator[str]:
        """Yield what is wrong, what explains the rest first."""
        yield from self._numbers()
        values, slopes = self.values(PREDICTIONS), self.slopes(PREDICTIONS)
        ways = np.diff(PREDICTIONS)
        rises, bends = np.diff(values), np.diff(slopes)
        for i in np.flatnonzero(bends < -SLACK * (1.0 + np.abs(slopes[1:]))):
            yield f"{self.at(PREDICTIONS[i])} its derivative falls, so that it is not convex"
        # of a convex function, what it rises by lies between the slopes at both ends, kinks or not
        slack = SLACK * (1.0 + np.abs(values[1:]))
        for i in np.flatnonzero((rises < slopes[:-1] * ways - slack) | (rises > slopes[1:] * ways + slack)):
            yield (
                f"{self.at(PREDICTIONS[i])} its derivative is {slopes[i]:g}, but its value rises by "
                f"{rises[i] / ways[i]:g} for each unit of the prediction"
            )
        for i in np.flatnonzero(np.abs(slopes) > self.loss.lipschitz * (1.0 + SLACK)):
            yield f"{self.at(PREDICTIONS[i])} its derivative is {slopes[i]:g}, beyond its lipschitz constant"
        for i in np.flatnonzero(bends > self.loss.smoothness * ways + SLACK * (1.0 + np.abs(slopes[1:]))):
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
    """Yield where a record by itself and among others is computed differently."""
    from privfit.engine.kernels.pointwise import loops  # imported late: it needs numba

    predictions = [*PREDICTIONS[::37], *EXTREMES, np.nan, np.inf, -np.inf]
    records = np.array([(p, t) for p in predictions for t in targets])
    rng = np.random.default_rng(0)
    for what, loop in (("value", loops(compiled).values), ("derivative", loops(compiled).derivatives)):
        alone = np.empty(len(records))
        for i, (prediction, target) in enumerate(records):
            loop(np.array([prediction]), np.array([target]), alone[i : i + 1])
        order = rng.permutation(np.resize(np.arange(len(records)), len(records) + ROWS))
        among = np.empty(len(order))
        loop(records[order, 0].copy(), records[order, 1].copy(), among)
        if among.tobytes() != alone[order].tobytes():
            yield f"the {what} of a record depends on the records around it"
        if not np.isfinite(alone).all():
            yield f"its {what} is no finite number at a prediction that is none"
