"""The numbers that private scores read from records whose targets are numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.linear_model import PoissonRegressor

from privfit.estimators.private import PrivateFit
from privfit.estimators.statement import PrivacyStatement
from privfit.estimators.validation import check_number
from privfit.metrics.applying import applied
from privfit.metrics.estimates import Estimates
from privfit.metrics.marks import Marks, between_steps, rounded
from privfit.metrics.numbers import CENTRE, NEEDED, STEPS, NumberEvaluation, number_range
from privfit.metrics.strategies import Strategy, Vector
from privfit.models.links import LOG
from privfit.models.targets import Counts, Interval

# What a record adds at the ends of a number's range, in addition to 1 for the count. A larger factor for one
# number means more noise for the others, because noise grows with the norm of all factors.
FACTORS = {"targets": 0.5, "squared_targets": 0.5, "distances": 0.5, "pinball": 0.5, "entropies": 0.5}


@dataclass(frozen=True, eq=False)
class NumberMarks(Marks):
    """Records whose targets are numbers.

    Attributes
    ----------
    bought : tuple of str
        The names of the scores.
    sums : tuple of str
        The names of the columns.
    target_bounds : pair of float
        The bounds of targets and predictions.
    quantile : float or None
        The quantile of the pinball loss.
    floor : float
        For the deviance, predictions are raised to at least this share of the upper bound.
    """

    bought: tuple[str, ...]
    sums: tuple[str, ...]
    target_bounds: tuple[float, float]
    quantile: float | None
    floor: float

    def evaluation(self, privacy: PrivacyStatement, estimates: Estimates) -> NumberEvaluation:
        """Return the scores that these estimates give."""
        return NumberEvaluation(
            privacy, estimates, self.bought, self.sums, self.target_bounds, self.quantile, self.floor
        )


def bounds_of(model: Any) -> Any:
    """Return the declared or bought target bounds of a private regressor, or None."""
    target = getattr(model, "_target", None) if isinstance(model, PrivateFit) else None
    if isinstance(target, Counts):
        return 0.0, float(target.largest)
    return (target.low, target.high) if isinstance(target, Interval) else None


def quantile_of(model: Any) -> Any:
    """Return the quantile that a regressor predicts, or None if it predicts no quantile."""
    return getattr(model, "quantile", None)


def scores_of(model: Any, quantile: Any) -> tuple[str, ...]:
    """Return the scores for a regressor, which depend on what it predicts."""
    counts = getattr(model, "_link", None) is LOG or isinstance(model, PoissonRegressor)
    return (
        "r2",
        "mean_absolute_error",
        "root_mean_squared_error",
        *([] if quantile is None else ["mean_pinball_loss"]),
        *(["mean_poisson_deviance", "d2_poisson"] if counts else []),
    )


def marked_numbers(
    model: Any,
    X: Any,
    targets: Vector,
    bought: Sequence[str],
    *,
    target_bounds: tuple[float, float],
    quantile: float | None,
    floor: float,
) -> NumberMarks:
    """Apply a regressor to records with these targets (M1).

    Targets and predictions are clipped to the bounds and mapped to [0, 1]. Predictions are rounded to steps.
    If one lies nearly between two steps, it is computed again from the record alone.
    """
    low, high = target_bounds
    if "mean_pinball_loss" in bought:
        if quantile is None:
            raise ValueError(
                "mean_pinball_loss needs to know which quantile is predicted, such as quantile=0.5."
            )
        check_number("quantile", quantile, largest=1.0)
    if {"mean_poisson_deviance", "d2_poisson"}.intersection(bought) and low < 0.0:
        raise ValueError("The Poisson deviance is of counts; let the lower of target_bounds be 0 or more.")
    sums = tuple(dict.fromkeys(name for score in bought for name in NEEDED[score]))

    def predict(model: Any, X: Any) -> Any:
        return np.clip(np.asarray(model.predict(X), dtype=np.float64), low, high)

    def unsure(predictions: Vector) -> NDArray[np.bool_]:
        lines = [_on_line(predictions, low, high)]
        if "deviances" in sums:
            lines.append(_on_logarithmic_line(predictions, high, floor))
        return np.asarray(np.any([between_steps(line, 1.0 / STEPS) for line in lines], axis=0))

    predictions = applied(predict, model, X, unsure)
    y, f = (_on_line(values, low, high) for values in (np.clip(targets, low, high), predictions))
    f = rounded(f, 1.0 / STEPS)
    columns = [np.zeros(len(y))]
    for name in sums:
        if name in ("deviances", "entropies"):
            counts = np.clip(targets, low, high) / high
            values = _of_counts(name, counts, _means(predictions, high, floor))
        else:
            values = _of_numbers(name, y, f, quantile)
        least, most = number_range(name, quantile, floor)
        columns.append(np.clip((2.0 * values - least - most) / (most - least), -1.0, 1.0))
    return NumberMarks(
        np.column_stack(columns),
        Strategy(np.ones((1, 1)), tuple(FACTORS.get(name, 1.0) if sums[1:] else 1.0 for name in sums)),
        f"the bounds of the target, {low:g} and {high:g}, are public or were released; targets and "
        "predictions beyond them count as the nearer bound",
        tuple(bought),
        sums,
        target_bounds,
        quantile,
        floor,
    )


def _on_line(values: Vector, low: float, high: float) -> Vector:
    """Return numbers between the bounds as numbers between 0 and 1."""
    line: Vector = np.clip((values - low) / (high - low), 0.0, 1.0)
    return line


def _on_logarithmic_line(predictions: Vector, high: float, floor: float) -> Vector:
    """Return predictions between floor * high and high as numbers between 0 and 1 by their logarithms."""
    line: Vector = 1.0 - np.log(np.clip(predictions / high, floor, 1.0)) / math.log(floor)
    return line


def _means(predictions: Vector, high: float, floor: float) -> Vector:
    """Return predictions of counts in units of the upper bound, rounded on the logarithmic line."""
    line = rounded(_on_logarithmic_line(predictions, high, floor), 1.0 / STEPS)
    means: Vector = np.exp(math.log(floor) * (1.0 - line))
    return means


def _of_numbers(name: str, y: Vector, f: Vector, quantile: float | None) -> Vector:
    values: Vector
    match name:
        case "targets":
            values = y
        case "squared_targets":
            values = (y - CENTRE) ** 2
        case "distances":
            values = np.abs(y - f)
        case "squares":
            values = (y - f) ** 2
        case _:
            assert quantile is not None  # because the pinball loss is bought with a quantile only
            values = np.maximum(quantile * (y - f), (quantile - 1.0) * (y - f))
    return values


def _of_counts(name: str, y: Vector, f: Vector) -> Vector:
    values: Vector = xlogy(y, y) if name == "entropies" else 2.0 * (xlogy(y, y / f) - y + f)
    return values
