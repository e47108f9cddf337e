"""Drafts of schemas, which a custodian fills in from public knowledge."""

from __future__ import annotations

import datetime
import math
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privfit.leaks import uncovered
from privfit.schema.cells import day, reading
from privfit.schema.column import first_repeated
from privfit.schema.curved import Curved
from privfit.schema.document import LABEL_TYPES, TYPES, toml_value
from privfit.schema.files import header_of_all
from privfit.schema.frames import column_names, dtype_name, dtype_of, kind_of, opened, refuse_what_is_no_table
from privfit.schema.numbers import Date, Numeric
from privfit.schema.stored import Distinct, stored

_MOST_CATEGORIES = 50  # a text column with more distinct values is not drafted as categories
# ISO dates, and 31.12.2026, which is unambiguous, unlike 05/06/2026
_ANY_DATE = Date("any", datetime.date.min, datetime.date.max, format="%d.%m.%Y")
_UNITS = ("", "$", "€", "£", "%")

_REVEALED = (
    "the types, lowest and highest values, categories and classes of this draft were read off the records: "
    "the lowest and the highest value are those of single people, a category may be one person's, and "
    "whoever sees this file, or a model made by it, learns that such people are in the table"
)

_HEAD = """\
# What is public about the table. Fill in what is left blank, "" or [], from public knowledge: a code book, a
# law, common sense. Do not take it from the records: a schema is public, and what the records hold is not.
"""
_LEAK_HEAD = """\
# NOT FOR PUBLICATION, AND NOT COVERED BY ANY PROMISE:
# {what}.
# Replace every such value by one from public knowledge, and remove the next line, before you publish.
taken_from_data = true
"""
_GUIDE = """\
#
# type         also say                        a cell is
# numeric      low, high, [unit, thousands,    a number; the unit ("$") may stand beside it in text;
#              decimal]                        decimal = "," reads 1,5 as one and a half
# integer      low, high, [unit, thousands]    a whole number
# boolean      [words = ["no", "yes"]]         true or false, 1 or 0, or one of the two words
# categorical  categories, [reference]         one of a list; each becomes an indicator
# ordinal      order                           one of a list with an order, the lowest first
# date         low, high, [format]             2026-05-27, or as format = "%d.%m.%Y" has it
# id           [rows_per_person]               who it is: never a feature; rows_per_person = 5 makes the
#                                              promise about people, of whom 5 rows each are used at most
# weight       max, [mean, shrinkage]          how much the record counts; a larger one counts as max
# ignored                                      nothing that matters here
#
# missing = "fill": a cell that is missing or does not fit counts as the middle, or as fill = ...;
#           "indicator": it has an indicator of its own; "refuse": the table is refused.
# curve = true, of numbers and dates: what is predicted may bend along the column instead of following a
#           line; curve = 8 asks for 8 edges at which it bends, curve = [18, 30, 65] for these.
# monotone = "up" or "down", of any type with an order: a higher value only raises, or only lowers, what is
#           predicted (not with more than two classes).

# records = 1000  # the number of records, if it is public
"""
_CURVED = [name for name, kind in TYPES.items() if issubclass(kind, Curved)]
_BLANKS: dict[str, dict[str, Any]] = {
    "": {},
    "numeric": {"low": "", "high": "", "unit": ""},
    "integer": {"low": "", "high": "", "unit": ""},
    "boolean": {},
    "categorical": {"categories": []},
    "ordinal": {"order": []},
    "date": {"low": "", "high": ""},
    "id": {},
    "ignored": {},
}


@dataclass(frozen=True)
class _Guess:
    """A type, the known values of its keys, and a remark."""

    type: str
    known: Mapping[str, Any] = field(default_factory=dict)
    remark: str = ""


