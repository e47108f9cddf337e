"""Counts of a column's values, by distinct cell if the column is stored as a dictionary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.schema.cells import reading
from privfit.schema.column import Feature, Numbers
from privfit.schema.label import AnyLabel
from privfit.schema.numbers import Date, Numeric
from privfit.schema.quantities import Quantity
from privfit.schema.stored import Distinct, read_stored, stored, which_are_empty


@dataclass(frozen=True)
class Tally:
    """Distinct cells of a column, their values, and how many records have each.

    Attributes
    ----------
    said : array of float64
        The value of each cell; NaN if it is missing or does not fit.
    weights : array of int
        The number of records with this cell.
    is_empty : array of bool
        Whether the cell is empty.
    cells : callable
        Returns the cells at some positions.
    """

    said: Numbers
    weights: NDArray[np.int64]
    is_empty: NDArray[np.bool_]
    cells: Callable[[NDArray[np.intp]], list[Any]]

    def number_where(self, which: NDArray[np.bool_]) -> int:
        """Return the number of records with one of these cells."""
        return int(self.weights[which].sum())

    @property
    def n_records(self) -> int:
        """The number of records."""
        return int(self.weights.sum())

    @cached_property
    def n_empty(self) -> int:
        """The number of records with an empty cell."""
        return self.number_where(self.is_empty)

    @cached_property
    def n_said(self) -> int:
        """The number of records with a cell that is not empty."""
        return self.n_records - self.n_empty

    @cached_property
    def n_misfits(self) -> int:
        """The number of records with a cell that does not fit."""
        return self.number_where(self._is_misfit)

    @property
    def _is_misfit(self) -> NDArray[np.bool_]:
        return np.isnan(self.said) & ~self.is_empty & (self.weights > 0)

    def misfits(self, most: int | None = None) -> list[Any]:
        """Return cells that do not fit, or the first of them."""
        return self.cells(np.flatnonzero(self._is_misfit)[:most])

    def different_misfits(self) -> int:
        """Return the number of different values that do not fit."""
        return len({reading(cell) for cell in self.misfits()})


class Gathered:
    """The tallies of a column's parts, reduced to the counts that a check needs.

    Cells that do not fit are kept, each of them once. For numbers, only counts below, between and above the
    bounds are kept; for levels and classes, the count of each.
    """

    def __init__(self, fact: Feature | AnyLabel) -> None:
        self._fact = fact
        self._ends = _bounds_of(fact)
        self._parts: list[Tally] = []
        self._said: Counter[float] = Counter()
        self._misfits: Counter[Any] = Counter()
        self._n_empty = 0

    def add(self, column: Any) -> None:
        """Count the cells of one more part of the column."""
        self._parts.append(tally(self._fact, column))
        if len(self._parts) > 1:  # a column in one part is counted directly
            for part in self._parts:
                self._reduce(part)
            self._parts = [self._reduced()]

    def tally(self) -> Tally:
        """Return the tally of all parts."""
        return self._parts[0]

    def _reduce(self, part: Tally) -> None:
        if part.cells == self._cell_at:
            return
        self._n_empty += part.n_empty
        places = np.flatnonzero(part._is_misfit)
        for cell, weight in zip(part.cells(places), part.weights[places].tolist(), strict=True):
            self._misfits[cell] += weight
        if self._ends is None:
            different = np.unique(part.said[~np.isnan(part.said)]).tolist()
            sides = {value: part.said == value for value in different}
        else:
            low, high = self._ends
            within = (part.said >= low) & (part.said <= high)
            sides = {-np.inf: part.said < low, low: within, np.inf: part.said > high}
        for value, which in sides.items():
            self._said[value] += part.number_where(which)

    def _reduced(self) -> Tally:
        n_misfits = len(self._misfits)
        said = np.array([*self._said, np.nan, *[np.nan] * n_misfits])
        weights = np.array([*self._said.values(), self._n_empty, *self._misfits.values()], dtype=np.int64)
        is_empty = np.zeros(len(said), dtype=bool)
        is_empty[len(self._said)] = True
        return Tally(said, weights, is_empty, self._cell_at)

    def _cell_at(self, positions: NDArray[np.intp]) -> list[Any]:
        cells = list(self._misfits)
        return [cells[position] for position in (positions - len(self._said) - 1).tolist()]


def _bounds_of(fact: Feature | AnyLabel) -> tuple[float, float] | None:
    """Return the bounds of a column of numbers or dates, or of a label that is read like such a column."""
    column = fact.as_column if isinstance(fact, Quantity) else fact
    return column.ends if isinstance(column, Numeric | Date) else None


def tally(fact: Feature | AnyLabel, column: Any) -> Tally:
    """Count the cells of a column."""
    cells = stored(column)
    if not isinstance(cells, Distinct):
        said = read_stored(fact, cells)
        return Tally(
            said,
            np.ones(len(said), dtype=np.int64),
            which_are_empty(cells, np.isnan(said)),
            lambda positions: [cells[position] for position in positions.tolist()],
        )
    n = len(cells.cells)
    said = read_stored(fact, Distinct(cells.cells, np.arange(n)))
    weights = np.bincount(cells.codes + 1, minlength=n + 1)
    return Tally(
        np.append(np.nan, said),
        weights,
        np.append(True, which_are_empty(Distinct(cells.cells, np.arange(n)), np.isnan(said))),
        lambda positions: cells.at(positions - 1),
    )
