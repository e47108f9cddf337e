"""A histogram of every column."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from privfit.engine.bounded import Bounded
from privfit.engine.exact.grids import FloatArray

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.layouts.layout import Loops
    from privfit.engine.problem import Problem
    from privfit.engine.table import Table


@dataclass(frozen=True, eq=False)
class Histograms:
    """The number of values of each raw column between neighbouring edges (Q11).

    Row j of `edges` has the ascending edges of column j. Bin k counts x with
    edges[j, k - 1] < x <= edges[j, k]; the first bin counts all x up to the first edge, and the last one all
    above the last edge. Transformations are ignored. Every record is in one bin of every column.
    """

    what: ClassVar[str] = "histograms"

    edges: ArrayLike

    def checked(self, table: Table) -> FloatArray:
        """Return the edges; raise ValueError unless they are rows of ascending numbers."""
        edges = np.ascontiguousarray(self.edges, dtype=np.float64)
        if edges.ndim != 2 or len(edges) != table.n_columns or not np.all(edges[:, 1:] >= edges[:, :-1]):
            raise ValueError(
                f"edges must be {table.n_columns} rows of ascending numbers, one for each column"
            )
        return edges

    @property
    def loops(self) -> Loops:
        """The compiled loops."""
        from privfit.engine.kernels.columns import csr_counts, dense_counts
        from privfit.engine.layouts.layout import Loops

        return Loops(dense_counts, csr_counts)

    def shape(self, table: Table) -> tuple[int, ...]:
        """Return the shape of the counts: columns and bins."""
        return table.n_columns, self.checked(table).shape[1] + 1

    def arguments(self, table: Table) -> Callable[[slice], tuple[Any, ...]]:
        """Return the function that gives the loop's arguments."""
        edges = self.checked(table)
        return lambda rows: (edges,)

    def counts(self, table: Table) -> FloatArray:
        """Count the values of each column. One pass over the data."""
        return table.summarise(self)

    def bounded(self, of: Problem | Table) -> Bounded:
        """Return the counts as one vector. Sensitivity: the root of the number of columns."""
        self.checked(of.table)
        return Bounded(lambda: self.counts(of.table).ravel(), math.sqrt(of.table.n_columns), "Q11")
