"""The base classes of columns of a schema: their names, and how missing or unreadable cells are handled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

OTHER = "other"  # the level of cells that are missing or do not fit, if they have an indicator
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

    If a schema has an id, a person may have several records. Without `rows_per_person`, statements are about
    one record: fits and private scores warn the custodian if an id repeats, and `Schema.check` counts the
    records that repeat one. With `rows_per_person`, statements are about one person.

    Parameters
    ----------
    name : str
        The column's name.
    rows_per_person : int, optional
        The largest number of records of each person to use. A fixed rule chooses them, from that person's
        records alone.
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
    """A column that is not used.

    Parameters
    ----------
    name : str
        The column's name.
    """


@dataclass(frozen=True)
class Feature(Column, ABC):
    """A column that is encoded as numbers between 0 and 1, each cell by itself.

    Parameters
    ----------
    name : str
        The column's name.
    unit : str
        The unit of the column's numbers, such as "years", which is shown with the weights.
    missing : {"fill", "indicator", "refuse"}
        How to handle a cell that is missing or does not fit: it counts as `fill`, or has an indicator of
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
        """The level of each feature of this column: a category, "other", or "" for a number."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features of this column."""
        return tuple(f"{self.name}={level}" if level else self.name for level in self.levels)

    @abstractmethod
    def read(self, cell: Any) -> float:
        """Return the value of a cell as a number.

        Parameters
        ----------
        cell : object
            Anything that a table may hold.

        Returns
        -------
        said : float
            The number; NaN if the cell is missing or does not fit.
        """

    @abstractmethod
    def read_numbers(self, numbers: Numbers) -> Numbers:
        """Do what `read` does for cells that are stored as numbers.

        Parameters
        ----------
        numbers : array of float64
            The cells; NaN for missing cells.

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
            The cells as day numbers, counted like Python's; NaN for missing cells.

        Returns
        -------
        said : array of float64
            What `read` returns for each: NaN unless the column holds dates.
        """
        return np.full(len(days), np.nan)

    @abstractmethod
    def step(self, level: str) -> str:
        """Return in words the change to which a weight of this column belongs.

        Parameters
        ----------
        level : str
            One of `levels`.

        Returns
        -------
        words : str
            The values between which a number goes while its feature goes from 0 to 1, or the category that is
            replaced.
        """


@dataclass(frozen=True)
class Scale(Feature):
    """A column that is encoded as one number: its position between two ends.

    Parameters
    ----------
    name : str
        The column's name.
    unit : str
        The unit of the column's numbers, such as "years", which is shown with the weights.
    missing : {"fill", "indicator", "refuse"}
        How to handle a cell that is missing or does not fit: it counts as `fill`, or has an indicator of
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
        """The values that are encoded as 0 and 1."""

    @property
    def levels(self) -> tuple[str, ...]:
        """One number, and an indicator for cells that have none if there is one."""
        return ("", OTHER) if self.has_indicator else ("",)

    @property
    @abstractmethod
    def span(self) -> tuple[str, str]:
        """The ends in words."""

    def step(self, level: str) -> str:
        """Return the two compared values; the indicator of missing cells compares with the lowest."""
        low, high = self.span
        if level:
            return f"missing or not readable, instead of {low} {self.unit}".rstrip()
        return f"from {low} to {high} {self.unit}".rstrip()

    def scaled(self, readings: Numbers) -> Numbers:
        """Map the ends to 0 and 1, and values beyond an end to the nearer one.

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
        scaled = np.clip(readings, low, high)
        scaled -= low
        scaled /= high - low
        scaled += 0.0  # not -0.0
        return scaled


T = TypeVar("T", bound=Hashable)


def first_repeated(names: Iterable[T]) -> T | None:
    """Return the first name that occurs a second time, or None."""
    seen: set[T] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
