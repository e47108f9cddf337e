"""Sums of the records' weights, over all records and by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privfit.engine.bounded import Bounded
from privfit.engine.exact.grids import FloatArray, rounded_sum
from privfit.losses.targets import Classes, TwoLabels

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.problem import Problem


@dataclass(frozen=True)
class WeightSum:
    """The sum over records of their weights, which lie between 0 and 1 (Q23)."""

    what: ClassVar[str] = "sum of weights"

    def bounded(self, of: Problem) -> Bounded:
        """Return the sum. Sensitivity: 1. No pass over the data."""
        return Bounded(lambda: np.array([of.total_weight]), 1.0, "Q23")


@dataclass(frozen=True)
class ClassSums:
    """The sum of the weights of the records of each class, in the order of the targets' values (Q24)."""

    what: ClassVar[str] = "classes"

    def bounded(self, of: Problem) -> Bounded:
        """Return a sum for each class. Sensitivity: 1. No pass over the data."""
        targets = of.loss.targets
        if not isinstance(targets, TwoLabels | Classes):
            raise ValueError("only targets that are classes can be added up by class")

        def look() -> FloatArray:
            members = (of.targets[:, None] == targets.typical).astype(np.float64)
            return rounded_sum(members if of.weights is None else of.weights[:, None] * members, 1.0)

        return Bounded(look, 1.0, "Q24")
