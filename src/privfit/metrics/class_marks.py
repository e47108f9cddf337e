"""The numbers that private scores read from records of several classes: predicted class and losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.estimators.statement import PrivacyStatement
from privfit.metrics.applying import applied
from privfit.metrics.classes import (
    BRIER,
    LOSS_STEP,
    MOST_IN_A_MATRIX,
    ClassEvaluation,
    check_bought,
    log_loss_range,
)
from privfit.metrics.estimates import Estimates
from privfit.metrics.label_marks import gives_probabilities
from privfit.metrics.marks import AGREEMENT, Marks, between_steps, rounded
from privfit.metrics.strategies import Strategy, Vector

# a record adds this to each count: of all records, of correct predictions, of its class, of its cell
SHARE_OF_COUNTS = 0.5
SHARE_OF_LOSSES = 0.5  # a record adds this for the largest log loss, and for the largest Brier score
# If logarithms of probabilities differ by `AGREEMENT`, a Brier score differs by at most four times as much.
LOSS_AGREEMENT = 4.0 * AGREEMENT


@dataclass(frozen=True, eq=False)
class ClassMarks(Marks):
    """Records of several classes.

    Attributes
    ----------
    classes : tuple
        The labels.
    has_losses : bool
        Whether log loss and Brier score are among the numbers.
    gives_probabilities : bool
        Whether the model gives probabilities.
    log_loss_clip : float
        Probabilities are clipped to this distance from 0 and 1 for the log loss.
    """

    classes: tuple[Any, ...]
    has_losses: bool
    gives_probabilities: bool
    log_loss_clip: float

    def evaluation(self, privacy: PrivacyStatement, estimates: Estimates) -> ClassEvaluation:
        """Return the scores that these estimates give."""
        return ClassEvaluation(
            privacy, estimates, self.classes, self.has_losses, self.gives_probabilities, self.log_loss_clip
        )


def strategy_of(n_classes: int, *, losses: bool) -> Strategy:
    """Return what a record adds to the counts of records, of correct ones, of its class and of its cell."""
    if n_classes <= MOST_IN_A_MATRIX:
        true, predicted = np.divmod(np.arange(n_classes**2), n_classes)
        right = true == predicted
    else:
        true, right = np.divmod(np.arange(2 * n_classes), 2)
    parts = [
        np.ones((len(true), 1)),
        np.where(right, 1.0, -1.0)[:, None],
        true[:, None] == np.arange(n_classes),
        np.eye(len(true)),
    ]
    return Strategy(SHARE_OF_COUNTS * np.hstack(parts), (SHARE_OF_LOSSES, SHARE_OF_LOSSES) if losses else ())


def marked_classes(
    model: Any,
    X: Any,
    numbers: NDArray[np.intp],
    wanted: tuple[str, ...],
    *,
    curves: bool,
    clip: float,
    known: str,
) -> ClassMarks:
    """Apply a classifier of several classes to records whose classes have these numbers (M1).

    If two classes have nearly the same score, or a loss lies nearly between two steps, the result is computed
    again from the record alone.
    """
    classes = tuple(np.asarray(model.classes_).tolist())
    probabilities = gives_probabilities(model)
    losses = curves and probabilities
    for name in wanted:
        check_bought(name, len(classes), losses=losses, probabilities=probabilities)

    def scores(model: Any, X: Any) -> Any:
        return model.predict_proba(X) if probabilities else model.decision_function(X)

    def losses_of(scores: Vector) -> Vector:
        return _losses(scores, numbers, clip) if losses else np.empty((len(scores), 0))

    def unsure(scores: Vector) -> NDArray[np.bool_]:
        first, second = -np.partition(-scores, 1, axis=1)[:, :2].T
        unrounded = between_steps(losses_of(scores), LOSS_STEP, LOSS_AGREEMENT).any(axis=1)
        return np.asarray((first - second <= 2.0 * AGREEMENT) | unrounded)

    found = applied(scores, model, X, unsure, columns=len(classes))
    predicted = found.argmax(axis=1)
    if len(classes) <= MOST_IN_A_MATRIX:
        cells = numbers * len(classes) + predicted
    else:
        cells = 2 * numbers + (numbers == predicted)
    columns = np.column_stack([cells.astype(np.float64), rounded(losses_of(found), LOSS_STEP)])
    strategy = strategy_of(len(classes), losses=losses)
    return ClassMarks(columns, strategy, known, classes, losses, probabilities, clip)


def _losses(probabilities: Vector, numbers: NDArray[np.intp], clip: float) -> Vector:
    """Return log loss and Brier score of each record, with their ranges mapped to [-1, 1]."""
    chances = np.clip(probabilities, 0.0, 1.0)
    of_truth = chances[np.arange(len(numbers)), numbers]
    log_losses = -np.log(np.clip(of_truth, clip, 1.0 - clip))
    brier = np.sum(chances**2, axis=1) - 2.0 * of_truth + 1.0
    found = np.empty((len(numbers), 2))
    for column, (values, (low, high)) in enumerate(((log_losses, log_loss_range(clip)), (brier, BRIER))):
        found[:, column] = np.clip((2.0 * values - low - high) / (high - low), -1.0, 1.0)
    return found
