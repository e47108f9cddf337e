"""The column to predict, and the classes of its labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from privfit.schema.column import Column, Numbers
from privfit.schema.words import Places, distinct_values, refuse_words_that_read_alike


@dataclass(frozen=True)
class Label(Column):
    """The column to predict and the classes it may take.

    Parameters
    ----------
    name : str
        The column's name.
    classes : sequence of str, int or bool
        At least two: all strings, all integers, or False and True. As with categories, two that read alike
        are refused.
    positive : str, int or bool, optional
        The class whose odds are spoken of; by default the last of the classes in sorted order.
    """

    classes: Sequence[Any]
    positive: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = f"label {self.name!r}"
        classes = distinct_values(self.classes, owner)
        if len({type(value) for value in classes}) > 1:
            raise ValueError(f"The values of {owner} must be all strings, all integers or all booleans.")
        refuse_words_that_read_alike(list(map(str, classes)), owner)
        object.__setattr__(self, "classes", classes)
        if len(classes) < 2:
            raise ValueError(f"Label {self.name!r} needs at least two classes, not {len(classes)}.")
        if self.positive is not None and not any(
            type(value) is type(self.positive) and value == self.positive for value in classes
        ):
            raise ValueError(f"positive of {owner} is {self.positive!r}, which is none of its classes.")

    @cached_property
    def places(self) -> Places:
        """Which of the classes a cell is."""
        return Places(self.classes)

    def read(self, cell: Any) -> float:
        """Return the number of a cell's class, NaN if it has none."""
        return self.places.of(cell)

    def read_numbers(self, numbers: Numbers) -> Numbers:
        """Look numbers up among the classes."""
        return self.places.of_numbers(numbers)

    def read_days(self, days: Numbers) -> Numbers:
        """Return NaN, because a date is no class."""
        return np.full(len(days), np.nan)
