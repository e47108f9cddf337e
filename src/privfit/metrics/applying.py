"""Apply a model to held-out records so that the result for a record depends on that record alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from privfit.metrics.held_out import n_rows, rows_of

Array = NDArray[np.float64]


def check_fitted(model: Any) -> None:
    """Raise an error unless this is a fitted model; the message quotes no value."""
    kind = type(model).__name__
    if not hasattr(model, "fit"):  # scikit-learn's own error would quote the object
        raise ValueError(f"A fitted scikit-learn classifier or regressor is scored, not {kind}.")
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise NotFittedError(f"This {kind} is not fitted yet; call fit before it is scored.") from None
    except TypeError:
        raise ValueError(f"A fitted scikit-learn classifier or regressor is scored, not {kind}.") from None


def applied(
    compute: Callable[[Any, Any], Any],
    model: Any,
    X: Any,
    unsure: Callable[[Array], NDArray[np.bool_]],
    *,
    columns: int | None = None,
) -> Array:
    """Return the computed values: one number for each record, or several `columns`.

    The rounding of a row in a matrix product may depend on the rows around it. If this could change a result,
    which `unsure` decides from the values, the result is computed again from the record alone.
    """
    values = _computed(compute, model, X, columns)
    for row in np.flatnonzero(unsure(values)):
        values[row] = _computed(compute, model, rows_of(X, np.array([row])), columns)[0]
    return values


def _computed(compute: Callable[[Any, Any], Any], model: Any, X: Any, columns: int | None) -> Array:
    """Return the values. Errors and warnings of other libraries are dropped, because they quote values."""
    try:
        with np.errstate(all="ignore"):  # a warning would reveal that a record overflows
            values = np.array(compute(model, X), dtype=np.float64)
    except Exception as error:  # of any kind: the model may be another library's
        if _is_ours(error) or isinstance(error, MemoryError):
            raise
        problem = type(error).__name__
    else:
        problem = ""
    if problem:  # raised here, because an error raised inside `except` would hold the original error
        raise ValueError(
            f"{type(model).__name__} could not be applied to these records ({problem}); give the columns "
            "that it was fitted on, in the same form."
        )
    if values.shape != (n_rows(X), *([] if columns is None else [columns])) or np.isnan(values).any():
        wanted = "one number" if columns is None else "a number of each class"
        raise ValueError(f"{type(model).__name__} does not give {wanted} for each record; NaN is none.")
    return values


def _is_ours(error: Exception) -> bool:
    """Return whether the error was raised by this package, whose messages quote no value."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame is not None and str(frame.tb_frame.f_globals.get("__name__")).startswith("privfit.")
