"""Count missing and repeated ids.

Ids are compared by their values as `privfit.schema.cells` reads them: 7, 7.0, "7" and "007" are one id. Whole
numbers of any length are compared in full, unless their column is stored as floats, which are rounded
already. Texts in exponent notation are compared as texts, because "12e4" and "120e3" may be two hexadecimal
ids.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from privfit.schema.cells import reading
from privfit.schema.frames import column_names, columns_of, is_arrow, opened
from privfit.schema.schema import Schema

_EXPONENT = re.compile(r"[+-]?[0-9.]+e[+-]?[0-9]+", re.IGNORECASE)

# Texts that are equal if and only if their values are equal (RE2): whole numbers in their usual notation, and
# words without white space that are neither a number nor a truth value.
_USUAL_WHOLE = r"^(0|-?[1-9][0-9]{0,300})$"
_WORD = r"^[!-~]*[!-*,/:-DF-df-~][!-~]*$"  # at least one character is neither a digit nor e, sign or point
_WITH_A_MEANING = r"(?i)^([+-]?(inf|infinity|nan)|true|false)$"


@dataclass(frozen=True)
class IdCounts:
    """The counts of missing and repeated ids, for the custodian of the data only.

    Attributes
    ----------
    missing : int
        Records without an id; they do not count as repeated.
    repeated : int
        Records with an id that an earlier record has.
    """

    missing: int
    repeated: int


def repeated_ids(table: Any, schema: Schema) -> bool:
    """Return whether two records of a table have the same id.

    The answer is exact, and no ledger is charged for it, so it is for the custodian only.

    Parameters
    ----------
    table : data frame, dict of columns, pyarrow table, or path of a CSV or Parquet file
        The records.
    schema : Schema
        The schema; its column of type "id" tells people apart.

    Returns
    -------
    repeated : bool
        False if the schema declares no id or the table does not have that column. Records without an id do
        not count.
    """
    declared = schema.identifier
    if declared is None:
        return False
    table = opened(table, [declared.name])
    names = column_names(table)
    if names is None or declared.name not in names:
        return False
    (column,) = columns_of(table, [declared])
    return id_counts(column).repeated > 0


def id_counts(column: Any) -> IdCounts:
    """Count missing and repeated ids of a column."""
    cells = as_comparable(column)
    return _one_by_one(listed(column)) if cells is None else _of_arrow(cells)


def listed(column: Any) -> list[Any]:
    """Return the cells of a column, one by one."""
    for method in ("to_pylist", "to_list", "tolist"):  # of Arrow, of polars and pandas, of NumPy
        if hasattr(column, method):
            listed: list[Any] = getattr(column, method)()
            return listed
    return list(column)


def _one_by_one(cells: Iterable[Any]) -> IdCounts:
    keys = [key_of(cell) for cell in cells]
    present = [key for key in keys if key is not None]
    return IdCounts(len(keys) - len(present), len(present) - len(set(present)))


def key_of(cell: Any) -> Any:
    """Return a key that is equal for all cells with the same id; None if the cell has no id."""
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", errors="replace")
    said = reading(cell)
    if isinstance(cell, str) and said is not None:
        text = cell.rstrip("\0").strip()
        if _EXPONENT.fullmatch(text) or (isinstance(said, float) and math.isinf(said)):
            return text
    return said


def as_comparable(column: Any) -> Any:
    """Return a column as an Arrow array of comparable values; None if cells must be read one by one."""
    import pyarrow
    from pyarrow import types

    try:
        if hasattr(column, "to_arrow"):  # polars
            column = column.to_arrow()
        if not is_arrow(column):
            column = pyarrow.array(column, from_pandas=True)
        if isinstance(column, pyarrow.ChunkedArray):
            column = column.unify_dictionaries().combine_chunks()
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if types.is_boolean(column.type):
            column = column.cast(pyarrow.int8())
        if str(column.type) in _TEXTS:
            column = column.cast(pyarrow.large_string())
    except Exception:  # cells of several types, or bytes that are not text; Arrow's message quotes one
        return None
    kinds = ("integer", "floating", "decimal", "large_string", "fixed_size_binary", "null")
    return column if any(getattr(types, f"is_{kind}")(column.type) for kind in kinds) else None


_TEXTS = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")


def _of_arrow(column: Any) -> IdCounts:
    from pyarrow import compute, types

    present = column.drop_null() if column.null_count else column
    missing = len(column) - len(present)
    if types.is_large_string(present.type):
        present = _as_whole_numbers(present)
    if types.is_large_string(present.type):
        distinct, silent = _distinct_texts(present)
        return IdCounts(missing + silent, len(present) - silent - distinct)
    if types.is_decimal(column.type) or types.is_fixed_size_binary(column.type):
        return IdCounts(missing, len(present) - len(compute.unique(present)))
    numbers = present.to_numpy(zero_copy_only=False)
    if numbers.dtype.kind == "f":
        numbers = numbers[~np.isnan(numbers)]
    ordered = np.sort(numbers)
    return IdCounts(len(column) - len(ordered), int(np.count_nonzero(ordered[1:] == ordered[:-1])))


def _as_whole_numbers(texts: Any) -> Any:
    """Return texts as integers if all of them are written in digits alone and are not too long."""
    import pyarrow
    from pyarrow import compute

    if compute.all(compute.utf8_is_decimal(texts)).as_py():
        with suppress(pyarrow.ArrowInvalid):  # more than 18 digits, or digits beyond ASCII
            return texts.cast(pyarrow.int64())
    return texts


def _distinct_texts(texts: Any) -> tuple[int, int]:
    """Return the number of different ids in these texts, and the number of texts without an id."""
    import pyarrow
    from pyarrow import compute

    def match(pattern: str) -> Any:
        return compute.match_substring_regex(texts, pattern)

    usual = compute.or_(compute.and_not(match(_WORD), match(_WITH_A_MEANING)), match(_USUAL_WHOLE))
    distinct = compute.unique(texts if compute.all(usual).as_py() else texts.filter(usual))
    keys = [key_of(text) for text in texts.filter(compute.invert(usual)).to_pylist()]
    named = {key for key in keys if key is not None}
    as_usual = pyarrow.array([str(key) for key in named], type=pyarrow.large_string())
    known = compute.sum(compute.is_in(distinct, value_set=as_usual)).as_py() if named else 0
    return len(distinct) + len(named) - (known or 0), sum(key is None for key in keys)
