"""Columns as they are stored, read by what their cells say (claim C1 of docs/privacy.md).

A column is read in one of three ways, by how it is stored: as numbers or dates, all at once; as distinct
texts, each of them once; or cell by cell. All three read a cell by what it says, so they agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.schema.cells import EPOCH, day, reading
from privfit.schema.column import Feature, Numbers
from privfit.schema.frames import is_arrow, kind_of
from privfit.schema.label import AnyLabel
from privfit.schema.numbers import Numeric
from privfit.schema.quantities import Quantity

_PLAIN_WHOLE = r"[0-9]{1,15}"
_PLAIN = r"[0-9]{1,15}(\.[0-9]*)?"


@dataclass(frozen=True)
class Distinct:
    """A column by its distinct cells, a list or an Arrow array, and which of them each record has.

    A record without a cell has the code -1.
    """

    cells: Any
    codes: NDArray[np.integer[Any]]

    def at(self, positions: NDArray[np.intp]) -> list[Any]:
        """Return some of the cells."""
        if is_arrow(self.cells):
            return list(self.cells.take(positions).to_pylist())
        return [self.cells[position] for position in positions.tolist()]


def readings(fact: Feature | AnyLabel, column: Any) -> Numbers:
    """Return the number that every cell of a column stands for; NaN where it is missing or does not fit."""
    return read_stored(fact, stored(column))


def read_stored(fact: Feature | AnyLabel, cells: NDArray[Any] | Distinct | Sequence[Any]) -> Numbers:
    """Return the number that each of some cells stands for, as `readings` does."""
    if isinstance(cells, Distinct):
        return np.take(np.append(_once(fact, cells), np.nan), cells.codes)
    if not isinstance(cells, np.ndarray):
        return _cell_by_cell(fact, cells)
    if cells.dtype.kind == "M":
        days = cells.astype("datetime64[D]")
        return fact.read_days(np.where(np.isnat(days), np.nan, days.astype(np.int64) + EPOCH))
    return fact.read_numbers(cells.astype(np.float64))


def _once(fact: Feature | AnyLabel, column: Distinct) -> Numbers:
    """Read every distinct cell; texts that are plain numbers all at once."""
    said = np.empty(len(column.cells))
    number = fact.as_column if isinstance(fact, Quantity) else fact
    points_group_digits = isinstance(number, Numeric) and number.points_group_digits
    plain = _plain_numbers(column.cells, _PLAIN_WHOLE if points_group_digits else _PLAIN)
    others = np.arange(len(said))
    if plain is not None:
        which, numbers = plain
        said[which] = fact.read_numbers(numbers)
        others = np.flatnonzero(~which)
    said[others] = [fact.read(cell) for cell in column.at(others)]
    return said


def _plain_numbers(cells: Any, pattern: str) -> tuple[NDArray[np.bool_], Numbers] | None:
    """Return which texts are numbers written like this, and these numbers, correctly rounded."""
    if not is_arrow(cells):
        return None
    import pyarrow
    from pyarrow import compute, types

    if not (types.is_large_binary(cells.type) or types.is_large_string(cells.type)):
        return None
    # integers so short are exact, as `read` has them
    which = compute.match_substring_regex(cells, f"^-?{pattern}$").fill_null(False)
    numbers = cells.filter(which).cast(pyarrow.large_string()).cast(pyarrow.float64())
    return np.asarray(which.to_numpy(zero_copy_only=False)), np.asarray(
        numbers.to_numpy(zero_copy_only=False)
    )


def _cell_by_cell(fact: Feature | AnyLabel, cells: Sequence[Any]) -> Numbers:
    """Read cells one by one, each text once.

    Only texts are remembered: other cells may be equal and still say different things, such as dates in
    two time zones.
    """
    read, seen = fact.read, _Seen(fact)
    said = (seen[cell] if type(cell) is str else read(cell) for cell in cells)
    return np.fromiter(said, dtype=np.float64, count=len(cells))


class _Seen(dict[str, float]):
    def __init__(self, fact: Feature | AnyLabel) -> None:
        self._fact = fact

    def __missing__(self, text: str) -> float:
        self[text] = said = self._fact.read(text)
        return said


def stored(column: Any) -> NDArray[Any] | Distinct | Sequence[Any]:
    """Return a column's cells: an array if all are numbers or dates, distinct cells, or else a list."""
    if is_arrow(column):
        return _from_arrow(column)
    if hasattr(column, "to_arrow"):  # polars
        if column.dtype.is_integer():
            return np.asarray(column.cast(float).to_numpy())  # because it has longer integers than NumPy
        return column.to_list() if str(column.dtype) == "Object" else _from_arrow(column.to_arrow())
    if hasattr(column, "cat") and hasattr(column.cat, "codes"):  # pandas' category
        return Distinct(column.cat.categories.tolist(), column.cat.codes.to_numpy())
    array: Any = getattr(column, "array", None)
    if hasattr(array, "__arrow_array__"):  # pandas' own types
        return _from_arrow(array.__arrow_array__())
    if getattr(getattr(column, "dtype", None), "tz", None) is not None:
        column = column.dt.tz_localize(None)
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    if not isinstance(values, np.ndarray):
        return list(values)
    return values if values.dtype.kind in "biufM" else values.tolist()


