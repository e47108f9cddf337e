"""Labels that are numbers or counts."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.schema.column import Numbers
from privfit.schema.label import AnyLabel
from privfit.schema.numbers import Numeric


@dataclass(frozen=True)
class Quantity(AnyLabel):
    """A label that is a number; its subclasses say which numbers fit.

    Parameters
    ----------
    name : str
        The column's name.
    unit : str
        The unit of the numbers, such as "days" or "$". A cell of text may have it before or after the number.
    missing : {"refuse", "drop"}
        How to handle a record whose label is missing or does not fit: the table is refused, or the record
        is left out of fits and scores.
    thousands, decimal : str
        Marks in numbers that are text, as in `Numeric`.
    """

    _: KW_ONLY
    unit: str = ""
    missing: str = "refuse"
    thousands: str = ""
    decimal: str = "."

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_missing(self.missing)
        self.as_column  # noqa: B018  # which refuses marks that make no sense

    @property
    def drops(self) -> bool:
        """Whether records without a label are left out."""
        return self.missing == "drop"

    @property
    def drops_misfits(self) -> bool:
        """Whether records whose label is not a number are left out, too: whenever missing labels are."""
        return self.drops

    @property
    def reads_given(self) -> bool:
        """Whether missing labels are dropped."""
        return self.drops

    @property
    @abstractmethod
    def bounds(self) -> tuple[float, float] | None:
        """The public lowest and highest number; None if they are not declared."""

    @cached_property
    def as_column(self) -> Numeric:
        """A column of numbers that is read in the same way."""
        low, high = self.bounds or (0.0, 1.0)
        return Numeric(self.name, low, high, unit=self.unit, thousands=self.thousands, decimal=self.decimal)

    def read(self, cell: Any) -> float:
        """Return the number in a cell; NaN if there is none, or if it does not fit."""
        return float(self.read_numbers(np.array([self.as_column.read(cell)]))[0])

    def read_numbers(self, numbers: Numbers) -> Numbers:
        """Infinite numbers do not fit."""
        return np.where(np.isfinite(numbers), numbers, np.nan)

    def targets(self, readings: Numbers) -> NDArray[Any]:
        """Return the targets of a fit, given the numbers that `read` returned.

        Parameters
        ----------
        readings : array of float64
            Without NaN.

        Returns
        -------
        targets : array
            The same numbers. A fit clips them to the bounds.
        """
        return readings


@dataclass(frozen=True)
class NumberLabel(Quantity):
    """A number to predict, with public bounds or without.

    Parameters
    ----------
    name : str
        The column's name.
    low, high : float, optional
        Public bounds, both or neither. A fit clips numbers to them. Without them a fit spends a part of its
        privacy budget to buy the size of the numbers.
    unit : str
        The unit of the numbers, such as "days" or "$". A cell of text may have it before or after the number.
    missing : {"refuse", "drop"}
        How to handle a record whose label is missing or no number: the table is refused, or the record is
        left out of fits and scores.
    thousands, decimal : str
        Marks in numbers that are text, as in `Numeric`.

    Examples
    --------
    >>> NumberLabel("cost", 0, 100_000, unit="$", thousands=",").read("$1,250")
    1250.0
    """

    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ValueError(f"Label {self.name!r} needs both low and high, or neither.")
        super().__post_init__()
        if self.low is not None:
            object.__setattr__(self, "low", self.as_column.low)
            object.__setattr__(self, "high", self.as_column.high)

    @property
    def misfit(self) -> str:
        """The description of a label that does not fit."""
        return "no number"

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The public lowest and highest number; None if they are not declared."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class CountLabel(Quantity):
    """A count to predict: a whole number from 0 on.

    Parameters
    ----------
    name : str
        The column's name.
    largest : int, optional
        The largest count, if it is public. A fit clips larger counts to it. Without it a fit spends a part of
        its privacy budget to buy the size of the counts.
    unit : str
        What is counted, such as "visits". A cell of text may have it before or after the number.
    missing : {"refuse", "drop"}
        How to handle a record whose label is missing or no count: the table is refused, or the record is
        left out of fits and scores.
    thousands, decimal : str
        Marks in numbers that are text, as in `Numeric`.

    Examples
    --------
    >>> CountLabel("visits", 50).read("3"), CountLabel("visits", 50).read("-3")
    (3.0, nan)
    """

    largest: int | None = None

    def __post_init__(self) -> None:
        whole = isinstance(self.largest, int) and not isinstance(self.largest, bool)
        if self.largest is not None and (not whole or self.largest < 1):
            raise ValueError(
                f"largest of label {self.name!r} must be a positive whole number, not {self.largest!r}."
            )
        super().__post_init__()

    @property
    def misfit(self) -> str:
        """The description of a label that does not fit."""
        return "no whole number from 0 on"

    @property
    def bounds(self) -> tuple[float, float] | None:
        """0 and the largest count; None if it is not declared."""
        return None if self.largest is None else (0.0, float(self.largest))

    def read_numbers(self, numbers: Numbers) -> Numbers:
        """Numbers that are infinite, negative or not whole do not fit."""
        whole = np.floor(numbers) == numbers
        return np.where(whole & (numbers >= 0.0) & np.isfinite(numbers), numbers, np.nan)
