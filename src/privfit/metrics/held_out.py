"""Held-out records as they are given: rows, labels or numbers, checked before anything is charged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from privfit.estimators.labels import WITHOUT_LABEL, encoded_labels, label_column, labels_given
from privfit.estimators.tables import check_rows
from privfit.estimators.validation import check_lengths
from privfit.schema import Schema


def check_records(X: Any, y: Any) -> None:
    """Refuse what is not one row and one label for each record."""
    if y is None:
        raise ValueError("Scores need the true labels; give one label for each row, y=.")
    check_rows(X)
    check_lengths(X, y)


def rows_of(X: Any, rows: NDArray[np.bool_]) -> Any:
    """Return a table of these rows; scikit-learn 1.6 cannot take them out of an Arrow table."""
    return X.filter(rows) if hasattr(X, "column_names") else _safe_indexing(X, np.flatnonzero(rows))


def class_numbers(
    y: Any, classes: NDArray[Any], schema: Schema | None
) -> tuple[NDArray[np.intp], str, NDArray[np.bool_] | None]:
    """Return the numbers of the records' classes, how these are known, and which records have a label.

    Labels are read as the model's schema says; None stands for all records.
    """
    y, has_label = (y, None) if schema is None else labels_given(y, schema.label)
    if len(classes) == 2:
        signs, encoder = encoded_labels(y, classes)
        numbers, assumption = (signs > 0.0).astype(np.intp), encoder.assumption
    else:
        numbers, assumption = _numbered(label_column(y), classes)
    if has_label is not None:
        assumption = f"{assumption}; {WITHOUT_LABEL}"
    return numbers, assumption, has_label


def _numbered(y: NDArray[Any], classes: NDArray[Any]) -> tuple[NDArray[np.intp], str]:
    members = [np.broadcast_to(np.asarray(y == label, dtype=bool), y.shape) for label in classes]
    numbers = np.argmax(members, axis=0)
    if not np.any(members, axis=0).all():
        raise ValueError(
            f"y holds labels that are not in classes={tuple(classes.tolist())!r}: correct those labels."
        )
    return numbers, f"the {len(classes)} classes of the model are public"