def _from_arrow(column: Any) -> NDArray[Any] | Distinct:
    import pyarrow
    from pyarrow import types

    if isinstance(column, pyarrow.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    if types.is_null(column.type):
        return np.full(len(column), np.nan)
    if types.is_boolean(column.type):
        column = column.cast(pyarrow.int8())
    if types.is_integer(column.type) or types.is_floating(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if types.is_date(column.type) or types.is_timestamp(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False)).astype("datetime64[D]")
    column = _dictionary(column)
    codes = column.indices.cast(pyarrow.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return Distinct(column.dictionary, codes)


def coded(table: Any, on_column: Callable[[int, int], None] = lambda done, total: None) -> Any:
    """Return an Arrow table whose texts are stored by distinct cells, which makes reading them again quick.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    on_column : callable
        Called with the number of columns that are done, and with that of all.

    Returns
    -------
    table : pyarrow.Table
        The same records.
    """
    import pyarrow

    columns = []
    for column in table.columns:
        columns.append(_dictionary(column) if kind_of(column.type) == "text" else column)
        on_column(len(columns), table.num_columns)
    return pyarrow.table(columns, names=table.column_names, metadata=table.schema.metadata)


def numbered(table: Any, facts: Sequence[Feature]) -> Any:
    """Return an Arrow table in which texts that all are plain numbers are stored as the numbers they say.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    facts : sequence of Feature
        Its columns; those of numbers are looked at, unless points group digits in them.

    Returns
    -------
    table : pyarrow.Table
        The same records, whose cells read the same.
    """
    for fact in facts:
        if not isinstance(fact, Numeric) or fact.points_group_digits:
            continue
        plain = _plain_numbers(table.column(fact.name).combine_chunks(), _PLAIN)
        if plain is not None and plain[0].all():
            table = table.set_column(table.column_names.index(fact.name), fact.name, [plain[1]])
    return table


def _dictionary(column: Any) -> Any:
    """Return an Arrow column by its distinct cells; texts are of one of the two large types."""
    import pyarrow
    from pyarrow import types

    if isinstance(column, pyarrow.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    if types.is_dictionary(column.type):
        if len(column.dictionary) <= len(column):
            return column
        column = column.dictionary_decode()  # some records of a table with more cells than they have
    if types.is_string(column.type) or str(column.type) == "string_view":
        column = column.cast(pyarrow.large_string())
    elif types.is_binary(column.type) or str(column.type) == "binary_view":
        column = column.cast(pyarrow.large_binary())
    return column.dictionary_encode()


def which_are_empty(
    cells: NDArray[Any] | Distinct | Sequence[Any], suspects: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which of the records under suspicion have a cell that says nothing at all."""
    if isinstance(cells, Distinct):
        positions = np.unique(cells.codes[suspects])
        positions = positions[positions >= 0].astype(np.intp)
        silent = [
            place for place, cell in zip(positions, cells.at(positions), strict=True) if _is_empty(cell)
        ]
        return suspects & np.isin(cells.codes, [-1, *silent])
    if isinstance(cells, np.ndarray):
        return np.isnat(cells) if cells.dtype.kind == "M" else np.isnan(cells.astype(np.float64))
    empty = np.zeros(len(suspects), dtype=bool)
    empty[suspects] = [_is_empty(cells[record]) for record in np.flatnonzero(suspects).tolist()]
    return empty


def _is_empty(cell: Any) -> bool:
    return reading(cell) is None and math.isnan(day(cell))
