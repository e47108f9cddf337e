"""Columns of words from a public list: categories, levels that have an order, truth values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

from privfit.schema.cells import reading
from privfit.schema.column import OTHER, Feature, Numbers, Scale
from privfit.schema.words import Places, words_of

_TRUTHS = ("false", "true")


@dataclass(frozen=True)
class Categorical(Feature):
    """A column of categories from a public list, each of which becomes an indicator.

    Parameters
    ----------
    name : str
        The column's name.
    categories : sequence of str
        The list; integers are kept as they are written. Numbers and truth values are compared as numbers,
        because tables store them in many ways: 1, 1.0, "01" and True are one category, and a list with two of
        them is refused.
    unit : str
        The unit or kind of the categories, which is shown with the weights.
    missing : {"fill", "indicator", "refuse"}
        How to handle a cell that is missing or not on the list: it counts as `fill`, or shares the
        indicator "other" ("other (not listed)" if "other" is a category), or the table is refused.
    fill : str, optional
        A category for such cells; by default all their indicators are zero.
    reference : str, optional
        The category with which the others are compared when weights are shown; by default the first of the
        list. It does not change the fit.
    """

    categories: Sequence[str]
    _: KW_ONLY
    reference: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "categories", words_of(self.categories, f"column {self.name!r}"))
        if not self.categories:
            raise ValueError(f"Column {self.name!r} needs at least one category.")
        self._check_fill()
        if self.reference is not None:
            place = self.read(self.reference)
            if math.isnan(place):
                raise ValueError(f"reference of column {self.name!r} is none of its categories.")
            object.__setattr__(self, "reference", self.categories[int(place)])

    @property
    def reference_level(self) -> str:
        """The category with which the others are compared."""
        return self.categories[0] if self.reference is None else self.reference

    @property
    def levels(self) -> tuple[str, ...]:
        """The categories, and one level for all other values if they share one.

        That level is called "other" or, if this is a category, "other (not listed)".
        """
        if not self.has_indicator:
            return tuple(self.categories)
        unlisted = OTHER
        while unlisted in self.categories:
            unlisted += " (not listed)"
        return (*self.categories, unlisted)

    @cached_property
    def places(self) -> Places:
        """The lookup of a cell's position on the list."""
        return Places(self.categories)

    def read(self, cell: Any) -> float:
        """Return the position of a cell on the list, NaN if it is not there."""
        return self.places.of(cell)

    def read_numbers(self, numbers: Numbers) -> Numbers:
        """Look numbers up among the categories."""
        return self.places.of_numbers(numbers)

    def step(self, level: str) -> str:
        """Return in words which category a level replaces; a level may stand for other cells."""
        if level == self.reference_level:
            return "reference"
        words = f"instead of {self.reference_level} {self.unit}".rstrip()
        return words if level in self.categories else f"missing or not listed, {words}"


@dataclass(frozen=True)
class Ordinal(Scale):
    """A column of levels that have an order, which becomes one number.

    Parameters
    ----------
    name : str
        The column's name.
    order : sequence of str
        The levels, the lowest first. They are encoded at equal distances, and read like categories.
    unit : str
        The unit or kind of the levels, which is shown with the weights.
    missing : {"fill", "indicator", "refuse"}
        How to handle a cell that is missing or none of the levels: it counts as `fill`, or has an
        indicator of its own, or the table is refused.
    fill : str, optional
        A level for such cells; by default they count as the middle.
    monotone : {"", "up", "down"}
        Whether a higher level may only raise ("up"), or only lower, the score of the positive class or the
        predicted number.
    """

    order: Sequence[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "order", words_of(self.order, f"column {self.name!r}"))
        if len(self.order) < 2:
            raise ValueError(f"Column {self.name!r} needs at least two levels.")
        self._check_fill()

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest level, by their number."""
        return 0.0, len(self.order) - 1.0

    @cached_property
    def places(self) -> Places:
        """The lookup of a cell's position in the order."""
        return Places(self.order)

    def read(self, cell: Any) -> float:
        """Return the number of a cell's level, NaN if it has none."""
        return self.places.of(cell)

    def read_numbers(self, numbers: Numbers) -> Numbers:
        """Look numbers up among the levels."""
        return self.places.of_numbers(numbers)

    @property
    def span(self) -> tuple[str, str]:
        """The lowest and the highest level."""
        return self.order[0], self.order[-1]


@dataclass(frozen=True)
class Boolean(Scale):
    """A column of truth values: true and false, 1 and 0, or two words.

    Parameters
    ----------
    name : str
        The column's name.
    words : pair of str
        Two more words for false and true, such as ["no", "yes"].
    unit : str
        The unit or kind of the value, which is shown with the weights.
    missing : {"fill", "indicator", "refuse"}
        How to handle a cell that is neither true nor false: it counts as `fill`, or has an indicator of its
        own, or the table is refused.
    fill : bool, optional
        A public value for such cells; by default they count as half true.
    monotone : {"", "up", "down"}
        Whether true may only raise ("up"), or only lower, the score of the positive class or the
        predicted number.
    """

    words: Sequence[str] = _TRUTHS

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "words", words_of(self.words, f"column {self.name!r}"))
        if len(self.words) != 2:
            raise ValueError(f"Column {self.name!r} needs two words, one for false and one for true.")
        if any(reading(word) == 1 - truth for truth, word in enumerate(self.words)):
            raise ValueError(f"The words of column {self.name!r} are in the wrong order: false comes first.")
        self._check_fill()

    @property
    def ends(self) -> tuple[float, float]:
        """False and true."""
        return 0.0, 1.0

    @cached_property
    def places(self) -> Places:
        """The lookup of a truth value: 0 for false and 1 for true."""
        return Places((*self.words, *_TRUTHS), (0, 1, 0, 1))

    def read(self, cell: Any) -> float:
        """Return 0 or 1, NaN if a cell is neither."""
        return self.places.of(cell)

    def read_numbers(self, numbers: Numbers) -> Numbers:
        """Only 0 and 1, and words that are numbers, are truth values."""
        return self.places.of_numbers(numbers)

    @property
    def span(self) -> tuple[str, str]:
        """What stands for false and for true."""
        return self.words[0], self.words[1]
