"""The column to predict: the base class of labels, and labels that are classes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.schema.cells import reading
from privfit.schema.column import Column, Numbers
from privfit.schema.words import (
    LARGEST_EXACT,
    Places,
    distinct_values,
    refuse_words_that_read_alike,
    words_of,
)


@dataclass(frozen=True)
class AnyLabel(Column, ABC):
    """The column to predict: classes, a number or a count.

    Parameters
    ----------
    name : str
        The column's name.
    """

    def _check_missing(self, missing: str) -> None:
        if missing not in ("refuse", "drop"):
            raise ValueError(f"missing of label {self.name!r} must be 'refuse' or 'drop', not {missing!r}.")

    @property
    @abstractmethod
    def drops(self) -> bool:
        """Whether records without a label are left out of fits and scores."""

    @property
    @abstractmethod
    def drops_misfits(self) -> bool:
        """Whether records whose label does not fit are left out, too."""

    @property
    @abstractmethod
    def misfit(self) -> str:
        """The description of a label that does not fit, in words that complete "the label is"."""

    @property
    @abstractmethod
    def reads_given(self) -> bool:
        """Whether labels that are given separately from a table have to be read by this label."""

    @abstractmethod
    def read(self, cell: Any) -> float:
        """Return the number that a cell stands for, NaN if it is missing or does not fit."""

    @abstractmethod
    def read_numbers(self, numbers: Numbers) -> Numbers:
        """Do what `read` does for cells that are stored as numbers."""

    def read_days(self, days: Numbers) -> Numbers:
        """Return NaN, because a date is no label."""
        return np.full(len(days), np.nan)

    @abstractmethod
    def targets(self, readings: Numbers) -> NDArray[Any]:
        """Return the targets of a fit, given the numbers that `read` returned.

        Parameters
        ----------
        readings : array of float64
            Without NaN.

        Returns
        -------
        targets : array
            Classes or numbers.
        """


@dataclass(frozen=True)
class Label(AnyLabel):
    """The column to predict and the classes it may take.

    Parameters
    ----------
    name : str
        The column's name.
    classes : sequence of str, int or bool
        At least two: all strings, all integers, or False and True. As with categories, two that read alike
        are refused. Not given with `one_against_rest`.
    positive : str, int or bool, optional
        With two classes, the positive one, whose odds the weights change; by default the last in sorted
        order.
    missing : {"refuse", "drop"}
        How records without a label are handled: the table is refused, or these records are left out of fits
        and scores.
    one_against_rest : str or int, optional
        A label that is compared with all others, which need not be listed: "virginica" makes the classes
        "virginica", which is the positive one, and "not virginica". The names are text.

    Examples
    --------
    >>> Label("species", one_against_rest="virginica").classes
    ('not virginica', 'virginica')
    """

    classes: Sequence[Any] = ()
    positive: Any = None
    missing: str = "refuse"
    one_against_rest: str | int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = f"label {self.name!r}"
        self._check_missing(self.missing)
        if self.one_against_rest is not None:
            self._name_one_and_rest(owner)
            return
        classes = distinct_values(self.classes, owner)
        if len({type(value) for value in classes}) > 1:
            raise ValueError(f"The values of {owner} must be all strings, all integers or all booleans.")
        refuse_words_that_read_alike(list(map(str, classes)), owner)
        object.__setattr__(self, "classes", classes)
        if len(classes) < 2:
            raise ValueError(
                f"Label {self.name!r} needs at least two classes, not {len(classes)}; one_against_rest = ... "
                'tells one label from all others, and type = "number" or "count" declares a number.'
            )
        if self.positive is not None and len(classes) > 2:
            raise ValueError(
                f"positive of {owner} names one of two classes, and it has {len(classes)} classes; remove "
                "positive, or declare one_against_rest."
            )
        if self.positive is not None and not any(
            type(value) is type(self.positive) and value == self.positive for value in classes
        ):
            raise ValueError(f"positive of {owner} is {self.positive!r}, which is none of its classes.")

    def _name_one_and_rest(self, owner: str) -> None:
        if not isinstance(self.one_against_rest, str | int) or isinstance(self.one_against_rest, bool):
            raise ValueError(
                f"one_against_rest of {owner} must be a text or an integer, not {self.one_against_rest!r}."
            )
        rest, one = words_of([f"not {self.one_against_rest}", self.one_against_rest], owner)
        if tuple(self.classes) not in ((), (rest, one)) or self.positive not in (None, one):
            raise ValueError(
                f"one_against_rest of {owner} determines its classes, and which is positive; remove "
                "classes and positive."
            )
        object.__setattr__(self, "classes", (rest, one))
        object.__setattr__(self, "positive", one)

    @property
    def drops(self) -> bool:
        """Whether records without a label are left out."""
        return self.missing == "drop"

    @property
    def drops_misfits(self) -> bool:
        """False, because another label may be a class that the schema forgot."""
        return False

    @property
    def misfit(self) -> str:
        """The description of a label that does not fit."""
        return "none of the declared classes"

    @property
    def reads_given(self) -> bool:
        """Whether missing labels are dropped, or one label is compared with all others."""
        return self.drops or self.one_against_rest is not None

    @cached_property
    def places(self) -> Places | OneOrRest:
        """The lookup of a cell's class."""
        return Places(self.classes) if self.one_against_rest is None else OneOrRest(self.one_against_rest)

    def read(self, cell: Any) -> float:
        """Return the number of a cell's class, NaN if it has none."""
        return self.places.of(cell)

    def read_numbers(self, numbers: Numbers) -> Numbers:
        """Look numbers up among the classes."""
        return self.places.of_numbers(numbers)

    def targets(self, readings: Numbers) -> NDArray[Any]:
        """Return the targets of a fit, given the numbers that `read` returned.

        Parameters
        ----------
        readings : array of float64
            Without NaN.

        Returns
        -------
        targets : array
            Classes as the schema writes them.
        """
        classes: NDArray[Any] = np.array(self.classes)
        return classes[readings.astype(np.intp)]


class OneOrRest:
    """The lookup for one label against all others, with the same methods as `Places`."""

    def __init__(self, one: str | int) -> None:
        self._one = reading(one)

    def of(self, cell: Any) -> float:
        """Return 1 for the label and 0 for all others; NaN if the cell is missing."""
        said = reading(cell)
        return math.nan if said is None else float(said == self._one)

    def of_numbers(self, numbers: Numbers) -> Numbers:
        """Do what `of` does for cells that are stored as numbers."""
        one = math.nan if self._one is None or isinstance(self._one, str) else float(self._one)
        return np.where(np.isnan(numbers), np.nan, numbers == one)

    @property
    def only_as_text(self) -> bool:
        """Whether it is an integer that columns of numbers may confuse with another one."""
        return isinstance(self._one, int) and abs(self._one) >= LARGEST_EXACT
