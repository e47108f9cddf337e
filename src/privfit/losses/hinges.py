"""A hinge loss for each of several classes, one against the rest, and their sum as a single loss."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from privfit.losses import smoothed_hinge
from privfit.losses.arithmetic import compilable
from privfit.losses.loss import Loss
from privfit.losses.targets import Classes

Vector = NDArray[np.float64]

smooth_value, smooth_derivative = smoothed_hinge.value, smoothed_hinge.derivative


@compilable
def value(predictions: Vector, target: float) -> float:
    """Return the sum of the hinges of all predictions, the target's class being positive."""
    total = 0.0
    for k in range(len(predictions)):
        total += max(1.0 - (predictions[k] if k == target else -predictions[k]), 0.0)
    return total


@compilable
def derivative(predictions: Vector, target: float, out: Vector) -> None:
    """Write the derivative of each hinge to `out`."""
    for k in range(len(predictions)):
        sign = 1.0 if k == target else -1.0
        out[k] = -sign if sign * predictions[k] < 1.0 else 0.0


@compilable
def smoothed_value(predictions: Vector, target: float) -> float:
    """Return the sum of the smoothed hinges."""
    total = 0.0
    for k in range(len(predictions)):
        total += smooth_value(predictions[k], 1.0 if k == target else -1.0)
    return total


@compilable
def smoothed_derivative(predictions: Vector, target: float, out: Vector) -> None:
    """Write the derivative of each smoothed hinge to `out`."""
    for k in range(len(predictions)):
        out[k] = smooth_derivative(predictions[k], 1.0 if k == target else -1.0)


def link(shares: Vector) -> Vector:
    """Return the mean target of each class, from -1 to 1, so that the largest class has the largest.

    As a function of a constant prediction, the mean hinge loss is a line from -1 to 1. If no class has a
    majority, its minimum is at -1 for all classes. Then all predictions would be equal, and no class could be
    predicted.
    """
    return 2.0 * shares - 1.0


@functools.cache
def smoothed_hinges(classes: int) -> Loss:
    """Return the sum of smoothed hinges of so many classes."""
    return Loss(
        f"smoothed_hinges_{classes}",
        smoothed_value,
        smoothed_derivative,
        lipschitz=math.sqrt(classes),
        smoothness=smoothed_hinge.SMOOTHED_HINGE.smoothness,
        targets=Classes(classes),
        link=link,
        outputs=classes,
    )


@functools.cache
def sharpened(classes: int, k: float) -> Loss:
    """Return the sum of smoothed hinges with parabolas k times as narrow."""
    sharp = smoothed_hinge.sharpened(k)
    sharp_value, sharp_derivative = sharp.value, sharp.derivative

    @compilable
    def value(predictions: Vector, target: float) -> float:
        total = 0.0
        for j in range(len(predictions)):
            total += sharp_value(predictions[j], 1.0 if j == target else -1.0)
        return total

    @compilable
    def derivative(predictions: Vector, target: float, out: Vector) -> None:
        for j in range(len(predictions)):
            out[j] = sharp_derivative(predictions[j], 1.0 if j == target else -1.0)

    return Loss(
        f"smoothed_hinges_{classes}_{k:g}",
        value,
        derivative,
        lipschitz=math.sqrt(classes),
        smoothness=sharp.smoothness,
        targets=Classes(classes),
        link=link,
        outputs=classes,
    )


@functools.cache
def hinges(classes: int) -> Loss:
    """Return the sum of hinges of so many classes; the same object each time, so its loops compile once."""
    return Loss(
        f"hinges_{classes}",
        value,
        derivative,
        lipschitz=math.sqrt(classes),
        smoothness=math.inf,
        targets=Classes(classes),
        link=link,
        smooth_stand_in=smoothed_hinges(classes),
        sharpened=functools.partial(sharpened, classes),
        outputs=classes,
    )


# registered, so that the tests of all losses cover them
SMOOTHED_HINGES, HINGES = smoothed_hinges(3), hinges(3)
