"""Labels: decide the set of classes without looking at the records, if possible.

`classes=` declares the set. As in scikit-learn, the positive one of two classes is the later one in sorted
order. A table may lack some of the classes, because a single record must not decide whether a model can be
fitted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from privfit.estimators.tables import as_array
from privfit.estimators.validation import shown
from privfit.leaks import is_strict, leak
from privfit.schema.cells import reading
from privfit.schema.frames import dtype_name
from privfit.schema.label import AnyLabel, Label
from privfit.schema.labelling import read_labels

WITHOUT_LABEL = "records without a label are left out, each by its own label alone"
SHOWN_LABELS = 10  # the largest number of declared labels in messages and statements
MOST_CLASSES = 1000  # with more, the labels are probably ids or numbers
_REMEDY = "declare it with classes=(one, other, ...)"


@dataclass(frozen=True, eq=False)
class LabelEncoder:
    """Labels of two classes as -1 (the first) and +1 (the second), of several as numbers from 0 on.

    Parameters
    ----------
    classes : array
        The classes in sorted order.
    assumption : str
        What the privacy statement says about how the classes are known.
    hint : str
        Advice for labels that are none of the classes.
    """

    classes: NDArray[Any]
    assumption: str
    hint: str = ""

    def encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Return the labels as signs or numbers; raise if a label is none of the classes."""
        numbers = np.full(y.shape, -1.0)
        for number, label in enumerate(self.classes):
            numbers[np.broadcast_to(np.asarray(y == label, dtype=bool), y.shape)] = number
        if (numbers < 0.0).any():
            raise ValueError(f"y holds labels that are not in classes={listed(self.classes)}: {self.hint}.")
        return 2.0 * numbers - 1.0 if len(self.classes) == 2 else numbers

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last number."""
        return (-1.0, 1.0) if len(self.classes) == 2 else (0.0, len(self.classes) - 1.0)

    def in_units(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights unchanged, because scores of labels have no unit."""
        return w


def encoded_labels(y: Any, classes: Any) -> tuple[NDArray[np.float64], LabelEncoder]:
    """Return labels as signs or numbers, and their encoder.

    The set of labels is declared, conventional (0 and 1), or taken from the data with a warning.
    """
    declared = None if classes is None else declared_classes(classes)
    y = label_column(y)
    if declared is not None:
        encoder = _for_declared(y, declared)
    else:
        if is_strict():
            leak("The set of labels was", _REMEDY)
        encoder = _for_undeclared(y)
    return encoder.encode(y), encoder


def declared_classes(classes: Any) -> NDArray[Any]:
    """Return the declared labels, sorted; raise ValueError unless they are distinct labels of one type."""
    if isinstance(classes, str | bytes | dict) or not isinstance(classes, Iterable):
        raise ValueError(f"classes must be a list of labels such as ('no', 'yes'), got {shown(classes)}.")
    labels = [
        label.item() if isinstance(label, np.generic) else label
        for label in islice(classes, MOST_CLASSES + 1)
    ]
    if len(labels) > MOST_CLASSES:
        raise ValueError(f"classes must name at most {MOST_CLASSES} labels.")
    kinds = {_kind(label) for label in labels}
    distinct = np.unique(np.array(labels)) if len(kinds) == 1 and None not in kinds else np.empty(0)
    if len(labels) < 2 or len(distinct) != len(labels):
        got = ", ".join(map(shown, labels[:SHOWN_LABELS]))
        raise ValueError(
            "classes must name at least two labels, all different, and all strings, all numbers or all "
            f"booleans, got {got}{' and more' if len(labels) > SHOWN_LABELS else ''}."
        )
    return distinct


def listed(classes: NDArray[Any]) -> str:
    """Return public classes as they would be declared; if there are many, only the first ones."""
    if len(classes) <= SHOWN_LABELS:
        return repr(tuple(classes.tolist()))
    return f"({', '.join(map(repr, classes[:SHOWN_LABELS].tolist()))}, ...)"


def _kind(label: Any) -> type | None:
    for kind in (str, bool, int, float):
        if isinstance(label, kind) and label == label:
            return float if kind is int else kind
    return None


