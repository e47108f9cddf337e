"""Read whole columns in the form in which they are stored (claim C1 of docs/privacy.md).

The form decides among three ways: numbers and dates are read all at once, distinct texts once each, and other
cells one by one. All three give the same value for the same cell.
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
_DIGITS = 15  # integers with at most this many digits are exact as float64


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
    """Return the value of every cell of a column as a number; NaN if it is missing or does not fit."""
    return read_stored(fact, stored(column))


def read_stored(fact: Feature | AnyLabel, cells: NDArray[Any] | Distinct | Sequence[Any]) -> Numbers:
    """Return the values of some cells as numbers, like `readings`."""
    if isinstance(cells, Distinct):
        return np.take(np.append(_once(fact, cells), np.nan), cells.codes)
    if not isinstance(cells, np.ndarray):
        return _cell_by_cell(fact, cells)
    if cells.dtype.kind == "M":
        days = cells.astype("datetime64[D]")
        return fact.read_days(np.where(np.isnat(days), np.nan, days.astype(np.int64) + EPOCH))
    return fact.read_numbers(cells.astype(np.float64))


def _once(fact: Feature | AnyLabel, column: Distinct) -> Numbers:
    """Read every distinct cell once; texts that are plain numbers are read together."""
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
    """Return which texts match the pattern of a number, and their values, correctly rounded."""
    if not is_arrow(cells):
        return None
    import pyarrow
    from pyarrow import compute, types

    if not (types.is_large_binary(cells.type) or types.is_large_string(cells.type)):
        return None
    # such short integers are exact, as in `read`
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
            return np.asarray(column.cast(float).to_numpy())  # polars has longer integers than NumPy
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

    column = _in_one_chunk(column)
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


def _in_one_chunk(column: Any) -> Any:
    """Return an Arrow column as one array, which has one dictionary."""
    import pyarrow

    if not isinstance(column, pyarrow.ChunkedArray):
        return column
    # combine_chunks copies, even a single chunk
    return column.chunk(0) if column.num_chunks == 1 else column.unify_dictionaries().combine_chunks()


def coded(table: Any, on_column: Callable[[int, int], None] = lambda done, total: None) -> Any:
    """Return an Arrow table whose texts are stored as dictionaries, which are faster to read again.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    on_column : callable
        Called with the number of finished columns and with the number of all columns.

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
    """Return an Arrow table in which columns of text with plain numbers alone are stored as numbers.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    facts : sequence of Feature
        Its columns. Columns of numbers are converted, unless points group digits in them.

    Returns
    -------
    table : pyarrow.Table
        The same records with the same values.
    """
    for fact in facts:
        if not isinstance(fact, Numeric) or fact.points_group_digits:
            continue
        cells = table.column(fact.name)
        if kind_of(cells.type) != "text":
            continue
        cells = cells.combine_chunks()
        numbers = _all_plain_numbers(cells)
        if numbers is None:
            plain = _plain_numbers(cells, _PLAIN)
            numbers = plain[1] if plain is not None and plain[0].all() else None
        if numbers is not None:
            table = table.set_column(table.column_names.index(fact.name), fact.name, [numbers])
    return table


def _all_plain_numbers(cells: Any) -> Any:
    """Return the numbers in texts if all are plain and short, like `_plain_numbers`; otherwise None.

    That takes less than half of the time of a regular expression. Cells of the characters from - to 9 are
    digits, points, minus signs and slashes. With a digit first, or after a sign, they are plain numbers if
    Arrow reads them as numbers.
    """
    import pyarrow
    from pyarrow import types

    if not types.is_large_binary(cells.type) or cells.null_count or not len(cells):
        return None
    _, borders, content = cells.buffers()
    ends = np.frombuffer(borders, np.int64, len(cells) + 1, 8 * cells.offset)
    lengths = np.diff(ends)
    if lengths.min() == 0 or lengths.max() > _DIGITS or content is None:
        return None
    data = np.frombuffer(content, np.uint8, int(ends[-1] - ends[0]), int(ends[0]))
    firsts = ends[:-1] - ends[0]
    after_sign = np.minimum(firsts + (data[firsts] == ord("-")), len(data) - 1)
    if data.min() < ord("-") or data.max() > ord("9") or data[after_sign].min() < ord("0"):
        return None
    try:
        return cells.cast(pyarrow.large_string()).cast(pyarrow.float64())
    except pyarrow.ArrowInvalid:
        return None


def _dictionary(column: Any) -> Any:
    """Return an Arrow column by its distinct cells; texts are of one of the two large types."""
    import pyarrow
    from pyarrow import types

    column = _in_one_chunk(column)
    if types.is_dictionary(column.type):
        if len(column.dictionary) <= len(column):
            return column
        column = column.dictionary_decode()  # a part of a table may have more distinct cells than records
    if types.is_string(column.type) or str(column.type) == "string_view":
        column = column.cast(pyarrow.large_string())
    elif types.is_binary(column.type) or str(column.type) == "binary_view":
        column = column.cast(pyarrow.large_binary())
    return column.dictionary_encode()


def which_are_empty(
    cells: NDArray[Any] | Distinct | Sequence[Any], suspects: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which of these records have an empty cell."""
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
