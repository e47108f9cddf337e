"""How many records there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privfit.engine.bounded import Bounded

if TYPE_CHECKING:  # what computes brings numba, which only a fit needs
    from privfit.engine.problem import Problem
    from privfit.engine.table import Table


@dataclass(frozen=True)
class Count:
    """The number of records (Q4)."""

    what: ClassVar[str] = "number of records"

    def bounded(self, of: Problem | Table) -> Bounded:
        """Return the count. Sensitivity: 1."""
        return Bounded(lambda: np.array([float(of.table.n_records)]), 1.0, "Q4")
