"""What may be known about a data set without looking at it."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real


@dataclass(frozen=True, slots=True)
class Numeric:
    """A column of numbers between two public bounds."""

    name: str
    low: float
    high: float

    def __post_init__(self) -> None:
        _check_name(self.name)
        bounds = (self.low, self.high)
        if not all(isinstance(bound, Real) and abs(bound) <= sys.float_info.max for bound in bounds):
            raise ValueError(f"The bounds of column {self.name!r} must be finite numbers, not {bounds}.")
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        if not 0 < self.high - self.low < math.inf:
            raise ValueError(f"Column {self.name!r} needs low < high, a finite distance apart, not {bounds}.")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The one feature this column becomes."""
        return (self.name,)


@dataclass(frozen=True, slots=True)
class Categorical:
    """A column of strings from a public list."""

    name: str
    categories: Sequence[str]

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "categories", _distinct_texts(self.categories, f"column {self.name!r}"))
        if not self.categories:
            raise ValueError(f"Column {self.name!r} needs at least one category.")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One indicator per category."""
        return tuple(f"{self.name}={category}" for category in self.categories)


@dataclass(frozen=True, slots=True)
class Label:
    """The column to predict and the classes it may take."""

    name: str
    classes: Sequence[str]

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "classes", _distinct_texts(self.classes, f"label {self.name!r}"))
        if len(self.classes) < 2:
            raise ValueError(f"Label {self.name!r} needs at least two classes, not {len(self.classes)}.")


@dataclass(frozen=True, slots=True)
class Schema:
    """The public facts of a data set: its columns in order, and its label."""

    columns: Sequence[Numeric | Categorical]
    label: Label

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns:
            raise ValueError("A schema needs at least one column.")
        repeated = _first_repeated([*(column.name for column in self.columns), self.label.name])
        if repeated is not None:
            raise ValueError(f"The schema names column {repeated!r} more than once.")
        repeated = _first_repeated(self.feature_names)
        if repeated is not None:
            raise ValueError(f"Two columns of the schema would both become the feature {repeated!r}.")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The encoded features, in the order of the columns."""
        return tuple(name for column in self.columns for name in column.feature_names)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"A column name must be a non-empty string, not {name!r}.")


def _distinct_texts(values: Sequence[str], owner: str) -> tuple[str, ...]:
    if isinstance(values, str):
        raise ValueError(
            f"The values of {owner} must be a list of strings, not the single string {values!r}."
        )
    for value in values:
        if not isinstance(value, str) or not value or value != value.strip():
            raise ValueError(
                f"Each value of {owner} must be a non-empty string without surrounding space, not {value!r}."
            )
    repeated = _first_repeated(values)
    if repeated is not None:
        raise ValueError(f"The values of {owner} name {repeated!r} more than once.")
    return tuple(values)


def _first_repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
