"""Read columns from tables of any form: frames of pandas and polars, Arrow tables, arrays, rows, files.

Tables that cannot be read are refused here, by the shape of the table, the schema and the dtypes of the
columns. No cell is read, so no message can reveal one.
"""

from __future__ import annotations

import datetime
import re
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from decimal import Decimal
from functools import lru_cache
from types import NoneType
from typing import Any

import numpy as np

from privfit.remedies import remedy
from privfit.schema.batches import batches_of
from privfit.schema.column import Column
from privfit.schema.document import TYPE_NAMES
from privfit.schema.label import AnyLabel, Label
from privfit.schema.levels import Boolean, Categorical, Ordinal
from privfit.schema.numbers import Date, Numeric
from privfit.schema.quantities import Quantity

_NUMBERS = (int, float, Decimal, np.bool_, np.integer, np.floating)
_TEXT = (str, bytes)
_DATES = (datetime.date, np.datetime64)
_ANYTHING = (object, np.object_, NoneType)
_ROWS = (list, tuple, np.ndarray, Sequence)  # the first two types first, because checking them is faster


def opened(X: Any, names: Sequence[str] | None = None) -> Any:
    """Return a table, with the columns of these names at least.

    If X is the path of a CSV or Parquet file, of a directory of Parquet files, or a list of such paths, it is
    the table in them. Arrow datasets and readers, and DuckDB relations and queries, are read, too.
    """
    source = batches_of(X)
    return X if source is None else source.read_all(names)


def columns_of(X: Any, facts: Sequence[Column]) -> list[Any]:
    """Return the declared columns in order, after checking that each can be read."""
    refuse_what_is_no_table(X)
    names = [fact.name for fact in facts]
    present = column_names(X)
    columns = _split_rows(X, len(names)) if present is None else _named(X, names, present)
    for fact, column in zip(facts, columns, strict=True):
        _check_sequence(fact.name, column)
        if len(column) != len(columns[0]):
            raise ValueError(f"Column {fact.name!r} and column {names[0]!r} differ in length.")
        dtype = dtype_of(column)
        if dtype is not None:
            # all columns of an array share its dtype, so it is not checked for single columns
            check_dtype(fact, dtype)
    return columns


def refuse_what_is_no_table(X: Any) -> None:
    """Raise TypeError for objects without rows, such as lazy frames, and for masked arrays."""
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError("X is a masked array; fill what is masked first, with X.filled(numpy.nan).")
    refuse_spark(X)
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):
        raise TypeError(f"X is a {type(X).__name__}, which has no rows yet; pass X.collect().")


def is_spark(X: Any) -> bool:
    """Return whether X is a DataFrame of Spark or of Spark Connect. Neither is imported for that."""
    return hasattr(X, "mapInArrow") and hasattr(X, "sparkSession")


def refuse_spark(X: Any) -> None:
    """Refuse a DataFrame of Spark where a table in one place is needed."""
    if is_spark(X):
        raise ValueError(
            "X is a DataFrame of Spark, whose rows are in parts; apply the model to each part, "
            "X.mapInPandas(...), or give what X.toArrow() returns if that fits into memory."
        )


def column_names(X: Any) -> Collection[Any] | None:
    """Return the names of the columns of a frame, a dict or a structured array; None if they have none."""
    if isinstance(X, Mapping):
        return X.keys()
    if isinstance(X, np.ndarray):
        return None if X.dtype.names is None else list(X.dtype.names)
    names = getattr(X, "column_names", None)  # Arrow tables, in which `columns` holds the columns themselves
    fields = getattr(X, "columns", None) if names is None else names
    return None if fields is None else list(fields)


def _named(X: Any, names: list[str], present: Collection[Any]) -> list[Any]:
    found = Counter(present)
    for name in names:
        if not found[name]:
            raise ValueError(f"The data have no column {name!r}, which the schema declares.")
        if found[name] > 1:
            raise ValueError(
                f"The data have several columns that are named {name!r}; give each its own name."
            )
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
            "X must be a frame, an Arrow table, a dict of columns, a structured or 2-d array, a list of "
            f"rows, or the path of a CSV or Parquet file, not {type(X).__name__}."
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


# -- dtypes -------------------------------------------------------------------------------------------------


def dtype_of(column: Any) -> Any:
    """Return the dtype of a column, None if it is a plain sequence."""
    return column.type if is_arrow(column) else getattr(column, "dtype", None)


