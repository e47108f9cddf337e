"""Bad input gets one clear sentence before anything is charged.

Messages name what is wrong and how to put it right. They do not quote the data.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import _num_samples

Features = Any  # a 2-d float array or a CSR matrix: NumPy has no common type for the two


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


def check_number(name: str, value: Any, *, or_zero: bool = False) -> None:
    """Raise unless the setting is a positive (or zero) finite number."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < 0.0 or (value == 0.0 and not or_zero):
        raise ValueError(
            f"{name} must be a {'non-negative' if or_zero else 'positive'} finite number, got {value!r}."
        )


def check_count(name: str, value: Any) -> None:
    """Raise unless the setting is a positive whole number."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a positive whole number, got {value!r}.")


def check_switch(name: str, value: Any) -> None:
    """Raise unless the setting is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


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