def drafted(table: Any, *, label: str | None, label_type: str, leak: bool, curves: bool) -> str:
    """Write the template of a schema for a table."""
    if label_type not in LABEL_TYPES:
        raise ValueError(f"The type of a label is one of {', '.join(LABEL_TYPES)}, not {label_type!r}.")
    if leak:
        uncovered(f"Beware: {_REVEALED}; fill them in from public knowledge instead.")
    header = None if leak else header_of_all(table)
    if header is not None:
        guesses = {name: _Guess("id" if _is_id(name) else "") for name in header}
    else:
        table = opened(table)
        guesses = _guessed(table, leak=leak)
    if label is not None and label not in guesses:
        raise ValueError(f"The table has no column {label!r} to be the label.")
    blocks = [_column(name, guess, curves=curves) for name, guess in guesses.items() if name != label]
    head = (
        _HEAD
        + (_LEAK_HEAD.format(what=textwrap.fill(_REVEALED, 106, subsequent_indent="# ")) if leak else "")
        + _GUIDE
    )
    known: dict[str, Any] = {}
    if leak and label is not None:
        known = _of_label(guesses[label], table[label], label_type)
    return "\n".join([head, *blocks, _label(label or "", label_type, known)])


def _guessed(table: Any, *, leak: bool) -> dict[str, _Guess]:
    refuse_what_is_no_table(table)
    names = column_names(table)
    if names is None:
        raise TypeError(f"A draft is made of a frame or the path of a file, not of {type(table).__name__}.")
    repeated = first_repeated(map(str, names))
    if repeated is not None:
        raise ValueError(f"The table has two columns {repeated!r}; rename one of them.")
    guesses = {}
    for name in map(str, names):
        guess = _by_dtype(dtype_of(table[name]))
        if _is_id(name):
            guess = _Guess("id")
        elif leak and guess.type != "ignored":
            guess = _by_cells(guess, table[name])
        guesses[name] = guess
    return guesses


def _is_id(name: str) -> bool:
    return re.search(r"(?:^|[\W_])id$", name, re.IGNORECASE) is not None


def _by_dtype(dtype: Any) -> _Guess:
    if dtype is None:
        return _Guess("")
    name, kind = dtype_name(dtype), kind_of(dtype)
    number = "numeric"
    if name.lower().startswith("bool"):
        number = "boolean"
    elif name.lower().startswith(("int", "uint")):
        number = "integer"
    types = {"numbers": number, "text": "categorical", "dates": "date", "anything": "", "neither": "ignored"}
    remark = "or whatever the text says" if kind == "text" else f"the dtype is {name}"
    return _Guess(types[kind], remark=remark)


# -- guesses that read the records ---------------------------------------------------------------------------


def _by_cells(guess: _Guess, column: Any) -> _Guess:
    cells = stored(column)
    if isinstance(cells, np.ndarray):
        return _by_array(guess, cells)
    distinct = cells.at(np.arange(len(cells.cells))) if isinstance(cells, Distinct) else cells
    filled = [cell for cell in distinct if reading(cell) is not None or not math.isnan(day(cell))]
    dates = [_ANY_DATE.read(cell) for cell in filled]
    if dates and not any(map(math.isnan, dates)):
        first, last = (datetime.date.fromordinal(int(end)) for end in (min(dates), max(dates)))
        iso = not any(math.isnan(day(cell)) for cell in filled)
        return _Guess("date", {**_ends(first, last), **({} if iso else {"format": _ANY_DATE.format})})
    said = {reading(cell): cell for cell in filled}
    if said and all(_text(cell).lower() in ("true", "false") for cell in said.values()):
        return _Guess("boolean")
    for unit in _UNITS:
        for mark in ({"thousands": ","}, {"decimal": ","}, {"decimal": ",", "thousands": "."}):
            numeric = Numeric("-", 0, 1, unit=unit, **mark)
            numbers = [numeric.read(cell) for cell in said.values()]
            if numbers and not any(map(math.isnan, numbers)):
                marks = {"unit": unit, **mark} if any(isinstance(key, str) for key in said) else {}
                return _of_numbers(numbers, marks)
    if len(said) <= _MOST_CATEGORIES:
        return _Guess("categorical", {"categories": sorted(map(str, said))})
    return _Guess("ignored", remark=f"text with more than {_MOST_CATEGORIES} different values")


def _text(cell: Any) -> str:
    return cell.decode("utf-8", errors="replace") if isinstance(cell, bytes) else str(cell)


def _by_array(guess: _Guess, cells: np.ndarray[Any, Any]) -> _Guess:
    if cells.dtype.kind == "M":
        days = cells.astype("datetime64[D]")[~np.isnat(cells)]
        return _Guess("date", _ends(days.min().item(), days.max().item()) if len(days) else {})
    if guess.type == "boolean":
        return guess
    numbers = cells.astype(np.float64)
    return _of_numbers(numbers[np.isfinite(numbers)].tolist(), {})


