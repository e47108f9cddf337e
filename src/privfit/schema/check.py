"""What in a table does not fit its schema, counted by column and without quoting a value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.printable import printable
from privfit.schema.column import Column, Feature, Identifier, Ignored, Scale
from privfit.schema.frames import column_names, columns_of, opened, refuse_what_is_no_table
from privfit.schema.ids import id_counts
from privfit.schema.label import Label
from privfit.schema.levels import Boolean
from privfit.schema.schema import Schema
from privfit.schema.stored import read_stored, stored, which_are_empty

FOR_THE_CUSTODIAN = (
    "For the custodian of the data alone, not for publication: this counts records, which nobody paid for."
)


@dataclass(frozen=True)
class Finding:
    """Something in a column that the schema does not expect.

    Attributes
    ----------
    column : str
        The column's name; "" for the table as a whole.
    what : str
        What it is, without a value.
    records : int or None
        In how many records; None if it is about the column and not about records.
    fits : bool
        Whether the schema says what becomes of it.
    """

    column: str
    what: str
    records: int | None = None
    fits: bool = False

    def __str__(self) -> str:
        count = "" if self.records is None else f" in {self.records} record{'s' * (self.records != 1)}"
        return f"{printable(self.column) or 'the table'}: {self.what}{count}"


@dataclass(frozen=True)
class Findings:
    """What `Schema.check` found, for the custodian of the data alone.

    Attributes
    ----------
    found : tuple of Finding
        Everything that was found, in the order of the columns.
    """

    found: tuple[Finding, ...]

    @property
    def fits(self) -> bool:
        """Whether nothing was found but what the schema provides for."""
        return all(finding.fits for finding in self.found)

    def __str__(self) -> str:
        listed = map(str, self.found) if self.found else ["Everything fits the schema."]
        return "\n".join([FOR_THE_CUSTODIAN, *listed])

    __repr__ = __str__


def checked(table: Any, schema: Schema) -> Findings:
    """Compare a table with its schema."""
    table = opened(table)
    refuse_what_is_no_table(table)
    names = column_names(table)
    if names is None:
        raise TypeError("The table must have named columns to be checked; make it a frame.")
    declared: list[Column] = [*schema.columns, schema.label]
    found: list[Finding] = []
    for fact in declared:
        if isinstance(fact, Ignored):
            continue
        if fact.name not in names:
            found.append(Finding(fact.name, "is declared, but is not in the table"))
            continue
        try:
            (column,) = columns_of(table, [fact])
        except (TypeError, ValueError) as refusal:  # by its dtype or shape
            found.append(Finding(fact.name, f"cannot be read: {refusal}"))
        else:
            found.extend(_in_column(fact, column))
    unknown = [str(name) for name in names if name not in {fact.name for fact in declared}]
    found.extend(Finding(name, "is not in the schema, and is ignored", fits=True) for name in unknown)
    if schema.records is not None and names and len(table[next(iter(names))]) != schema.records:
        found.append(Finding("", "does not have as many records as the schema declares"))
    return Findings(tuple(found))


def _in_column(fact: Column, column: Any) -> Iterator[Finding]:
    if isinstance(fact, Identifier):
        counts = id_counts(column)
        if counts.missing:
            yield Finding(fact.name, "ids are missing", counts.missing)
        if counts.repeated:
            again = "ids were there before, so one person has several records"
            yield Finding(fact.name, again, counts.repeated)
        return
    assert isinstance(fact, Feature | Label)
    cells = stored(column)
    said = read_stored(fact, cells)
    empty = which_are_empty(cells, np.isnan(said))
    problems = [
        ("cells are missing", empty),
        (_MISFIT.get(type(fact), "cells do not fit"), np.isnan(said) & ~empty),
    ]
    covered = isinstance(fact, Feature) and fact.missing != "refuse"
    yield from _counted(fact, problems[:1], fits=covered)
    yield from _counted(fact, problems[1:])
    if isinstance(fact, Scale) and not isinstance(fact, Boolean):
        low, high = fact.ends
        beyond = [
            ("values are below the low bound", said < low),
            ("values are above the high bound", said > high),
        ]
        yield from _counted(fact, beyond)


_MISFIT: dict[type[Column], str] = {Label: "labels are none of the declared classes"}


def _counted(
    fact: Column, problems: list[tuple[str, NDArray[np.bool_]]], *, fits: bool = False
) -> Iterator[Finding]:
    for what, records in problems:
        if records.any():
            yield Finding(fact.name, what, int(records.sum()), fits)
