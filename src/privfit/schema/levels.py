"""Columns of words from a public list: categories, levels that have an order, truth values, classes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from privfit.schema.cells import reading
from privfit.schema.column import OTHER, Column, Feature, Numbers, Scale, T, first_repeated

_DOUBT = 2**53  # from here on, different integers become the same float
_TRUTHS = ("false", "true")


class Places:
    """Where on a public list a cell stands, by what it says: 1, 1.0, "01" and True stand at one place."""

    def __init__(self, words: Sequence[Any], places: Iterable[int] | None = None) -> None:
        places = range(len(words)) if places is None else places
        self._places = {reading(word): float(place) for word, place in zip(words, places, strict=True)}

    def of(self, cell: Any) -> float:
        """Return the place, NaN if what the cell says is not on the list."""
        return self._places.get(reading(cell), math.nan)

    def of_numbers(self, numbers: Numbers) -> Numbers:
        """Look up numbers among the words that are numbers, each of which a float holds exactly."""
        listed = sorted(
            (float(said), place)
            for said, place in self._places.items()
            if said is not None and not isinstance(said, str)
        )
        if not listed:
            return np.full(len(numbers), np.nan)
        values, places = (np.array(part) for part in zip(*listed, strict=True))
        nearest = np.minimum(np.searchsorted(values, numbers), len(values) - 1)
        return np.where(values[nearest] == numbers, places[nearest], np.nan)

    @property
    def only_as_text(self) -> bool:
        """Whether a word is an integer that columns of numbers may confuse with another one."""
        return any(isinstance(said, int) and abs(said) >= _DOUBT for said in self._places)


@dataclass(frozen=True)
class Categorical(Feature):
    """A column of categories from a public list, each of which becomes an indicator.

    Parameters
    ----------
    name : str
        The column's name.
    categories : sequence of str
        The list; integers are kept as they are written. What reads as a number or a truth value is compared
        as a number, because tables store it in many ways: 1, 1.0, "01" and True are one category, and a list
        with two of them is refused.
    unit : str
        What the categories are, for people who read the weights.
    missing : {"fill", "indicator", "refuse"}
        What becomes of a cell that is missing or not on the list: it counts as `fill`, or shares the
        indicator "other", or the table is refused.
    fill : str, optional
        A category for such cells; by default all their indicators are zero.
    """

    categories: Sequence[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "categories", _words(self.categories, f"column {self.name!r}"))
        if not self.categories:
            raise ValueError(f"Column {self.name!r} needs at least one category.")
        if self.has_indicator and OTHER in self.categories:
            raise ValueError(
                f"Column {self.name!r} has a category 'other' already, so missing cannot be 'indicator'."
            )
        self._check_fill()

    @property
    def levels(self) -> tuple[str, ...]:
        """The categories, and one level for all other values if they share one."""
        return (*self.categories, OTHER) if self.has_indicator else tuple(self.categories)

    @cached_property
    def places(self) -> Places:
        """Where on the list a cell stands."""
        return Places(self.categories)

    def read(self, cell: Any) -> float:
        """Return the position of a cell on the list, NaN if it is not there."""
        return self.places.of(cell)

    def read_numbers(self, numbers: Numbers) -> Numbers:
        """Look numbers up among the categories."""
        return self.places.of_numbers(numbers)

    def step(self, level: str) -> str:
        """Say what the categories are; an indicator goes from no to yes."""
        return self.unit


@dataclass(frozen=True)
class Ordinal(Scale):
    """A column of levels that have an order, which becomes one number.

    Parameters
    ----------
    name : str
        The column's name.
    order : sequence of str
        The levels, the lowest first; they lie equally far apart. They are read as categories are.
    unit : str
        What the levels are, for people who read the weights.
    missing : {"fill", "indicator", "refuse"}
        What becomes of a cell that is missing or none of the levels: it counts as `fill`, or has an
        indicator of its own, or the table is refused.
    fill : str, optional
        A level for such cells; by default they count as the middle.
    """

    order: Sequence[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "order", _words(self.order, f"column {self.name!r}"))
        if len(self.order) < 2:
            raise ValueError(f"Column {self.name!r} needs at least two levels.")
        self._check_fill()

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest level, by their number."""
        return 0.0, len(self.order) - 1.0

    @cached_property
    def places(self) -> Places:
        """Where in the order a cell stands."""
        return Places(self.order)

    def read(self, cell: Any) -> float:
        """Return the number of a cell's level, NaN if it has none."""
        return self.places.of(cell)

    def read_numbers(self, numbers: Numbers) -> Numbers:
        """Look numbers up among the levels."""
        return self.places.of_numbers(numbers)

    def step(self, level: str) -> str:
        """Say from where to where the column's feature goes."""
        return "" if level else f"from {self.order[0]} to {self.order[-1]} {self.unit}".rstrip()