def labels_given(
    y: Any, label: AnyLabel, *, may_be_none: bool = False
) -> tuple[Any, NDArray[np.bool_] | None]:
    """Return labels that were given beside a table with a schema, and which records have one (None: all).

    They are read by the schema if it drops missing labels or compares one label with all others. Otherwise,
    and if they are the numbers of classes, as meta-estimators pass them, they are returned unchanged.
    """
    if not label.reads_given:
        return y, None
    labels = _in_one_dimension(y)
    if not isinstance(label, Label):
        return read_labels(labels, label, may_be_none=may_be_none)
    if label.one_against_rest is None:
        are_numbers_of_classes = labels.dtype.kind in "iu" and type(label.classes[0]) is not int
    else:
        are_numbers_of_classes = labels.dtype.kind in "biuf" and isinstance(reading(label.positive), str)
    return (y, None) if are_numbers_of_classes else read_labels(labels, label, may_be_none=may_be_none)


def label_column(y: Any) -> NDArray[Any]:
    """Return y as a 1d array without missing labels; its type is decided by its dtype alone."""
    labels = _in_one_dimension(y)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y contains NaN or inf; drop those records first.")
    if labels.dtype.kind == "O" and any(_missing(label) for label in labels):
        raise ValueError("y contains missing labels; drop those records first.")
    return labels


def _in_one_dimension(y: Any) -> NDArray[Any]:
    if hasattr(y, "collect") or isinstance(y, np.ma.MaskedArray | dict | str):
        raise ValueError(
            f"y must be an array or a column with one label for each row, not {type(y).__name__}."
        )
    labels = as_array(y)
    if labels is None:
        raise ValueError("y must hold one label for each row; it holds sequences instead.")
    if labels.ndim == 0 or labels.ndim > 2 or (labels.ndim == 2 and labels.shape[1] != 1):
        columns = f"{labels.shape[1]} columns" if labels.ndim == 2 else f"{labels.ndim} dimensions"
        raise ValueError(f"y must hold one label for each row, but has {columns}; y should be a 1d array.")
    if labels.dtype.kind not in "biufUO":
        raise ValueError(f"y has dtype {dtype_name(labels.dtype)}; labels are strings, integers or booleans.")
    return np.asarray(column_or_1d(labels, warn=True))


def _missing(label: Any) -> bool:
    return label is None or type(label).__name__ in ("NAType", "NaTType") or bool(label != label)


def _for_declared(y: NDArray[Any], classes: NDArray[Any]) -> LabelEncoder:
    *others, last = map(str, classes.tolist() if len(classes) <= SHOWN_LABELS else classes[:2])
    public = f"the labels {', '.join(others)} and {last} are public"
    if len(classes) > SHOWN_LABELS:
        public = f"the {len(classes)} labels that were declared are public"
    last_number = len(classes) - 1
    numbers = "0 and 1" if len(classes) == 2 else f"0 to {last_number}"
    if y.dtype.kind in "iu" and classes.dtype.kind in "Ub":
        # Voting, stacking and one-vs-rest pass the numbers of labels; the dtype tells them from labels.
        return LabelEncoder(
            np.arange(len(classes)),
            f"{public}, and the program that numbered them {numbers} used all declared labels",
            f"integers stand for the declared classes in sorted order, as {numbers}",
        )
    hint = f"correct classes={listed(classes)} or those labels"
    if y.dtype.kind in "iu" and classes.dtype.kind == "i":
        declare = "(0, 1)" if len(classes) == 2 else f"range({len(classes)})"
        hint += (
            f"; meta-estimators such as VotingClassifier number the labels {numbers} themselves, "
            f"so under them declare classes={declare} or strings"
        )
    return LabelEncoder(classes, public, hint)


def _distinct(y: NDArray[Any]) -> NDArray[Any] | None:
    try:
        return np.unique(y)
    except TypeError:
        return None


def _for_undeclared(y: NDArray[Any]) -> LabelEncoder:
    if y.dtype.kind == "b" or (y.dtype.kind in "iuf" and ((y == 0) | (y == 1)).all()):
        classes = np.array([0, 1], dtype=y.dtype)
        return LabelEncoder(classes, "labels are 0 and 1 by convention, declared or not")
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        raise ValueError("Unknown label type: y is continuous; a classifier wants discrete labels.")
    found = _distinct(y)
    if found is None:
        raise ValueError("y mixes labels of different types; make them all strings or all numbers.")
    if len(found) > MOST_CLASSES:
        raise ValueError(
            f"y has more than {MOST_CLASSES} classes; use a regressor for numbers, or fewer labels."
        )
    if len(found) < 2:
        raise ValueError(
            "y has only one class, and the others are not known; declare them, classes=(one, other)."
        )
    leak("The set of labels was", _REMEDY)
    return LabelEncoder(found, "the set of labels is public; it was read off the data, not declared")
