"""Bad input gets one clear sentence before anything is charged.

Messages name what is wrong and how to put it right. They do not quote the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, column_or_1d

from privfit.engine.rounding import norms
from privfit.leaks import leak

Features = Any  # a 2-d float array or a CSR matrix: NumPy has no common type for the two

# Label sets that are public by convention: first the negative class, then the positive one.
_CONVENTIONAL = ((0, 1), (-1, 1))


def check_finite(name: str, values: Features) -> None:
    """Raise if there is a NaN or an infinity."""
    data = values.data if sparse.issparse(values) else values
    if np.issubdtype(data.dtype, np.floating) and not np.isfinite(data).all():
        raise ValueError(f"{name} contains NaN or inf; drop or fill in the missing values first.")


def check_lengths(X: Any, y: Any) -> None:
    """Raise if there is not one label for every row, without saying how many there are."""
    try:
        differ = _num_samples(X) != _num_samples(y)
    except TypeError:
        return  # not tables at all, which scikit-learn's validation explains
    if differ:
        raise ValueError("X and y have inconsistent numbers of samples; give exactly one label for each row.")


def check_positive(name: str, value: float, *, or_zero: bool = False) -> None:
    """Raise unless the parameter is a positive (or zero) finite number."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < 0.0 or (value == 0.0 and not or_zero):
        raise ValueError(
            f"{name} must be a {'non-negative' if or_zero else 'positive'} finite number, got {value!r}."
        )


def encode_labels(y: Any, classes: Sequence[Any] | None) -> tuple[NDArray[Any], NDArray[np.float64], bool]:
    """Return the two classes, the labels as -1 (first class) and +1 (second), and whether classes leaked."""
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "O" and any(label is None or label != label for label in y):
        raise ValueError("y contains missing labels; drop those records first.")
    check_classification_targets(y)
    if classes is not None:
        return _encode_declared(y, np.asarray(classes))
    found = np.unique(y)
    if len(found) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: y has more than "
            "two classes; keep two of them, or map the labels to two."
        )
    if len(found) < 2:
        raise ValueError(
            "y has only one class; declare both with classes=(negative, positive) if that can happen."
        )
    if not (y.dtype.kind in "biuf" and any(np.array_equal(found, known) for known in _CONVENTIONAL)):
        leak("The set of labels was", "declare it with classes=(negative, positive)")
        return found, np.where(y == found[1], 1.0, -1.0), True
    return found, np.where(y == found[1], 1.0, -1.0), False


def _encode_declared(
    y: NDArray[Any], classes: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.float64], bool]:
    if classes.shape != (2,) or classes[0] == classes[1]:
        raise ValueError(
            f"classes must name two different labels, the negative one first, got {classes.tolist()!r}."
        )
    positive = np.asarray(y == classes[1])
    if not (positive | np.asarray(y == classes[0])).all():
        raise ValueError(
            f"y holds labels that are not in classes={tuple(classes.tolist())!r}; "
            "correct classes or those labels."
        )
    return classes, np.where(positive, 1.0, -1.0), False


def check_bounds(X: Features, bounds: tuple[Any, Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return public bounds as one low and one high for every column."""
    try:
        low, high = (np.broadcast_to(np.asarray(b, dtype=np.float64), X.shape[1:]) for b in bounds)
    except (TypeError, ValueError):
        raise ValueError(
            "feature_bounds must be (low, high), each a number or one number "
            f"for each of the {X.shape[1]} columns."
        ) from None
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise ValueError("feature_bounds must be finite with low < high in every column.")
    if sparse.issparse(X) and ((low > 0.0).any() or (high < 0.0).any()):
        raise ValueError(
            "feature_bounds of sparse X must include 0 in every column; densify X or widen them."
        )
    return low, high


def clip_features(X: Features, low: NDArray[np.float64], high: NDArray[np.float64]) -> Features:
    """Return the features clipped to the bounds of the fit."""
    if not sparse.issparse(X):
        return np.clip(X, low, high)
    return type(X)((np.clip(X.data, low[X.indices], high[X.indices]), X.indices, X.indptr), shape=X.shape)


def row_norms(X: Features, intercept: bool) -> NDArray[np.float64]:
    """Return the norm of every row as the fit computes it, an intercept's 1 included; never zero."""
    with np.errstate(over="ignore", under="ignore"):
        if sparse.issparse(X):
            X = X.astype(np.float64, copy=False)
            squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        else:
            squares = np.square(X, dtype=np.float64).sum(axis=1)
    return norms(squares, X.shape[1], float(intercept))
