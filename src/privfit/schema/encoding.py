"""Records to numbers in [0, 1], by the schema alone (claim C1 of docs/privacy.md).

A column is read in one of three ways, by how it is stored: as numbers or dates, all at once; as distinct
texts, each of them once; or cell by cell. All three read a cell by what it says, so they agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from privfit.schema.cells import EPOCH
from privfit.schema.column import Feature, Numbers, Scale
from privfit.schema.frames import columns_of, is_arrow, opened
from privfit.schema.label import Label
from privfit.schema.schema import Schema


def encode(
    X: Any, schema: Schema, *, sparse: bool | None = None, dtype: type[np.floating[Any]] = np.float32
) -> csr_matrix | NDArray[Any]:
    """Encode a table with the schema's columns by name (others are ignored), or rows in schema order.

    Parameters
    ----------
    X : data frame, Arrow table, dict of columns, array, list of rows, or path of a CSV or Parquet file
        The table, one record in each row. The path of a directory of Parquet files, or a list of paths, is
        the table that these files hold together.
    schema : Schema
        What the encoding follows from.
    sparse : bool, optional
        Whether to return a CSR matrix; by default where at most half of the entries can differ from zero.
    dtype : numpy.float32 or numpy.float64
        Of the numbers. Fits use single precision, predictions double.

    Returns
    -------
    matrix : CSR matrix or array of shape (n_records, n_encoded_features)
        Numbers in [0, 1].

    Raises
    ------
    TypeError, ValueError
        If X lacks a column, or one cannot hold what the schema declares. No cell is quoted.
    """
    columns = columns_of(opened(X, [fact.name for fact in schema.features]), schema.features)
    shape = (len(columns[0]), len(columns))
    # Every column puts exactly one entry in every row; those that are zero are dropped at the end.
    values = np.empty(shape, dtype=dtype)
    positions = np.empty(shape, dtype=np.int32)
    width = 0
    for j, (fact, column) in enumerate(zip(schema.features, columns, strict=True)):
        values[:, j], place = _entries(fact, readings(fact, column))
        positions[:, j] = width + place
        width += len(fact.levels)
    if sparse is None:
        sparse = 2 * len(columns) <= width
    if not sparse:
        dense = np.zeros((shape[0], width), dtype=dtype)
        dense[np.arange(shape[0])[:, None], positions] = values
        return dense
    row_starts = np.arange(shape[0] + 1) * shape[1]
    encoded = csr_matrix((values.ravel(), positions.ravel(), row_starts), shape=(shape[0], width))
    encoded.eliminate_zeros()
    return encoded


def labels_of(X: Any, schema: Schema) -> NDArray[Any]:
    """Return the class of every record, from the label's column.

    Parameters
    ----------
    X : data frame, Arrow table, dict of columns, or path of a CSV or Parquet file
        The table.
    schema : Schema
        Whose label it is.

    Returns
    -------
    labels : array of shape (n_records,)
        Classes as the schema writes them.
    """
    label = schema.label
    (column,) = columns_of(opened(X, [label.name]), [label])
    numbers = readings(label, column)
    if np.isnan(numbers).any():
        raise ValueError(
            f"The label {label.name!r} is missing, or none of the declared classes, in some records; correct "
            "the classes or those records."
        )
    classes: NDArray[Any] = np.array(label.classes)
    return classes[numbers.astype(np.intp)]


def _entries(fact: Feature, said: Numbers) -> tuple[Numbers, NDArray[np.int32]]:
    """Return what a column puts into every row, and into which of the column's features."""
    missing = np.isnan(said)
    if fact.missing == "refuse" and missing.any():
        raise ValueError(
            f"Column {fact.name!r} has cells that are missing or do not fit, which the schema refuses; "
            'schema.check(table) counts them, and missing = "fill" or "indicator" takes them.'
        )
    if isinstance(fact, Scale):
        filled = 0.5 if fact.fill is None else float(fact.scaled(np.array([fact.read(fact.fill)]))[0])
        values = np.where(missing, 1.0 if fact.has_indicator else filled, fact.scaled(said))
        return values, (missing & fact.has_indicator).astype(np.int32)
    if fact.has_indicator:
        unlisted = len(fact.levels) - 1
    else:
        unlisted = -1 if fact.fill is None else int(fact.read(fact.fill))
    places = np.where(missing, unlisted, said).astype(np.int32)
    return (places >= 0).astype(np.float64), np.maximum(places, 0)


# -- columns as they are stored -----------------------------------------------------------------------------


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


def readings(fact: Feature | Label, column: Any) -> Numbers:
    """Return the number that every cell of a column stands for; NaN where it is missing or does not fit."""
    cells = stored(column)
    if isinstance(cells, Distinct):
        return np.take(np.append(_once(fact, cells), np.nan), cells.codes)
    if not isinstance(cells, np.ndarray):
        return _cell_by_cell(fact, cells)
    if cells.dtype.kind == "M":
        days = cells.astype("datetime64[D]")
        return fact.read_days(np.where(np.isnat(days), np.nan, days.astype(np.int64) + EPOCH))
    return fact.read_numbers(cells.astype(np.float64))


def _once(fact: Feature | Label, column: Distinct) -> Numbers:
    """Read every distinct cell; texts that are plain numbers all at once."""
    said = np.empty(len(column.cells))
    plain = plain_numbers(column.cells)
    others = np.arange(len(said))
    if plain is not None:
        which, numbers = plain
        said[which] = fact.read_numbers(numbers)
        others = np.flatnonzero(~which)
    said[others] = [fact.read(cell) for cell in column.at(others)]
    return said


def plain_numbers(cells: Any) -> tuple[NDArray[np.bool_], Numbers] | None:
    """Return which texts are decimal numbers without exponent, and these numbers, correctly rounded."""
    if not is_arrow(cells):
        return None
    import pyarrow
    from pyarrow import compute, types

    if not (types.is_large_binary(cells.type) or types.is_large_string(cells.type)):
        return None
    # integers so short are exact, as `read` has them
    which = compute.match_substring_regex(cells, r"^-?[0-9]{1,15}(\.[0-9]*)?$").fill_null(False)
    numbers = cells.filter(which).cast(pyarrow.large_string()).cast(pyarrow.float64())
    return np.asarray(which.to_numpy(zero_copy_only=False)), np.asarray(
        numbers.to_numpy(zero_copy_only=False)
    )


def _cell_by_cell(fact: Feature | Label, cells: Sequence[Any]) -> Numbers:
    """Read cells one by one, each text once.

    Only texts are remembered: other cells may be equal and still say different things, such as dates in
    two time zones.
    """
    read, seen = fact.read, _Seen(fact)
    said = (seen[cell] if type(cell) is str else read(cell) for cell in cells)
    return np.fromiter(said, dtype=np.float64, count=len(cells))


class _Seen(dict[str, float]):
    def __init__(self, fact: Feature | Label) -> None:
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
    return distinct_of(column)


def distinct_of(column: Any) -> Distinct:
    """Return the distinct cells of an Arrow column; texts are of one of the two large types."""
    import pyarrow
    from pyarrow import types

    if isinstance(column, pyarrow.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    if not types.is_dictionary(column.type):
        if types.is_string(column.type) or str(column.type) == "string_view":
            column = column.cast(pyarrow.large_string())
        elif types.is_binary(column.type) or str(column.type) == "binary_view":
            column = column.cast(pyarrow.large_binary())
        column = column.dictionary_encode()
    codes = column.indices.cast(pyarrow.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return Distinct(column.dictionary, codes)
