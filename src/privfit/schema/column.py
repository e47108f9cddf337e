"""What every column of a schema has: a name, and a way to count cells that are missing or do not fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

OTHER = "other"  # the level of cells that are missing or do not fit, where they have an indicator
POLICIES = ("fill", "indicator", "refuse")
DIRECTIONS = ("", "up", "down")


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name : str
        The column's name.
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ValueError(f"A column name must be a non-empty string, not {self.name!r}.")


@dataclass(frozen=True)
class Identifier(Column):
    """A column that tells people apart. It is never a feature.

    With it, a person may have several records. Without `rows_per_person` statements are about one record:
    fits and private scores warn the custodian if an id repeats, and `Schema.check` counts the records that
    repeat one. With it, statements are about one person.

    Parameters
    ----------
    name : str
        The column's name.
    rows_per_person : int, optional
        How many records of a person are used at most. Which ones is decided by a fixed rule from that
        person's records alone.
    """

    _: KW_ONLY
    rows_per_person: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        k = self.rows_per_person
        if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
            raise ValueError(
                f"rows_per_person of column {self.name!r} must be a whole number of at least 1, not {k!r}."
            )


class Ignored(Column):
    """A column that is left alone.

    Parameters
    ----------
    name : str
        The column's name.
    """


@dataclass(frozen=True)
class Feature(Column, ABC):
    """A column that becomes numbers between 0 and 1, each cell by itself.

    Parameters
    ----------
    name : str
        The column's name.
    unit : str
        What one of the column's numbers is, for people who read the weights.
    missing : {"fill", "indicator", "refuse"}
        What becomes of a cell that is missing or does not fit: it counts as `fill`, or has an indicator of
        its own, or the table is refused.
    fill : optional
        A public value for such cells. By default they count as the middle of a range, or as no category.
    """

    _: KW_ONLY
    unit: str = ""
    missing: str = "fill"
    fill: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.unit, str):
            raise ValueError(f"unit of column {self.name!r} must be a text, not {self.unit!r}.")
        if self.missing not in POLICIES:
            raise ValueError(
                f"missing of column {self.name!r} must be 'fill', 'indicator' or 'refuse', "
                f"not {self.missing!r}."
            )
        if self.fill is not None and self.missing != "fill":
            raise ValueError(
                f"Column {self.name!r} has a fill, which missing = {self.missing!r} does not use."
            )

    def _check_fill(self) -> None:
        if self.fill is not None and np.isnan(self.read(self.fill)):
            raise ValueError(f"fill of column {self.name!r} is not a value that the column can have.")

    @property
    def has_indicator(self) -> bool:
        """Whether cells that are missing or do not fit have an indicator of their own."""
        return self.missing == "indicator"

    @property
    @abstractmethod
    def levels(self) -> tuple[str, ...]:
        """One for each feature of this column: a category, "other", or "" for a number."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The features that this column becomes."""
        return tuple(f"{self.name}={level}" if level else self.name for level in self.levels)

    @abstractmethod
    def read(self, cell: Any) -> float:
        """Return the number that a cell stands for.

        Parameters
        ----------
        cell : object
            Anything that a table may hold.

        Returns
        -------
        said : float
            NaN if the cell is missing or does not fit.
        """

    @abstractmethod
    def read_numbers(self, numbers: Numbers) -> Numbers:
        """Do what `read` does for cells that are stored as numbers.

        Parameters
        ----------
        numbers : array of float64
            The cells, NaN where one is missing.

        Returns
        -------
        said : array of float64
            What `read` returns for each.
        """

    def read_days(self, days: Numbers) -> Numbers:
        """Do what `read` does for cells that are stored as dates.

        Parameters
        ----------
        days : array of float64
            The cells, counted as Python counts days, NaN where one is missing.

        Returns
        -------
        said : array of float64
            What `read` returns for each: NaN unless the column holds dates.
        """
        return np.full(len(days), np.nan)

    @abstractmethod
    def step(self, level: str) -> str:
        """Say in words what a weight of this column multiplies.

        Parameters
        ----------
        level : str
            One of `levels`.

        Returns
        -------
        words : str
            From where to where a number goes while its feature goes from 0 to 1, or instead of what a
            category applies.
        """


@dataclass(frozen=True)
class Scale(Feature):
    """A column that becomes one number: where it lies between two ends.

    Parameters
    ----------
    name : str
        The column's name.
    unit : str
        What one of the column's numbers is, for people who read the weights.
    missing : {"fill", "indicator", "refuse"}
        What becomes of a cell that is missing or does not fit: it counts as `fill`, or has an indicator of
        its own, or the table is refused.
    fill : optional
        A public value for such cells. By default they count as the middle of a range, or as no category.
    monotone : {"", "up", "down"}
        Whether a higher value may only raise ("up"), or only lower, the score of the positive class or the
        predicted number.
    """

    _: KW_ONLY
    monotone: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.monotone not in DIRECTIONS:
            raise ValueError(
                f"monotone of column {self.name!r} must be 'up' or 'down', not {self.monotone!r}."
            )

    @property
    @abstractmethod
    def ends(self) -> tuple[float, float]:
        """The readings that become 0 and 1."""

    @property
    def levels(self) -> tuple[str, ...]:
        """One number, and an indicator for cells that have none if there is one."""
        return ("", OTHER) if self.has_indicator else ("",)

    @property
    @abstractmethod
    def span(self) -> tuple[str, str]:
        """The ends in words."""

    def step(self, level: str) -> str:
        """Say from where to where the number goes; a cell without one counts as the lowest, and more."""
        low, high = self.span
        if level:
            return f"missing or not readable, instead of {low} {self.unit}".rstrip()
        return f"from {low} to {high} {self.unit}".rstrip()

    def scaled(self, readings: Numbers) -> Numbers:
        """Map the ends to 0 and 1, and what lies beyond to the nearer one.

        Parameters
        ----------
        readings : array of float64
            What `read` returned.

        Returns
        -------
        scaled : array of float64
            Numbers in [0, 1]; NaN stays NaN.
        """
        low, high = self.ends
        return (np.clip(readings, low, high) - low) / (high - low) + 0.0  # not -0.0


T = TypeVar("T", bound=Hashable)


def first_repeated(names: Iterable[T]) -> T | None:
    """Return the first name that was there before."""
    seen: set[T] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
