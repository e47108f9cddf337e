"""What may be a table of numbers, judged by types and dtypes, which are public, before any value is touched.

Libraries that convert values quote those that they could not convert. Here a column that holds no numbers
is named with its dtype and what to do about it, and nothing that a record says is repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse

_NUMBERS = "biuf"  # dtype kinds: booleans, integers, floats

_ENCODE = """Encode the table by what is public about its columns:
    from privfit.preprocessing import Schema, SchemaEncoder
    schema = Schema.from_toml("schema.toml")  # names, bounds and categories
    model = sklearn.pipeline.make_pipeline(SchemaEncoder(schema), model)"""


def check_table(X: Any) -> Any:
    """Return X if it is a table of numbers, or refuse it in one sentence that quotes no value."""
    if sparse.issparse(X):
        _refuse_dtype(X.dtype, "X")
        return X
    kind = type(X).__name__
    if isinstance(X, np.ma.MaskedArray):
        raise ValueError("X is a masked array, whose mask would be ignored; fill it first, X.filled(value).")
    if isinstance(X, Mapping):
        raise ValueError(f"X is a {kind} of columns, not a table; make it a frame, pandas.DataFrame(X).")
    if kind == "LazyFrame":
        raise ValueError("X is a LazyFrame, which holds a query and no rows; run it first, X.collect().")
    if X is None or isinstance(X, str | bytes) or np.isscalar(X):
        raise ValueError(f"X must be a table with one row for each record, not {kind}.")
    columns = list(_frame_columns(X))
    for name, dtype, number in columns:
        if not number:
            raise _no_numbers(f"column {name!r}", dtype)
    return X if columns else _check_array(X)


def _frame_columns(X: Any) -> Iterator[tuple[str, str, bool]]:
    """Yield name, dtype and whether that holds numbers for every column of a frame."""
    if hasattr(X, "iloc") and hasattr(X, "dtypes"):  # pandas
        for name, dtype in zip(X.columns, X.dtypes, strict=True):
            yield str(name), str(dtype), getattr(dtype, "kind", "O") in _NUMBERS
    elif hasattr(X, "schema") and hasattr(X, "get_columns"):  # polars
        for name, dtype in X.schema.items():
            yield name, str(dtype), (dtype.is_numeric() and not dtype.is_decimal()) or str(dtype) == "Boolean"
    elif hasattr(X, "schema") and hasattr(X, "column_names"):  # pyarrow
        for field in X.schema:
            text = str(field.type)
            yield field.name, text, text == "bool" or text.lstrip("u").startswith(("int", "float", "double"))


def _check_array(X: Any) -> Any:
    try:
        array = np.asarray(X)
    except (TypeError, ValueError):
        raise ValueError("X must be a table whose rows all have the same number of values.") from None
    if array.dtype.names is not None:
        raise ValueError("X is a structured array; make it a frame, pandas.DataFrame(X), or a plain array.")
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead: X must have one row for each record and "
            "one column for each feature. Reshape your data either using array.reshape(-1, 1) if it has a "
            "single feature or array.reshape(1, -1) if it is a single record."
        )
    if array.dtype.kind == "O":
        return _from_objects(array)
    _refuse_dtype(array.dtype, "X")
    return X


def _from_objects(array: Any) -> Any:
    """Convert an array of Python objects column by column, so that one that is no number can be named."""
    numbers = np.empty(array.shape)
    for j in range(array.shape[1]):
        try:
            numbers[:, j] = array[:, j]
        except TypeError:
            raise TypeError(
                f"Column {j} of X holds objects that are no numbers: each argument must be a string or a "
                "number; encode them first."
            ) from None
        except ValueError:
            raise _no_numbers(f"column {j} of X", "object") from None
    return numbers


def _refuse_dtype(dtype: np.dtype[Any], where: str) -> None:
    if dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {where} has dtype {dtype}; give real numbers.")
    if dtype.kind not in _NUMBERS:
        raise _no_numbers(where, str(dtype))


def _no_numbers(where: str, dtype: str) -> ValueError:
    subject = where[0].upper() + where[1:]
    if dtype.startswith(
        ("datetime", "timedelta", "Datetime", "Date", "Duration", "Time", "timestamp", "date", "time")
    ):
        advice = "turn it into a number of days or years since a public date"
    else:
        advice = "encode it with privfit.preprocessing.SchemaEncoder, or leave it out"
    error = ValueError(f"{subject} has dtype {dtype}, which holds no numbers; {advice}.")
    error.add_note(_ENCODE)
    return error
