"""The scores that a model gives to held-out records, each a function of its record alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from privfit.estimators.labels import WITHOUT_LABEL, LabelEncoder, encoded_labels, labels_given
from privfit.estimators.tables import check_rows
from privfit.estimators.validation import check_lengths
from privfit.metrics.strategies import LOGITS, MARGINS, Scale, Vector
from privfit.schema import Schema

# Matrix products round a row's score in ways that depend on the rows around it. What is computed of a record
# alone and among others is taken to differ by less than this, and closer to an edge it is computed alone.
AGREEMENT = 2.0**-20


@dataclass(frozen=True)
class Predictions:
    """A model's scores of held-out records; positive ones predict the second label.

    Attributes
    ----------
    labels : LabelEncoder
        The two classes, and how they are known.
    signs : array of shape (n_records,)
        The records' labels as -1 and +1.
    scores : array of shape (n_records,)
        Logarithms of odds, or margins.
    are_probabilities : bool
        Whether they are the first.
    """

    labels: LabelEncoder
    signs: Vector
    scores: Vector
    are_probabilities: bool

    @property
    def scale(self) -> Scale:
        """Where the bins of such scores are."""
        return LOGITS if self.are_probabilities else MARGINS


def predicted(
    model: Any, X: Any, y: Any, edges_of: Callable[[Scale], Vector], schema: Schema | None = None
) -> Predictions:
    """Apply a fitted model to records, in whose scores those at an edge are computed alone (M1).

    Labels are read as the model's schema says; records without one are left out if it drops them.
    What is wrong with the model or the records is said in a sentence that quotes no value.
    """
    classes = _two_classes(model)
    are_probabilities = _gives_probabilities(model)
    if y is None:
        raise ValueError("Scores need the true labels; give one label for each row, y=.")
    check_rows(X)
    check_lengths(X, y)
    y, has_label = (y, None) if schema is None else labels_given(y, schema.label)
    signs, labels = encoded_labels(y, classes)
    scale = LOGITS if are_probabilities else MARGINS
    score = _logits if are_probabilities else _margins
    scores = _applied(score, model, X)
    for row in np.flatnonzero(_near(scores, edges_of(scale))):
        scores[row] = _applied(score, model, _record(X, int(row)))[0]
    if has_label is not None:
        scores = scores[has_label]
        labels = replace(labels, assumption=f"{labels.assumption}; {WITHOUT_LABEL}")
    return Predictions(labels, signs, np.clip(scores, -scale.reach, scale.reach), are_probabilities)


def _record(X: Any, i: int) -> Any:
    """Return a table of one record; scikit-learn 1.6 cannot take one out of an Arrow table."""
    return X.slice(i, 1) if hasattr(X, "column_names") else _safe_indexing(X, [i])


def _two_classes(model: Any) -> NDArray[Any]:
    kind = type(model).__name__
    if not hasattr(model, "fit"):  # which scikit-learn would quote
        raise ValueError(f"A fitted scikit-learn classifier is scored, not {kind}.")
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise NotFittedError(f"This {kind} is not fitted yet; call fit before it is scored.") from None
    except TypeError:
        raise ValueError(f"A fitted scikit-learn classifier is scored, not {kind}.") from None
    if hasattr(model, "best_threshold_") or kind == "FixedThresholdClassifier":
        raise ValueError(
            f"{kind} predicts by a threshold of its own, and scores are told apart at zero; give the "
            "classifier inside it, model.estimator_."
        )
    classes = getattr(model, "classes_", None)
    if classes is None or np.shape(classes) != (2,):
        raise ValueError(f"Private scores are of classifiers with two classes, which this {kind} is not.")
    return np.asarray(classes)


def _gives_probabilities(model: Any) -> bool:
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
    return np.array(model.decision_function(X), dtype=np.float64)


def _applied(score: Callable[[Any, Any], Any], model: Any, X: Any) -> Vector:
    """Return the scores. What other libraries complain of is not kept, because they quote values."""
    try:
        scores: Vector = score(model, X)
    except Exception as error:
        if _is_ours(error):
            raise
        problem = type(error).__name__
    else:
        problem = ""
    if problem:  # raised here, because an error that is raised while another is handled holds that one
        raise ValueError(
            f"{type(model).__name__} could not be applied to these records ({problem}); give the columns "
            "that it was fitted on, in the same form."
        )
    if scores.shape != (_num_samples(X),) or np.isnan(scores).any():
        raise ValueError(f"{type(model).__name__} does not give one number for each record; NaN is none.")
    return scores


def _is_ours(error: Exception) -> bool:
    """Tell whether the error was raised by this package, whose messages quote no value."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame is not None and str(frame.tb_frame.f_globals.get("__name__")).startswith("privfit.")


def _near(scores: Vector, edges: Vector) -> NDArray[np.bool_]:
    after = np.searchsorted(edges, scores)
    distances = [np.abs(scores - edges[np.clip(after + k, 0, len(edges) - 1)]) for k in (-1, 0)]
    return np.asarray(np.minimum(*distances) <= AGREEMENT)
