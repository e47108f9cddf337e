"""The softmax loss: minus the logarithm of the probability of a record's class, for any number of classes."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from privfit.losses.arithmetic import LN2_HIGH, LN2_LOW, compilable, exp, log1p_unit
from privfit.losses.loss import Loss
from privfit.losses.targets import Classes

LN2 = LN2_HIGH + LN2_LOW


@compilable
def value(predictions: NDArray[np.float64], target: float) -> float:
    """Return the logarithm of the sum of exp(prediction), less the prediction of the target's class."""
    first = 0
    for k in range(1, len(predictions)):
        if predictions[k] > predictions[first]:
            first = k
    rest = 0.0  # the sum without its largest term, relative to this term
    for k in range(len(predictions)):
        if k != first:
            rest += exp(predictions[k] - predictions[first])
    halvings = 0.0
    while rest > 1.0:  # log(1 + rest) = log 2 + log((1 + rest) / 2)
        rest = 0.5 * rest - 0.5
        halvings += 1.0
    return halvings * LN2 + log1p_unit(rest) + float(predictions[first] - predictions[int(target)])


@compilable
def derivative(predictions: NDArray[np.float64], target: float, out: NDArray[np.float64]) -> None:
    """Write the probabilities of the classes to `out`, less 1 for the target's class."""
    top, total = predictions[0], 0.0
    for k in range(1, len(predictions)):
        top = max(top, predictions[k])
    for k in range(len(predictions)):
        out[k] = exp(predictions[k] - top)
        total += out[k]
    for k in range(len(predictions)):
        out[k] = out[k] / total - (1.0 if k == target else 0.0)


def link(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithms of the classes' shares, less their mean."""
    logarithms = np.log(shares)
    centred: NDArray[np.float64] = logarithms - logarithms.mean()
    return centred


@functools.cache
def softmax(classes: int) -> Loss:
    """Return the softmax loss of so many classes; the same object each time, so its loops compile once.

    The derivative is p - e_y, whose length is below the root of 2. The matrix of second derivatives is
    diag(p) - pp', which is at most 1/2 (I - 11'/K).
    """
    return Loss(
        f"softmax_{classes}",
        value,
        derivative,
        lipschitz=math.sqrt(2.0),
        smoothness=0.5,
        targets=Classes(classes),
        link=link,
        outputs=classes,
        only_differences=True,
    )


def is_softmax(loss: Loss) -> bool:
    """Return whether a loss is the softmax of several classes, whose second derivatives are diag(p) - pp'."""
    return loss.outputs > 1 and loss == softmax(loss.outputs)


SOFTMAX = softmax(3)  # registered, so that the tests of all losses cover it
