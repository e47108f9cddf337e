"""Advice for the custodian: entries of the schema with which more values would fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from privfit.schema.cells import reading
from privfit.schema.column import Feature
from privfit.schema.document import toml_value
from privfit.schema.label import AnyLabel, Label
from privfit.schema.levels import Boolean, Categorical, Ordinal
from privfit.schema.numbers import Date, Numeric
from privfit.schema.quantities import Quantity
from privfit.schema.tally import Tally

_MOST_TRIED = 1000  # the largest number of different values that are tried
_OTHER_MINUS = re.compile(
    "[\N{MINUS SIGN}\N{EN DASH}\N{NON-BREAKING HYPHEN}\N{FULLWIDTH HYPHEN-MINUS}](?=.*[0-9])"
)
_BESIDE_A_NUMBER = re.compile(r"^[^0-9+-]+|[^0-9]+$")
_FORMATS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y.%m.%d")


def other_spelling(fact: Feature | AnyLabel, counted: Tally) -> str:
    """Return the notation of most values that do not fit, as an entry of the schema; "" if unknown."""
    cells = counted.misfits(_MOST_TRIED)
    match fact.as_column if isinstance(fact, Quantity) else fact:
        case Numeric() as numbers:
            ways = (written for written, other in _other_marks(numbers) if _most_fit(cells, other))
            written = next(ways, "")
            return f"{written} reads most of them" if written else ""
        case Date() as dates:
            formats = [way for way in _FORMATS if _most_fit(cells, replace(dates, format=way))]
            return f"format = {' or '.join(map(toml_value, formats))} reads most of them" if formats else ""
        case (
            Boolean(words=words) | Ordinal(order=words) | Categorical(categories=words) | Label(classes=words)
        ):
            listed = {str(reading(word)).casefold() for word in words}
            said = [str(reading(cell)).casefold() for cell in cells]
            if 2 * sum(word in listed for word in said) > len(said):
                return "most of these differ from the declared ones in upper and lower case alone"
    return ""


def beside_the_number(fact: Feature | AnyLabel, counted: Tally) -> str:
    """Return advice if most values that do not fit have a unit, or another minus sign, beside a number."""
    fact = fact.as_column if isinstance(fact, Quantity) else fact
    if not isinstance(fact, Numeric) or fact.unit:
        return ""
    said = [reading(cell) for cell in counted.misfits(_MOST_TRIED)]
    with_hyphens = [_OTHER_MINUS.sub("-", text) if isinstance(text, str) else text for text in said]
    if _most_fit(with_hyphens, fact):
        return (
            "most of them have another minus sign than the hyphen, -, which is read; replace it in the table"
        )
    alone = [_BESIDE_A_NUMBER.sub("", text) if isinstance(text, str) else text for text in said]
    for written, other in [("", fact), *_other_marks(fact)]:
        if _most_fit(alone, other):
            both = " and ".join(filter(None, ["unit = ...", written]))
            return f"{both} would read most of them, if what stands beside the number is a unit"
    return ""


def _other_marks(fact: Numeric) -> Iterator[tuple[str, Numeric]]:
    """Yield other marks as the schema would write them, and the column with them."""
    if fact.thousands in (",", "."):
        yield 'decimal = "," without thousands', replace(fact, thousands="", decimal=",")
    else:
        yield 'decimal = ","', replace(fact, decimal=",")
    for mark in (",", " ", "'", "_"):
        if mark not in (fact.thousands, fact.decimal):
            yield f'thousands = "{mark}"', replace(fact, thousands=mark)
    if not fact.points_group_digits:
        yield 'thousands = "." with decimal = ","', replace(fact, thousands=".", decimal=",")


def _most_fit(cells: list[Any], fact: Feature) -> bool:
    return 2 * sum(not np.isnan(fact.read(cell)) for cell in cells) > len(cells)
