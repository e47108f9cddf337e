"""Weights in the schema's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privfit.schema import Schema


class Weight(NamedTuple):
    """What a model adds to the score of a record, in the schema's words.

    Attributes
    ----------
    column : str
        The column of the table.
    level : str
        The category to which the weight belongs, "other" for cells that are missing or do not fit, "" for
        what is a number.
    weight : float
        What is added: for a category, if the record has it; for a number, on the way from one end of its
        range to the other.
    unit : str
        That range, with its unit.
    """

    column: str
    level: str
    weight: float
    unit: str


class Weights(tuple[Weight, ...]):
    """The weights of a model, as a table for people: a tuple of `Weight` that prints as one."""

    __slots__ = ()

    def __repr__(self) -> str:
        rows = [Weight._fields, *((w.column, w.level, f"{w.weight:+.4g}", w.unit) for w in self)]
        widths = [max(len(row[j]) for row in rows) for j in range(4)]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if j == 2 else cell.ljust(width)
                for j, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        )

    __str__ = __repr__


def weights_in_words(schema: Schema, coefficients: NDArray[np.float64], classes: Sequence[Any]) -> Weights:
    """Name every weight by the schema; they speak for its positive class, if it declares one."""
    sign = -1.0 if positive_is_first(schema, classes) else 1.0
    named = ((fact, level) for fact in schema.features for level in fact.levels)
    return Weights(
        Weight(fact.name, level, sign * float(w), fact.step(level))
        for (fact, level), w in zip(named, coefficients, strict=True)
    )


def positive_is_first(schema: Schema, classes: Sequence[Any]) -> bool:
    """Tell whether the class whose odds are spoken of is the first one, for which scores are negative."""
    return schema.label.positive is not None and bool(classes[0] == schema.label.positive)
