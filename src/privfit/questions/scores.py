"""Sums over held-out records from which scores such as accuracy or AUC are computed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from privfit.engine.bounded import Bounded
from privfit.engine.exact.grids import FloatArray

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.problem import Problem
    from privfit.engine.table import Table

SHARE_GRID = 2.0**-20  # sums of 2^32 multiples of it, each at most 1, are exact in float64
RECORDS_AT_ONCE = 8192  # the number of records whose weighted shares are in memory at a time


@dataclass(frozen=True, eq=False)
class ScoreSums:
    """The sum over records of the shares of their cells and of their numbers, times their weights.

    A *cell* is a cell of a contingency table, such as a label and a bin of predicted scores, or a true and a
    predicted class. The first column of the table is the number of a record's cell, counted from 0. A record
    in cell k adds row k of `shares` (Q16). Then comes one column for each of the `factors`: a record adds the
    factor times its number, clipped to [-1, 1] (Q28). With `weighted`, the last column is a weight between 0
    and 1, by which everything that the record adds is multiplied (Q29). NaN counts as 0.
    """

    what: ClassVar[str] = "scores"

    shares: ArrayLike
    factors: ArrayLike = ()
    weighted: bool = False

    def checked(self) -> tuple[FloatArray, FloatArray]:
        """Return shares and factors; raise ValueError unless sums of them are exact."""
        shares, factors = (np.asarray(given, dtype=np.float64) for given in (self.shares, self.factors))
        if shares.ndim != 2 or not len(shares) or factors.ndim != 1:
            raise ValueError("shares must have a row for each cell, and factors one number for each column")
        for name, given in (("shares", shares), ("factors", factors)):
            if not np.all(np.abs(given) <= 1.0) or np.any(given / SHARE_GRID % 1.0):
                raise ValueError(
                    f"{name} must be multiples of 2^-20 between -1 and 1, so that sums are exact"
                )
        return shares, factors

    def bounded(self, of: Problem | Table) -> Bounded:
        """Return the sums. Sensitivity: the norm of the longest row of shares and all factors.

        One pass over the data for each column.
        """
        shares, factors = self.checked()
        read = len(factors) + 1 + self.weighted
        if of.table.n_columns != read:
            raise ValueError(f"a cell, numbers and weights are {read} columns, not {of.table.n_columns}")

        def look() -> FloatArray:
            columns = np.nan_to_num(of.table.predictions(np.eye(of.table.n_weights)[:, :read]))
            cells = np.clip(columns[:, 0], 0, len(shares) - 1).astype(np.intp)
            numbers = factors * np.clip(columns[:, 1 : len(factors) + 1], -1.0, 1.0)
            if self.weighted:
                weights = np.clip(columns[:, -1:], 0.0, 1.0)
                blocks = [
                    slice(start, start + RECORDS_AT_ONCE) for start in range(0, len(cells), RECORDS_AT_ONCE)
                ]
                of_cells = sum(
                    (_on_grid(weights[rows] * shares[cells[rows]]).sum(axis=0) for rows in blocks),
                    np.zeros(shares.shape[1]),
                )
                numbers = weights * numbers
            else:
                of_cells = np.bincount(cells, minlength=len(shares)).astype(np.float64) @ shares
            return np.concatenate([of_cells, _on_grid(numbers).sum(axis=0)])

        # fsum rounds once and sqrt once more, each by at most 2^-53 of the number
        longest = max(math.sqrt(math.fsum([*(row * row), *(factors * factors)])) for row in shares)
        return Bounded(look, longest * (1.0 + 2.0**-50), "Q16")


def _on_grid(values: FloatArray) -> FloatArray:
    """Round to the grid. No entry exceeds its share or factor, because shares and factors are on the grid."""
    rounded: FloatArray = np.round(values / SHARE_GRID) * SHARE_GRID
    return rounded
