"""The sizes of the values of each column, within a factor of two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from privfit.engine.bounded import Bounded
from privfit.engine.exact.bounds import magnitude_bound
from privfit.engine.exact.grids import FloatArray, magic

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.layouts.layout import Loops
    from privfit.engine.problem import Problem
    from privfit.engine.table import Table


@dataclass(frozen=True)
class Magnitudes:
    """A histogram of the sizes of each raw column's values, in powers of two (Q8).

    The bin of a value x is ceil(log2 |x|), from `lowest` to `highest`. A record with k non-zero values adds
    1 / sqrt(k) to the bin of each, so it adds a vector of norm 1 for any number of columns. Zeros and values
    below the first bin add nothing; the last bin also counts larger values. Transformations are ignored.
    """

    what: ClassVar[str] = "column scales"

    lowest: int = -30
    highest: int = 40

    def __post_init__(self) -> None:
        if not -1022 <= self.lowest <= self.highest <= 1023:
            raise ValueError(f"need -1022 <= lowest <= highest <= 1023, got {self.lowest} and {self.highest}")

    @property
    def loops(self) -> Loops:
        """The compiled loops."""
        from privfit.engine.kernels.columns import csr_magnitudes, dense_magnitudes
        from privfit.engine.layouts.layout import Loops

        return Loops(dense_magnitudes, csr_magnitudes)

    def shape(self, table: Table) -> tuple[int, ...]:
        """Return the shape of the sums: columns and bins."""
        return table.n_columns, self.highest - self.lowest + 1

    def arguments(self, table: Table) -> Callable[[slice], tuple[Any, ...]]:
        """Return the function that gives the loop's arguments."""
        return lambda rows: (self.lowest, self.highest, magic(1.0))

    def sums(self, table: Table) -> FloatArray:
        """Sum the records' shares, column by column. One pass over the data."""
        return table.summarise(self)

    def bound(self, table: Table) -> float:
        """Bound the L2 distance that one record moves the sums: 1 and rounding."""
        return magnitude_bound(table.n_columns)

    def bounded(self, of: Problem | Table) -> Bounded:
        """Return the sums as one vector. Sensitivity: 1 plus rounding."""
        return Bounded(lambda: self.sums(of.table).ravel(), self.bound(of.table), "Q8")
