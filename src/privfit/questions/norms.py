"""Histograms of how long records are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from privfit.engine.bounded import Bounded
from privfit.engine.exact.grids import FloatArray
from privfit.questions.moments import powers

if TYPE_CHECKING:  # what computes brings numba, which only a fit needs
    from privfit.engine.problem import Problem
    from privfit.engine.table import Table


@dataclass(frozen=True, eq=False)
class Norms:
    """How many records' feature norms lie in (edges[k + 1], edges[k]], for descending edges (Q7).

    The first bin also takes longer records and the last one shorter ones; the intercept's column is not part
    of the norm. Every record is in one bin.
    """

    what: ClassVar[str] = "norms"

    edges: ArrayLike

    def counts(self, table: Table) -> FloatArray:
        """Count the records. No pass over the data once their norms are known."""
        return _counts(np.sqrt(table.squares), self.edges)

    def bounded(self, of: Problem | Table) -> Bounded:
        """Return the counts. Sensitivity: 1."""
        _check(self.edges)
        return Bounded(lambda: self.counts(of.table), 1.0, "Q7")


@dataclass(frozen=True, eq=False)
class CurveNorms:
    """The same for the norms of the records' curves z * (z - fold) (Q7)."""

    what: ClassVar[str] = "norms"

    edges: ArrayLike
    folds: FloatArray

    def counts(self, table: Table) -> FloatArray:
        """Count the records. One pass over the data."""
        curves = powers(table, self.folds)[1]
        return _counts(np.sqrt(np.where(np.isnan(curves), np.inf, curves)), self.edges)

    def bounded(self, of: Problem | Table) -> Bounded:
        """Return the counts. Sensitivity: 1."""
        _check(self.edges)
        return Bounded(lambda: self.counts(of.table), 1.0, "Q7")


def _check(edges: ArrayLike) -> FloatArray:
    edges = np.asarray(edges, dtype=np.float64)
    if len(edges) < 2 or not np.all(edges[1:] < edges[:-1]):
        raise ValueError("edges must be at least two, strictly descending")
    return edges


def _counts(norms: FloatArray, edges: ArrayLike) -> FloatArray:
    """Count norms between descending edges; the outer bins take all beyond."""
    edges = _check(edges)
    n_bins = len(edges) - 1
    below = np.searchsorted(edges[::-1], norms, side="left")
    counts = np.bincount(np.clip(n_bins - below, 0, n_bins - 1), minlength=n_bins)
    return counts.astype(np.float64)