def is_arrow(column: Any) -> bool:
    """Return whether this is a column of an Arrow table; Arrow is not imported for other columns."""
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(column, arrow.Array | arrow.ChunkedArray)


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype without details such as widths, categories and names of fields."""
    if isinstance(dtype, np.dtype):
        return dtype.type.__name__.rstrip("_")
    return re.split(r"\W", str(dtype))[0]


def kind_of(dtype: Any) -> str:
    """Return the kind of a column's cells: "numbers", "text", "dates", "anything" or "neither"."""
    cell = _cell_type(dtype)
    if issubclass(cell, _TEXT):
        return "text"
    if issubclass(cell, _NUMBERS) and not issubclass(cell, np.timedelta64):
        return "numbers"
    if issubclass(cell, _DATES):
        return "dates"
    return "anything" if cell in _ANYTHING else "neither"


def check_dtype(fact: Column, dtype: Any) -> None:
    """Raise TypeError if a column with this dtype cannot hold what the schema declares."""
    kind = kind_of(dtype)
    number = fact.as_column if isinstance(fact, Quantity) else fact
    declared = "the label" if isinstance(fact, AnyLabel) else f"declared {TYPE_NAMES[type(fact)]}"
    arrives = f"Column {fact.name!r} is {declared} but arrives with dtype {dtype_name(dtype)}"
    as_text = remedy(
        "read it as text, with dtype='string' in pandas or schema_overrides= in polars", "write it as text"
    )
    if isinstance(fact, Date):
        if kind == "neither" or (kind == "numbers" and dtype_name(dtype).lower().startswith(_WHOLE)):
            raise TypeError(f"{arrives}, which holds no dates; convert it to dates or to text first.")
        if _zone(dtype) not in ("", "UTC"):
            raise TypeError(
                f"{arrives} in a time zone that is not UTC, which one record may have chosen; "
                "convert it to dates first."
            )
    elif kind in ("neither", "dates"):
        wanted = "text" if isinstance(fact, Categorical | Ordinal | Boolean | Label) else "numbers"
        raise TypeError(f"{arrives}, which holds neither numbers nor text; convert it to {wanted} first.")
    elif isinstance(fact, Categorical | Ordinal | Label) and fact.places.only_as_text and kind != "text":
        raise TypeError(
            f"{arrives}, which may have rounded the integers beyond 2^53 that it lists; {as_text}."
        )
    elif isinstance(number, Numeric) and number.points_group_digits and kind != "text":
        raise TypeError(
            f"{arrives}, which may have taken points between groups of digits for decimal points; {as_text}."
        )


_WHOLE = ("int", "uint", "bool")


def _cell_type(dtype: Any) -> type:
    """Return the Python type of a column's cells, as NumPy, pandas, polars or Arrow return them."""
    if hasattr(dtype, "to_python"):  # polars
        cell: type = dtype.to_python()
    elif getattr(dtype, "categories", None) is not None:  # pandas' category
        cell = _cell_type(dtype.categories.dtype)
    elif hasattr(dtype, "to_pandas_dtype"):
        cell = _arrow_cell_type(dtype)
    else:
        cell = dtype.type
    return cell


@lru_cache  # it takes some microseconds, for each column of each batch
def _arrow_cell_type(dtype: Any) -> type:
    from pyarrow import types

    if types.is_dictionary(dtype):
        return _arrow_cell_type(dtype.value_type)
    kinds: list[tuple[str, type]] = [
        *((name, str) for name in ("is_string", "is_large_string", "is_string_view")),
        *(
            (name, bytes)
            for name in ("is_binary", "is_large_binary", "is_binary_view", "is_fixed_size_binary")
        ),
        *((name, float) for name in ("is_integer", "is_floating", "is_boolean", "is_decimal")),
        *((name, datetime.date) for name in ("is_date", "is_timestamp")),
        ("is_null", object),
    ]
    found = (cell for name, cell in kinds if hasattr(types, name) and getattr(types, name)(dtype))
    return next(found, list)


def _zone(dtype: Any) -> str:
    """Return the time zone of a column of dates, "" if it has none."""
    dtype = getattr(dtype, "pyarrow_dtype", dtype)
    zone = getattr(dtype, "tz", None) or getattr(dtype, "time_zone", None)
    return "" if zone is None else str(zone)
