"""What a custodian can write into the schema so that values fit which do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from privfit.schema.cells import reading
from privfit.schema.column import Feature
from privfit.schema.document import toml_value
from privfit.schema.label import Label
from privfit.schema.levels import Boolean, Categorical, Ordinal
from privfit.schema.numbers import Date, Numeric
from privfit.schema.tally import Tally

_MOST_TRIED = 1000  # different values that are looked at for a remedy
_FORMATS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y.%m.%d")


def remedy(fact: Feature | Label, counted: Tally) -> str:
    """Return what makes at least half of the values fit that do not, or what the type asks for in general."""
    cells = counted.misfits(_MOST_TRIED)
    match fact:
        case Numeric():
            return _of_numbers(fact, cells)
        case Date():
            return _of_dates(fact, cells)
        case Boolean(words=words) | Ordinal(order=words) | Categorical(categories=words):
            if _differ_in_case(words, cells):
                return "they differ from the declared ones in upper and lower case alone"
        case Label(classes=words):
            if _differ_in_case(words, cells):
                return "they differ from the classes in upper and lower case alone"
            return (
                "the models take two classes: one_against_rest = ... tells one label from all others, or "
                "correct the classes"
            )
    return ""


def _of_numbers(fact: Numeric, cells: list[Any]) -> str:
    for written, other in _other_marks(fact):
        if _at_least_half(cells, other):
            return f"{written} reads them"
    return ""


def _other_marks(fact: Numeric) -> Iterator[tuple[str, Numeric]]:
    if fact.thousands == ",":
        yield 'decimal = "," without thousands', replace(fact, thousands="", decimal=",")
    else:
        yield 'decimal = ","', replace(fact, decimal=",")
    for mark in (",", " ", "'", "_"):
        if mark not in (fact.thousands, fact.decimal):
            yield f'thousands = "{mark}"', replace(fact, thousands=mark)


def _of_dates(fact: Date, cells: list[Any]) -> str:
    fitting = [way for way in _FORMATS if _at_least_half(cells, replace(fact, format=way))]
    return f"format = {' or '.join(toml_value(way) for way in fitting)} reads them" if fitting else ""


def _at_least_half(cells: list[Any], other: Feature) -> bool:
    return sum(not np.isnan(other.read(cell)) for cell in cells) >= max(1, len(cells) / 2)


def _differ_in_case(words: Any, cells: list[Any]) -> bool:
    listed = {str(reading(word)).casefold() for word in words}
    said = [str(reading(cell)).casefold() for cell in cells]
    return sum(word in listed for word in said) >= max(1, len(said) / 2)
