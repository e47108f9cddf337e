"""Concatenate tables that are stored in several files.

Files may store a column differently: a writer that guesses types stores whole numbers as doubles where a cell
is missing. Such columns are converted to a common type only if no cell changes its value (claim C1 of
docs/privacy.md). Other combinations of types are refused, and only types decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any


def concatenated(tables: Sequence[Any], sources: Sequence[str]) -> Any:
    """Return Arrow tables with the same columns as one table, in the order of the first one's columns.

    Parameters
    ----------
    tables : sequence of pyarrow.Table
        The parts.
    sources : sequence of str
        The names of the parts in messages.

    Returns
    -------
    table : pyarrow.Table
        All records.

    Raises
    ------
    ValueError
        If a column is not in all of them, or is stored in types that have no common one.
    """
    if len(tables) == 1:
        return tables[0]
    import pyarrow

    types = common_types(tables, sources)
    return pyarrow.concat_tables([in_types(table, types) for table in tables])


def under_one_another(columns: Sequence[Any]) -> Any:
    """Return the parts of a column as one column; if there are several, as a column of Arrow.

    Parameters
    ----------
    columns : sequence of columns
        The parts, all of one type.

    Returns
    -------
    column : object
        All cells, in order.
    """
    if len(columns) == 1:
        return columns[0]
    import pyarrow

    return pyarrow.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)


def common_types(tables: Sequence[Any], sources: Sequence[str]) -> Any:
    """Return the columns of the first of these tables in types that hold the cells of all, as Arrow's schema.

    Parameters
    ----------
    tables : sequence of pyarrow.Table
        The parts, which may have no rows.
    sources : sequence of str
        The names of the parts in messages.

    Returns
    -------
    types : pyarrow.Schema
        Names and types.

    Raises
    ------
    ValueError
        If a column is not in all of them, or is stored in types that have no common one.
    """
    import pyarrow

    first, *others = tables
    if not others:
        return first.schema
    in_first = Counter(first.column_names)
    for source, table in zip(sources[1:], others, strict=True):
        in_this = Counter(table.column_names)
        for name in (*in_first, *in_this):
            if in_first[name] != 1 or in_this[name] != 1:
                raise ValueError(
                    f"{sources[0]} and {source} must have the same columns; {name!r} is not once in each."
                )
    schemas = [table.schema for table in tables]
    return pyarrow.schema([(name, _common_type(name, schemas, sources)) for name in in_first])


def _common_type(name: str, schemas: Sequence[Any], sources: Sequence[str]) -> Any:
    common = schemas[0].field(name).type
    for schema, source in zip(schemas, sources, strict=True):
        found = _common(common, schema.field(name).type)
        if found is None:
            raise ValueError(
                f"{source} stores column {name!r} in another type than the files before it; write them in "
                "one type."
            )
        common = found
    return common


def in_types(table: Any, types: Any) -> Any:
    """Return the columns of a table in these types and in this order.

    Parameters
    ----------
    table : pyarrow.Table
        Some rows.
    types : pyarrow.Schema
        The types that `common_types` returned.

    Returns
    -------
    table : pyarrow.Table
        The same rows.
    """
    if table.schema.equals(types):
        return table
    import pyarrow

    names = types.names
    if table.column_names == names and len(set(names)) < len(names):
        return table  # the caller raises an error for names that occur twice
    columns = [_cast(table.column(field.name), field.type) for field in types]
    return pyarrow.table(columns, names=names)


def _cast(part: Any, common: Any) -> Any:
    from pyarrow import types

    if part.type == common:
        return part
    if types.is_dictionary(part.type):
        part = part.cast(part.type.value_type)
    # safe=False: if a double cannot hold an integer, the nearest is used; an error would be about a cell
    return part.cast(common, safe=False)


def _common(one: Any, other: Any) -> Any:
    """Return a type in which the cells of both types keep their values, or None."""
    import pyarrow
    from pyarrow import types

    if one == other or types.is_null(other):
        return one
    if types.is_null(one):
        return other
    if all(types.is_integer(each) or types.is_floating(each) for each in (one, other)):
        return pyarrow.float64()
    return pyarrow.large_binary() if _is_text(one) and _is_text(other) else None


def _is_text(dtype: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(dtype):
        return _is_text(dtype.value_type)
    kinds = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    return any(hasattr(types, f"is_{kind}") and getattr(types, f"is_{kind}")(dtype) for kind in kinds)
