"""Checks of settings and input before anything is charged.

Each error message is one sentence that says what is wrong and how to correct it. Messages do not quote data.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import _num_samples

from privfit.engine.exact.grids import MAX_RECORDS

BOUND_SIZES = 1e-60, 1e60  # the range in which scaling a column by its bounds cannot overflow

Features = Any  # a 2-d float array or a CSR matrix: NumPy has no common type for the two


def check_finite(name: str, values: Features) -> None:
    """Raise if there is a NaN or an infinity."""
    data = values.data if sparse.issparse(values) else values
    if not np.issubdtype(data.dtype, np.floating):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        # a finite sum shows that all values are finite, and needs no memory
        finite = np.isfinite(data.sum()) or np.isfinite(data).all()
    if not finite:
        remedy = ", or declare the columns with schema=, which says what becomes of missing cells"
        raise ValueError(
            f"{name} contains NaN or inf; drop or fill in the missing values first{remedy * (name == 'X')}."
        )


def check_lengths(X: Any, y: Any, name: str = "y", entry: str = "label") -> None:
    """Raise unless there is one entry for every row; the message does not reveal the number of rows."""
    try:
        differ = _num_samples(X) != _num_samples(y)
    except TypeError:
        return  # no tables; scikit-learn's validation raises an error for them
    if differ:
        raise ValueError(
            f"X and {name} have inconsistent numbers of samples; give exactly one {entry} for each row."
        )


def shown(value: Any) -> str:
    """Write an invalid setting for a message: only scalars are shown, because others may hold records."""
    if value is None or isinstance(value, str | bytes | int | float | np.generic):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:60]}..."
    return f"a {type(value).__name__}"


def check_number(name: str, value: Any, *, or_zero: bool = False, largest: float = math.inf) -> None:
    """Raise unless the setting is a positive (or zero) finite number, and at most `largest`."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not 0.0 <= value <= sys.float_info.max or (value == 0.0 and not or_zero):
        kind = "non-negative" if or_zero else "positive"
        raise ValueError(f"{name} must be a {kind} finite number, got {shown(value)}.")
    if value > largest:
        raise ValueError(f"{name} must be at most {largest:g}, got {shown(value)}.")


def check_count(name: str, value: Any) -> None:
    """Raise unless the setting is a positive whole number, and at most the largest number of records."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not 1 <= value <= MAX_RECORDS:
        raise ValueError(
            f"{name} must be a positive whole number of at most {MAX_RECORDS}, got {shown(value)}."
        )


def check_switch(name: str, value: Any) -> None:
    """Raise unless the setting is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {shown(value)}.")


def check_bounds(
    X: Features, bounds: Any, names: NDArray[np.object_] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return public bounds as two arrays, lows and highs; `names` are the names of the columns."""
    low, high = _by_name(bounds, names) if isinstance(bounds, Mapping) else _columnwise(bounds, X.shape[1])
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise ValueError(
            "feature_bounds must be finite with low < high in every column; they are (lows, highs), or "
            "{name: (low, high)} for every column."
        )
    narrowest, widest = BOUND_SIZES
    if (high - low < narrowest).any() or (np.maximum(np.abs(low), np.abs(high)) > widest).any():
        raise ValueError(
            f"feature_bounds must be at least {narrowest:g} apart and at most {widest:g} in size; "
            "use other units."
        )
    if sparse.issparse(X) and ((low > 0.0).any() or (high < 0.0).any()):
        raise ValueError(
            "feature_bounds of sparse X must include 0 in every column; densify X or widen them."
        )
    return low, high


def _by_name(
    bounds: Mapping[Any, Any], names: NDArray[np.object_] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if names is None:
        raise ValueError(
            "feature_bounds are given by name, and X has no column names; make X a frame, or give "
            "(lows, highs) in the order of the columns."
        )
    unknown, missing = (next(iter(one), None) for one in (set(bounds) - set(names), set(names) - set(bounds)))
    if unknown is not None or missing is not None:
        named = f"name {shown(unknown)}, which is no column of X" if missing is None else f"lack {missing!r}"
        raise ValueError(f"feature_bounds {named}; give (low, high) for every column by its name.")
    pairs = [_numbers(bounds[name], (2,)) for name in names]
    if any(pair is None for pair in pairs):
        raise ValueError(
            "feature_bounds by name must be {name: (low, high)} with two numbers for each column."
        )
    low, high = np.array(pairs, dtype=np.float64).T
    return low, high


def _columnwise(bounds: Any, n_columns: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    sides = [_numbers(side, (n_columns,)) for side in bounds] if np.iterable(bounds) else []
    known = [side for side in sides if side is not None]
    if len(known) != 2 or len(sides) != 2:
        raise ValueError(
            f"feature_bounds must be (low, high), each a number or one number for each of the {n_columns} "
            "columns, or {name: (low, high)} for every column of a frame."
        )
    low, high = known
    # with two columns, a pair for each column looks like (lows, highs), unless one reading is invalid
    arrays = not isinstance(bounds, np.ndarray) and all(hasattr(side, "dtype") for side in bounds)
    pairs = n_columns == 2 and all(np.size(side) == 2 for side in bounds) and not arrays
    if pairs and low[0] < low[1] and high[0] < high[1] and (low < high).all():
        raise ValueError(
            "feature_bounds of two columns can be read in two ways, as (lows, highs) and as a pair for each "
            "column; give {name: (low, high)} for every column of a frame, or two arrays, "
            "(numpy.array(lows), numpy.array(highs))."
        )
    return low, high


def _numbers(values: Any, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
    """Return numbers broadcast to this shape, or None if that is not possible."""
    try:
        return np.broadcast_to(np.asarray(values, dtype=np.float64), shape)
    except (TypeError, ValueError, OverflowError):
        return None
