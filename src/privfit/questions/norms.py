"""Histograms of the norms of records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from privfit.engine.bounded import Bounded
from privfit.engine.exact.grids import FloatArray
from privfit.questions.moments import powers

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.problem import Problem
    from privfit.engine.table import Table


ROWS_AT_A_TIME = 2**16  # the number of rows that are counted at a time; it does not change the counts


@dataclass(frozen=True, eq=False)
class Norms:
    """The number of records whose feature norm lies in (edges[k + 1], edges[k]], for descending edges (Q7).

    The first bin also counts longer records, and the last one shorter records. The intercept's column is not
    part of the norm. Every record is in one bin.
    """

    what: ClassVar[str] = "norms"

    edges: ArrayLike

    def counts(self, table: Table) -> FloatArray:
        """Count the records. No pass over the data if their norms are known already."""
        return _counts(table.squares, self.edges)

    def bounded(self, of: Problem | Table) -> Bounded:
        """Return the counts. Sensitivity: 1."""
        _check(self.edges)
        return Bounded(lambda: self.counts(of.table), 1.0, "Q7")


@dataclass(frozen=True, eq=False)
class CurveNorms:
    """The same for the norms of the records' curves z * (z - root) (Q7)."""

    what: ClassVar[str] = "norms"

    edges: ArrayLike
    roots: FloatArray

    def counts(self, table: Table) -> FloatArray:
        """Count the records. One pass over the data."""
        return _counts(powers(table, self.roots)[1], self.edges)

    def bounded(self, of: Problem | Table) -> Bounded:
        """Return the counts. Sensitivity: 1."""
        _check(self.edges)
        return Bounded(lambda: self.counts(of.table), 1.0, "Q7")


def _check(edges: ArrayLike) -> FloatArray:
    edges = np.asarray(edges, dtype=np.float64)
    if len(edges) < 2 or not np.all(edges[1:] < edges[:-1]):
        raise ValueError("edges must be at least two, strictly descending")
    return edges


def _counts(squares: FloatArray, edges: ArrayLike) -> FloatArray:
    """Count norms between descending edges, given their squares; a square that is no number is infinite.

    The outer bins count all that lies beyond them. Some rows are counted at a time, because the norms and
    bins of all would take more memory than anything else that is computed for each record.
    """
    edges = _check(edges)
    n_bins = len(edges) - 1
    counts = np.zeros(n_bins)
    for start in range(0, len(squares), ROWS_AT_A_TIME):
        some = squares[start : start + ROWS_AT_A_TIME]
        norms = np.sqrt(np.where(np.isnan(some), np.inf, some))
        below = np.searchsorted(edges[::-1], norms, side="left")
        counts += np.bincount(np.clip(n_bins - below, 0, n_bins - 1), minlength=n_bins)
    return counts
