"""The numbers that private scores read from records of two labels: the bin of the predicted score."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.curator import Measurement
from privfit.estimators.statement import PrivacyStatement
from privfit.metrics.applying import applied
from privfit.metrics.bin_counts import BinCounts
from privfit.metrics.marks import AGREEMENT, Marks
from privfit.metrics.strategies import LOGITS, MARGINS, Strategy, Vector
from privfit.metrics.two_labels import TwoLabelEvaluation, check_bought


@dataclass(frozen=True, eq=False)
class TwoLabelMarks(Marks):
    """Records of two labels; a cell is a label and a bin of scores.

    Attributes
    ----------
    classes : pair
        The labels.
    has_curves : bool
        Whether each predicted label has several bins.
    gives_probabilities : bool
        Whether the model gives probabilities.
    log_loss_clip : float
        Probabilities are clipped to this distance from 0 and 1 for the log loss.
    """

    classes: tuple[Any, Any]
    has_curves: bool
    gives_probabilities: bool
    log_loss_clip: float

    def estimates(self, released: Measurement, *known: Any) -> BinCounts:
        """Return the estimated counts of the cells."""
        return BinCounts.estimated(released, self.strategy, *known)

    def evaluation(self, privacy: PrivacyStatement, estimates: BinCounts) -> TwoLabelEvaluation:
        """Return the scores computed from these counts."""
        return TwoLabelEvaluation(
            privacy, estimates, self.classes, self.has_curves, self.gives_probabilities, self.log_loss_clip
        )


def marked_labels(
    model: Any,
    X: Any,
    numbers: NDArray[np.intp],
    wanted: tuple[str, ...],
    *,
    curves: bool,
    clip: float,
    known: str,
) -> TwoLabelMarks:
    """Apply a classifier of two classes to records whose classes have these numbers (M1).

    Scores near the edge of a bin are computed again from the record alone.
    """
    probabilities = gives_probabilities(model)
    for name in wanted:
        check_bought(name, curves=curves, probabilities=probabilities)
    scale = LOGITS if probabilities else MARGINS
    strategy = Strategy.of_curves(scale) if curves else Strategy.of_outcomes()
    edges = strategy.edges
    scores = applied(_logits if probabilities else _margins, model, X, partial(_near, edges))
    bins = np.searchsorted(edges, np.clip(scores, -scale.outermost, scale.outermost), side="left")
    cells = bins + (len(edges) + 1) * numbers
    first, second = np.asarray(model.classes_).tolist()
    columns = cells.astype(np.float64)[:, None]
    return TwoLabelMarks(columns, strategy, known, (first, second), curves, probabilities, clip)


def gives_probabilities(model: Any) -> bool:
    """Return whether a classifier gives probabilities; otherwise it gives scores."""
    if hasattr(model, "predict_proba"):
        return True
    if hasattr(model, "decision_function"):
        return False
    raise ValueError(
        f"{type(model).__name__} has neither predict_proba nor decision_function; give a classifier with one."
    )


def _logits(model: Any, X: Any) -> Any:
    probabilities = np.asarray(model.predict_proba(X), dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(probabilities[:, 1]) - np.log(probabilities[:, 0])


def _margins(model: Any, X: Any) -> Any:
    return model.decision_function(X)


def _near(edges: Vector, scores: Vector) -> NDArray[np.bool_]:
    after = np.searchsorted(edges, scores)
    distances = [np.abs(scores - edges[np.clip(after + k, 0, len(edges) - 1)]) for k in (-1, 0)]
    return np.asarray(np.minimum(*distances) <= AGREEMENT)
