"""The schema's columns, taken out of whatever holds them.

What cannot be read is refused here, by the shape of the table, the schema and the dtypes of the columns. No
cell is looked at, so no message can tell what is in one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from decimal import Decimal
from types import NoneType
from typing import Any

import numpy as np

from privfit.estimators.tables import dtype_name
from privfit.preprocessing.schema import Categorical, Numeric, Schema

_NUMBERS = (int, float, Decimal, np.bool_, np.integer, np.floating)
_TEXT = (str, bytes)
_ANYTHING = (object, np.object_, NoneType)
_ROWS = (list, tuple, np.ndarray, Sequence)  # the first two are faster to tell than the last


def columns_of(X: Any, schema: Schema) -> list[Any]:
    """Return the columns in the order of the schema, after checking that each can be read."""
    if not isinstance(schema, Schema):
        raise TypeError(f"schema must be a privfit.preprocessing.Schema, not {type(schema).__name__}.")
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError("X is a masked array; fill what is masked first, with X.filled(numpy.nan).")
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):
        raise TypeError(f"X is a {type(X).__name__}, which has no rows yet; pass X.collect().")
    names = [fact.name for fact in schema.columns]
    present = _column_names(X)
    columns = _split_rows(X, len(names)) if present is None else _named(X, names, present)
    for fact, column in zip(schema.columns, columns, strict=True):
        _check_sequence(fact.name, column)
        if len(column) != len(columns[0]):
            raise ValueError(f"Column {fact.name!r} and column {names[0]!r} differ in length.")
        dtype = getattr(column, "dtype", None)
        if dtype is not None:
            # the dtype of an array is that of all its columns, and says nothing about this one
            _check_dtype(fact, dtype, shared=present is None)
    return columns


def _column_names(X: Any) -> Collection[Any] | None:
    """Return the names of the columns of a frame, a dict or a structured array; None if they have none."""
    if isinstance(X, Mapping):
        return X.keys()
    fields = getattr(X, "columns", None) if not isinstance(X, np.ndarray) else X.dtype.names
    return None if fields is None else list(fields)


def _named(X: Any, names: list[str], present: Collection[Any]) -> list[Any]:
    for name in names:
        if name not in present:
            raise ValueError(f"The data have no column {name!r}, which the schema declares.")
    return [X[name] for name in names]


def _split_rows(X: Any, width: int) -> list[Any]:
    if isinstance(X, np.ndarray):
        if X.ndim != 2:
            raise ValueError(f"The schema declares {width} columns, but the array is {X.ndim}-dimensional.")
        if X.shape[1] != width:
            raise ValueError(f"The schema declares {width} columns, but the array has {X.shape[1]}.")
        return list(X.T)
    if not isinstance(X, Sequence) or isinstance(X, _TEXT):
        raise TypeError(
            "X must be a frame, a dict of columns, a structured or 2-d array, or a list of rows, "
            f"not {type(X).__name__}."
        )
    for row in X:
        if not isinstance(row, _ROWS) or isinstance(row, _TEXT) or len(row) != width:
            raise ValueError(f"A row does not have the {width} values that the schema declares.")
    return [[row[j] for row in X] for j in range(width)]


def _check_sequence(name: str, column: Any) -> None:
    if isinstance(column, np.ma.MaskedArray):
        raise TypeError(
            f"Column {name!r} is a masked array; fill what is masked first, with .filled(numpy.nan)."
        )
    unordered = isinstance(column, str | bytes | Mapping | Set)
    if unordered or not hasattr(column, "__len__") or getattr(column, "ndim", 1) != 1:
        raise ValueError(f"Column {name!r} must be one sequence with one value per row.")


def _check_dtype(fact: Numeric | Categorical, dtype: Any, *, shared: bool) -> None:
    cell = _cell_type(dtype)
    text = issubclass(cell, _TEXT)
    numbers = issubclass(cell, _NUMBERS) and not issubclass(cell, np.timedelta64)
    kind, wanted = ("numeric", "numbers") if isinstance(fact, Numeric) else ("categorical", "text")
    arrives = f"Column {fact.name!r} is declared {kind} but arrives with dtype {dtype_name(dtype)}"
    if not (text or numbers or cell in _ANYTHING):
        raise TypeError(f"{arrives}, which holds neither numbers nor text; convert it to {wanted} first.")
    if isinstance(fact, Categorical):
        if fact.only_as_text and not text:
            raise TypeError(
                f"{arrives}, which may have rounded the integers beyond 2^53 that it lists; read it as text, "
                "with dtype='string' in pandas or schema_overrides= in polars."
            )
    elif text and not shared and not fact.text:
        raise TypeError(
            f"{arrives}, which is text; declare it with text=True, and what does not read as a number counts "
            "as missing, or convert it to numbers, or declare it categorical."
        )


def _cell_type(dtype: Any) -> type:
    """Return the type of a column's cells, as NumPy, pandas or polars hand them out."""
    if hasattr(dtype, "to_python"):  # polars
        cell: type = dtype.to_python()
    elif getattr(dtype, "categories", None) is not None:  # pandas' category
        cell = _cell_type(dtype.categories.dtype)
    else:
        cell = dtype.type
    return cell
