"""Check whether X is a table of numbers by types and dtypes, which are public, before any value is read.

Libraries that convert values quote a value that they cannot convert. Error messages here name the column and
its dtype, and say what to do about it. They never quote a value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from privfit.schema.batches import batches_of
from privfit.schema.frames import dtype_name, is_spark, refuse_spark

_NUMBERS = "biuf"  # dtype kinds: booleans, integers, floats
_SIZES = ("8", "16", "32", "64")
_POLARS_NUMBERS = (
    "Boolean",
    "Float32",
    "Float64",
    *(f"{sign}Int{size}" for sign in ("", "U") for size in _SIZES),
)

# scikit-learn's message without the number of records
_NO_COLUMNS = "Found array with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required."

_ENCODE = """Declare in a schema what is public about the columns; privfit then encodes the table:
    print(privfit.Schema.draft(X), file=open("schema.toml", "w"))  # then fill in bounds and categories
    model = DPLogisticRegression(schema="schema.toml")"""


def is_dask(values: Any) -> bool:
    """Return whether values are a Dask collection. Dask itself is not imported for that."""
    return hasattr(values, "__dask_graph__") and hasattr(values, "to_delayed")


def refuse_parts(what: str, *given: Any) -> None:
    """Raise ValueError if a table or a column that was given is on a cluster, where only fits can read it.

    Parameters
    ----------
    what : str
        What needs the records in one place, at the beginning of a sentence.
    *given : object
        The table and the columns beside it; None stands for what was not given.
    """
    for values in given:
        of, gathered = ("Dask", "X.compute()") if is_dask(values) else ("Spark", "X.toArrow()")
        if is_dask(values) or is_spark(values):
            raise ValueError(
                f"{what} needs its records in one place, and those of a {type(values).__name__} of {of} are "
                f"in parts; give {gathered} if that fits into memory, or with a schema the path of a file."
            )


def check_rows(X: Any) -> None:
    """Raise ValueError if X has no rows, or is no table, before its length is used."""
    kind = type(X).__name__
    if isinstance(X, np.ma.MaskedArray):
        raise ValueError("X is a masked array, whose mask would be ignored; fill it first, X.filled(value).")
    if isinstance(X, Mapping):
        raise ValueError(f"X is a {kind} of columns, not a table; make it a frame, pandas.DataFrame(X).")
    if is_dask(X):
        raise ValueError(
            f"X is a {kind} of Dask, whose rows are in parts; apply the model to each part, "
            "X.map_partitions(model.predict), or of an array X.map_blocks(model.predict, drop_axis=1)."
        )
    refuse_spark(X)
    if kind == "LazyFrame":
        raise ValueError("X is a LazyFrame, which holds a query and no rows; run it first, X.collect().")
    if batches_of(X) is not None:
        raise ValueError(
            f"X must be a table with one row for each record, not {kind}: only a model with a schema reads "
            "files, datasets and queries; give an array or a frame, or numpy.load(path, mmap_mode='r')."
        )
    if X is None or isinstance(X, str | bytes) or np.isscalar(X):
        raise ValueError(f"X must be a table with one row for each record, not {kind}.")


def check_table(X: Any) -> Any:
    """Return X if it is a table of numbers; raise an error that quotes no value otherwise."""
    if sparse.issparse(X):
        _refuse_dtype(X.dtype, "X")
        return X
    check_rows(X)
    columns = _frame_columns(X)
    if columns is None:
        return _check_array(X)
    if not columns:
        raise ValueError(_NO_COLUMNS)
    for name, dtype, number in columns:
        if not number:
            raise _no_numbers(f"column {name!r}", dtype)
    for name, count in Counter(name for name, *_ in columns).items():
        if count > 1:
            raise ValueError(f"X has several columns that are named {name!r}; give each its own name.")
    return X


def _frame_columns(X: Any) -> list[tuple[str, str, bool]] | None:
    """Return (name, dtype, is numeric) for every column of a frame; None if X is no frame."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas
        dtypes = zip(X.columns, X.dtypes, strict=True)
        return [(str(name), dtype_name(d), getattr(d, "kind", "O") in _NUMBERS) for name, d in dtypes]
    if hasattr(X, "schema") and hasattr(X, "get_columns"):  # polars
        return [(name, dtype_name(d), dtype_name(d) in _POLARS_NUMBERS) for name, d in X.schema.items()]
    if hasattr(X, "schema") and hasattr(X, "column_names"):  # pyarrow
        return [(field.name, dtype_name(field.type), _is_arrow_number(field.type)) for field in X.schema]
    return None


def _is_arrow_number(dtype: Any) -> bool:
    name = str(dtype)
    return name == "bool" or name.lstrip("u").startswith(("int", "float", "halffloat", "double"))


def as_array(values: Any) -> np.ndarray[Any, np.dtype[Any]] | None:
    """Return values as an array, or None if they are ragged; NumPy's message would reveal their number."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError):
        return None


def _check_array(X: Any) -> Any:
    array = as_array(X)
    if array is None:
        raise ValueError("X must be a table whose rows all have the same number of values.")
    if array.dtype.names is not None:
        raise ValueError("X is a structured array; make it a frame, pandas.DataFrame(X), or a plain array.")
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead: X must have one row for each record and "
            "one column for each feature. Reshape your data either using array.reshape(-1, 1) if it has a "
            "single feature or array.reshape(1, -1) if it is a single record."
        )
    if not array.shape[1]:
        raise ValueError(_NO_COLUMNS)
    if array.dtype.kind == "O":
        return _from_objects(array)
    _refuse_dtype(array.dtype, "X")
    return X


def _from_objects(array: Any) -> Any:
    """Convert an array of Python objects column by column, so that errors can name the column."""
    numbers = np.empty(array.shape)
    for j in range(array.shape[1]):
        problem = _convert(array[:, j], numbers[:, j])
        if problem is TypeError:
            raise TypeError(
                f"Column {j} of X holds objects that are no numbers: each argument must be a string or a "
                "number; encode them first."
            )
        if problem is not None:
            raise _no_numbers(f"column {j} of X", "object")
    return numbers


def _convert(cells: Any, out: Any) -> type[Exception] | None:
    """Convert a column, or return the kind of error; the error itself quotes the cell."""
    if any(isinstance(cell, np.datetime64 | np.timedelta64) for cell in cells):
        return TypeError
    try:
        out[:] = cells
    except TypeError:
        return TypeError
    except (ValueError, OverflowError):
        return ValueError
    return None


def _refuse_dtype(dtype: np.dtype[Any], where: str) -> None:
    if dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: {where} has dtype {dtype_name(dtype)}; give real numbers."
        )
    if dtype.kind not in _NUMBERS:
        raise _no_numbers(where, dtype_name(dtype))


def _no_numbers(where: str, dtype: str) -> ValueError:
    subject = where[0].upper() + where[1:]
    if dtype.startswith(("timedelta", "Duration", "Time", "duration", "time32", "time64")):
        advice = "turn it into a number"
    else:
        advice = "declare what is public about it in a schema, or leave it out"
    error = ValueError(f"{subject} has dtype {dtype}, which holds no numbers; {advice}.")
    error.add_note(_ENCODE)
    return error
