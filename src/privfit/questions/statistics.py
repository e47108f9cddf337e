"""The sums that determine least squares: products of features, and of features and targets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privfit.engine.bounded import Bounded
from privfit.engine.exact.bounds import product_bound
from privfit.engine.exact.grids import FloatArray
from privfit.questions.products import released

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.problem import Problem


@dataclass(frozen=True)
class SufficientStatistics:
    """The sums of v v' and of y v, with v = (z, bias) clipped to norm `radius` and |y| to `bound` (Q21).

    The factor that clips a row depends on its features alone. If it depended on the target, least squares on
    the sums would be biased. The matrix comes first, as its `triangle`. A record's weight multiplies both
    sums.
    """

    what: ClassVar[str] = "sufficient statistics"

    radius: float
    bound: float

    def sums(self, problem: Problem) -> tuple[NDArray[Any], ...]:
        """Return both as exact sums. Two passes over the data and a matrix product."""
        from privfit.engine.products import product_multiples

        table = problem.table
        factors = np.minimum(1.0, self.radius * table.reciprocals)
        targets = np.clip(problem.targets, -self.bound, self.bound)
        weights = np.ones(table.n_records) if problem.weights is None else problem.weights
        # no share exceeds the clip, except by rounding
        products = table.combination_sums(weights * factors * targets, self.radius * self.bound)
        return product_multiples(table, np.sqrt(weights) * factors, self.radius), products

    def bounded(self, of: Problem) -> Bounded:
        """Return the sums. Sensitivity: the length of (radius^2, radius * bound), and rounding."""
        if of.loss.outputs > 1:
            raise ValueError("sufficient statistics are available for losses with one output only")
        if not 0.0 < self.bound < math.inf:
            raise ValueError(f"bound must be positive and finite, got {self.bound!r}")
        squares = product_bound(self.radius, of.table.n_weights)
        products = of.gradient_bound(self.radius * self.bound)

        def finish(sums: tuple[NDArray[Any], ...]) -> FloatArray:
            return np.concatenate([released(sums[0], self.radius), of.table.viewed_sums(sums[1])])

        return Bounded(lambda: self.sums(of), math.hypot(squares, products), "Q21", finish=finish)
