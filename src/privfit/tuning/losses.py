"""Losses of fitted models on held-out records, as shares of a public range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from privfit.estimators.base import DPLinearModel
from privfit.estimators.targets import number_column
from privfit.estimators.validation import shown
from privfit.metrics.applying import applied
from privfit.metrics.class_marks import marked_classes
from privfit.metrics.classes import BRIER, MOST_IN_A_MATRIX, log_loss_range
from privfit.metrics.held_out import HeldOut
from privfit.metrics.marks import AGREEMENT, between_steps, rounded
from privfit.metrics.number_marks import bounds_of, marked_numbers, quantile_of
from privfit.metrics.numbers import number_range
from privfit.models.links import LOG
from privfit.remedies import remedy

Vector = NDArray[np.float64]

LARGEST_HINGE = 2.0  # hinge losses are clipped to this, the loss of a margin of -1
HINGE_STEP = 2.0**-10
OF_CLASSES = ("log_loss", "brier_score", "hinge_loss", "zero_one_loss")
# losses of numbers: the name of the score and of the sum in `metrics`
OF_NUMBERS = {
    "mean_absolute_error": ("mean_absolute_error", "distances"),
    "mean_squared_error": ("root_mean_squared_error", "squares"),
    "mean_pinball_loss": ("mean_pinball_loss", "pinball"),
    "mean_poisson_deviance": ("mean_poisson_deviance", "deviances"),
}
# The norm to which the differences of a record's losses from their mean are clipped, as a share of the range.
CLIPS = {
    "log_loss": 0.1,
    "brier_score": 0.1,
    "hinge_loss": 0.2,
    "zero_one_loss": 0.5,
    "mean_absolute_error": 0.05,
    "mean_squared_error": 0.02,
    "mean_pinball_loss": 0.05,
    "mean_poisson_deviance": 0.05,
}


@dataclass(frozen=True, eq=False)
class Losses:
    """Losses of several models on held-out records.

    Attributes
    ----------
    shares : array of shape (n_records, n_models)
        As shares of the range, between 0 and 1.
    low, high : float
        The ends of the range, in the units of the loss.
    """

    shares: Vector
    low: float
    high: float


def check_scoring(scoring: Any, estimator: DPLinearModel) -> str:
    """Return the loss by which models are compared: the named one or, by default, that of their kind."""
    classes = is_classifier(estimator)
    offered = OF_CLASSES if classes else tuple(OF_NUMBERS)
    if classes and not hasattr(estimator, "predict_proba"):
        offered = ("hinge_loss", "zero_one_loss")
    others = {"mean_pinball_loss"} if quantile_of(estimator) is None else set()
    others |= set() if estimator._link is LOG else {"mean_poisson_deviance"}
    offered = tuple(name for name in offered if name not in others)
    if scoring is not None:
        if scoring not in offered:
            raise ValueError(
                f"{remedy('scoring', '--scoring')} of {estimator._noun} must be one of {', '.join(offered)}, "
                f"got {shown(scoring)}."
            )
        return str(scoring)
    if classes:
        return offered[0]
    if "mean_pinball_loss" in offered:
        return "mean_pinball_loss"
    if "mean_poisson_deviance" in offered:
        return "mean_poisson_deviance"
    return "mean_squared_error" if estimator._kind == "linear" else "mean_absolute_error"


def losses_of(
    models: Sequence[DPLinearModel], held: HeldOut, scoring: str, *, log_loss_clip: float
) -> Losses:
    """Apply fitted models to held-out records; each result depends on its record alone (M1)."""
    if scoring in OF_NUMBERS:
        return _of_numbers(models, held, scoring, log_loss_clip)
    numbers, _ = held.classes(np.asarray(models[0].classes_))
    if scoring == "hinge_loss":
        hinges = [_hinges(model, held.X, numbers) for model in models]
        return Losses(np.column_stack(hinges), 0.0, LARGEST_HINGE)
    marks = [
        marked_classes(model, held.X, numbers, (), curves=True, clip=log_loss_clip, known="").columns
        for model in models
    ]
    if scoring == "zero_one_loss":
        return Losses(
            np.column_stack([_wrong(columns[:, 0], numbers, len(models[0].classes_)) for columns in marks]),
            0.0,
            1.0,
        )
    column, (low, high) = (1, log_loss_range(log_loss_clip)) if scoring == "log_loss" else (2, BRIER)
    return Losses(np.column_stack([(columns[:, column] + 1.0) / 2.0 for columns in marks]), low, high)


def _wrong(cells: Vector, numbers: NDArray[np.intp], n_classes: int) -> Vector:
    """Return 1 where a cell of `marked_classes` says that the predicted class is not the true one."""
    wrong = cells % n_classes != numbers if n_classes <= MOST_IN_A_MATRIX else cells % 2.0 == 0.0
    return np.asarray(wrong, dtype=np.float64)


def _of_numbers(models: Sequence[DPLinearModel], held: HeldOut, scoring: str, floor: float) -> Losses:
    """Compare predictions within the widest bounds of the target that the fits declared or bought."""
    lows, highs = zip(*(bounds_of(model) for model in models), strict=True)
    low, high = float(min(lows)), float(max(highs))
    quantile = quantile_of(models[0])
    bought, sums = OF_NUMBERS[scoring]
    targets = number_column(held.y)
    shares = [
        marked_numbers(
            model, held.X, targets, (bought,), target_bounds=(low, high), quantile=quantile, floor=floor
        ).columns[:, 1]
        for model in models
    ]
    unit = {"squares": (high - low) ** 2, "deviances": high}.get(sums, high - low)
    least, most = number_range(sums, quantile, floor)
    return Losses((np.column_stack(shares) + 1.0) / 2.0, unit * least, unit * most)


def _hinges(model: DPLinearModel, X: Any, numbers: NDArray[np.intp]) -> Vector:
    """Return max(0, 1 - margin), clipped and rounded, as a share of the largest allowed value.

    The margin of a record is half the difference between the score of its class and the best other score.
    With two classes it is the score itself, with the sign of the class.
    """
    k = len(model.classes_)

    def losses(scores: Vector) -> Vector:
        if k == 2:
            margins = np.where(numbers == 1, 1.0, -1.0) * scores
        else:
            rows = np.arange(len(numbers))
            others = scores.copy()
            others[rows, numbers] = -np.inf
            margins = (scores[rows, numbers] - others.max(axis=1)) / 2.0
        hinges: Vector = np.clip((1.0 - margins) / LARGEST_HINGE, 0.0, 1.0)
        return hinges

    def unsure(scores: Vector) -> NDArray[np.bool_]:
        return between_steps(losses(scores), HINGE_STEP, AGREEMENT)

    def decide(model: Any, X: Any) -> Any:
        return model.decision_function(X)

    found = applied(decide, model, X, unsure, columns=None if k == 2 else k)
    return rounded(losses(found), HINGE_STEP)
