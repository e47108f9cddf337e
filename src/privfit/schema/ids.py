"""Whether the column that tells people apart names some of them more than once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.schema.cells import reading
from privfit.schema.column import Identifier
from privfit.schema.encoding import Distinct, distinct_of, plain_numbers
from privfit.schema.frames import column_names, is_arrow, opened
from privfit.schema.schema import Schema

_MISSING = -1
_DOUBT = 2**53  # below, every integer is a float of its own


def repeated_ids(table: Any, schema: Schema) -> bool:
    """Tell whether two records of a table have the same id.

    It is a function of single records and costs nothing, so the answer is for the custodian alone.

    Parameters
    ----------
    table : data frame, dict of columns, pyarrow table, or path of a CSV or Parquet file
        The records.
    schema : Schema
        Which says by a column of type "id" who is who.

    Returns
    -------
    repeated : bool
        False if the schema declares no id or the table does not have that column. Records without an id
        repeat none.
    """
    declared = next((fact for fact in schema.columns if isinstance(fact, Identifier)), None)
    if declared is None:
        return False
    table = opened(table, [declared.name])
    names = column_names(table)
    if names is None or declared.name not in names:
        return False
    _, repeated = missing_and_repeated(table[declared.name])
    return bool(repeated.any())


def missing_and_repeated(column: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which records have no id, and which have the id of an earlier record.

    Ids are compared by what they read as, like categories: 7, "07" and 7.0 are one person.
    """
    keys = _numbered(column)
    missing = keys == _MISSING
    _, first = np.unique(keys, return_index=True)
    repeated = ~missing
    repeated[first] = False
    return missing, repeated


def _numbered(column: Any) -> NDArray[np.int64]:
    """Return a number for each record, which records with the same id share; -1 without an id."""
    import pyarrow

    if hasattr(column, "to_arrow"):  # polars
        column = column.to_arrow() if str(column.dtype) != "Object" else column.to_list()
    array: Any = getattr(column, "array", None)
    if hasattr(array, "__arrow_array__"):  # pandas' own types
        column = array.__arrow_array__()
    if getattr(getattr(column, "dtype", None), "kind", "") in ("i", "u"):
        column = pyarrow.array(np.asarray(column))
    if not is_arrow(column):
        numbers: dict[Any, int] = {None: _MISSING}
        cells = column.tolist() if hasattr(column, "tolist") else column
        return np.array([numbers.setdefault(reading(cell), len(numbers)) for cell in cells], dtype=np.int64)
    distinct = distinct_of(column)
    return np.asarray(np.append(_numbered_once(distinct), _MISSING)[distinct.codes])


def _numbered_once(distinct: Distinct) -> NDArray[np.int64]:
    """Return for each cell the first one that reads the same; plain numbers are read all at once."""
    from pyarrow import types

    n = len(distinct.cells)
    floats, firsts = np.full(n, np.nan), np.full(n, _MISSING)
    if types.is_integer(distinct.cells.type):
        return np.arange(n)
    plain = plain_numbers(distinct.cells)
    others = np.arange(n)
    if plain is not None:
        which, floats[which] = plain
        others = np.flatnonzero(~which)
    seen: dict[Any, int] = {}
    for i, said in zip(others.tolist(), map(reading, distinct.at(others)), strict=True):
        if isinstance(said, int | float) and abs(said) < _DOUBT:
            floats[i] = said
        elif said is not None:
            firsts[i] = seen.setdefault(said, i)
    numeric = np.flatnonzero(~np.isnan(floats))
    _, first, inverse = np.unique(floats[numeric], return_index=True, return_inverse=True)
    firsts[numeric] = numeric[first][inverse]
    return firsts