@dataclass(frozen=True)
class Boolean(Scale):
    """A column of truth values: true and false, 1 and 0, or two words.

    Parameters
    ----------
    name : str
        The column's name.
    words : pair of str
        What stands for false and for true, besides these; ["no", "yes"] for example.
    unit : str
        What is true or false, for people who read the weights.
    missing : {"fill", "indicator", "refuse"}
        What becomes of a cell that says neither: it counts as `fill`, or has an indicator of its own, or the
        table is refused.
    fill : bool, optional
        A public value for such cells; by default they count as half true.
    """

    words: Sequence[str] = _TRUTHS

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "words", _words(self.words, f"column {self.name!r}"))
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
        """0 for what is false and 1 for what is true."""
        return Places((*self.words, *_TRUTHS), (0, 1, 0, 1))

    def read(self, cell: Any) -> float:
        """Return 0 or 1, NaN if a cell is neither."""
        return self.places.of(cell)

    def read_numbers(self, numbers: Numbers) -> Numbers:
        """Only 0 and 1 are truth values, or numbers that are words."""
        return self.places.of_numbers(numbers)

    def step(self, level: str) -> str:
        """Say from where to where the column's feature goes."""
        return "" if level else f"from {self.words[0]} to {self.words[1]} {self.unit}".rstrip()


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
        classes = _distinct(_listed(self.classes, owner), owner)
        if len({type(value) for value in classes}) > 1:
            raise ValueError(f"The values of {owner} must be all strings, all integers or all booleans.")
        _check_readings(list(map(str, classes)), owner)
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


# -- checks -------------------------------------------------------------------------------------------------


def _words(values: Iterable[Any], owner: str) -> tuple[str, ...]:
    listed = _listed(values, owner)
    words = _distinct([str(value) if isinstance(value, int) else value for value in listed], owner)
    _check_readings(words, owner)
    return words


def _check_readings(words: Sequence[str], owner: str) -> None:
    """Refuse words that no cell can have, or that a table may store as the same cell."""
    listed: dict[int | float | str, str] = {}
    for word in words:
        said = reading(word)
        if said is None:
            raise ValueError(f"The values of {owner} include {word!r}, which reads as a missing value.")
        if said in listed:
            raise ValueError(
                f"The values of {owner} include {listed[said]!r} and {word!r}, which read as the same; "
                "keep one of them."
            )
        listed[said] = word


def _listed(values: Iterable[Any], owner: str) -> list[Any]:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise ValueError(f"The values of {owner} must be a list, not the single value {values!r}.")
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _distinct(values: Sequence[T], owner: str) -> tuple[T, ...]:
    for value in values:
        if not isinstance(value, int) and not (isinstance(value, str) and value and value == value.strip()):
            raise ValueError(
                f"Each value of {owner} must be an integer or a non-empty string without surrounding space, "
                f"not {value!r}."
            )
    repeated = first_repeated(values)
    if repeated is not None:
        raise ValueError(f"The values of {owner} name {repeated!r} more than once.")
    return tuple(values)
