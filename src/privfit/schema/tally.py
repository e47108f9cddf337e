"""How many records of a column say what: counted by distinct cell where the column is stored so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.schema.cells import reading
from privfit.schema.column import Feature, Numbers
from privfit.schema.label import AnyLabel
from privfit.schema.stored import Distinct, read_stored, stored, which_are_empty


@dataclass(frozen=True)
class Tally:
    """Cells of a column, what each reads as, and how many records have it.

    Attributes
    ----------
    said : array of float64
        What each cell stands for; NaN where it is missing or does not fit.
    weights : array of int
        How many records have the cell.
    is_empty : array of bool
        Whether it says nothing at all.
    cells : callable
        Returns the cells at some positions.
    """

    said: Numbers
    weights: NDArray[np.int64]
    is_empty: NDArray[np.bool_]
    cells: Callable[[NDArray[np.intp]], list[Any]]

    def number_where(self, which: NDArray[np.bool_]) -> int:
        """Return in how many records the cell is one of these."""
        return int(self.weights[which].sum())

    @property
    def n_records(self) -> int:
        """The number of records."""
        return int(self.weights.sum())

    @cached_property
    def n_empty(self) -> int:
        """In how many records the cell says nothing."""
        return self.number_where(self.is_empty)

    @cached_property
    def n_said(self) -> int:
        """In how many records the cell says something."""
        return self.n_records - self.n_empty

    @cached_property
    def n_misfits(self) -> int:
        """In how many records the cell says something that does not fit."""
        return self.number_where(self._is_misfit)

    @property
    def _is_misfit(self) -> NDArray[np.bool_]:
        return np.isnan(self.said) & ~self.is_empty & (self.weights > 0)

    def misfits(self, most: int | None = None) -> list[Any]:
        """Return cells that do not fit, or the first of them."""
        return self.cells(np.flatnonzero(self._is_misfit)[:most])

    def different_misfits(self) -> int:
        """Return how many different things the cells say that do not fit."""
        return len({reading(cell) for cell in self.misfits()})


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