def _of_numbers(numbers: list[float], marks: Mapping[str, Any]) -> _Guess:
    finite = [number for number in numbers if math.isfinite(number)]
    whole = all(number.is_integer() for number in finite)
    if not finite:
        return _Guess("numeric", marks)
    low, high = (int(end) if whole else end for end in (min(finite), max(finite)))
    return _Guess("integer" if whole else "numeric", {**_ends(low, high), **marks})


def _ends(low: Any, high: Any) -> dict[str, Any]:
    return {"low": low, "high": high} if low < high else {}


def _of_label(guess: _Guess, column: Any, label_type: str) -> dict[str, Any]:
    """Return the keys of a label that its cells reveal."""
    if label_type == "classes":
        return {"classes": _classes(column)}
    found = _by_cells(guess, column).known
    marks = {key: found[key] for key in ("unit", "thousands", "decimal") if found.get(key)}
    if label_type == "number":
        return {key: found.get(key, "") for key in ("low", "high")} | marks
    return {"largest": found.get("high", "")} | marks


def _classes(column: Any) -> list[Any]:
    cells = stored(column)
    if isinstance(cells, np.ndarray):
        distinct = np.unique(cells).tolist()
        truths = str(dtype_of(column)).lower().startswith("bool")
        distinct = [bool(value) if truths else value for value in distinct if value == value]
    else:
        distinct = cells.at(np.arange(len(cells.cells))) if isinstance(cells, Distinct) else cells
    said = {reading(cell): cell for cell in distinct if reading(cell) is not None}
    if len(said) > _MOST_CATEGORIES:
        return []
    if all(isinstance(cell, bool) for cell in said.values()):
        return sorted(map(bool, said))
    whole = all(isinstance(key, int) for key in said)
    return sorted(map(int, said)) if whole else sorted(map(str, said))  # type: ignore[arg-type]


# -- text ---------------------------------------------------------------------------------------------------


def _column(name: str, guess: _Guess, *, curves: bool) -> str:
    if not name:  # such as the index that pandas writes as the first column of a CSV file
        return "# A column without a name is left out, and is ignored: a schema names what it uses.\n"
    choices = "" if guess.type else f"one of {', '.join(TYPES)}"
    lines = [
        "[[columns]]",
        f"name = {toml_value(name)}",
        _line("type", guess.type, guess.remark or choices),
        *(_line(key, value) for key, value in (_BLANKS[guess.type] | dict(guess.known)).items()),
    ]
    if _BLANKS[guess.type]:
        lines.append('missing = "fill"')
    if curves and not guess.type:
        lines.append(_line("curve", True, f"remove it unless the type is {', '.join(_CURVED)}"))
    elif curves and guess.type in _CURVED:
        lines.append(_line("curve", True))
    return "\n".join([*lines, ""])


_LABEL_BLANKS: dict[str, dict[str, Any]] = {
    "classes": {"classes": []},
    "number": {"low": "", "high": ""},
    "count": {"largest": ""},
}
_LABEL_HINTS = {
    "classes": (
        '# positive = ""  # of two classes: the one whose odds are spoken of',
        '# one_against_rest = ""  # instead of classes: one label is told from all others',
        '# type = "number" with low and high, or type = "count" with largest: instead of classes',
    ),
    "number": (
        "# without low and high, a fit buys the size of the numbers from its privacy budget",
        '# unit = ""  # what one of them is; thousands and decimal as for columns',
    ),
    "count": (
        "# without largest, a fit buys the size of the counts from its privacy budget",
        '# unit = ""  # what is counted',
    ),
}
_LABEL_MISSING = '# missing = "drop"  # leave out records without a label, instead of refusing the table'


def _label(name: str, label_type: str, known: Mapping[str, Any]) -> str:
    remark = "" if name else "the column to predict; take it out of the columns above"
    lines = [
        "[label]",
        _line("name", name, remark),
        *([] if label_type == "classes" else [_line("type", label_type)]),
        *(_line(key, value) for key, value in (_LABEL_BLANKS[label_type] | dict(known)).items()),
    ]
    return "\n".join([*lines, *_LABEL_HINTS[label_type], _LABEL_MISSING, ""])


def _line(key: str, value: Any, remark: str = "") -> str:
    return f"{key} = {toml_value(value)}" + (f"  # {remark}" if remark else "")
