"""Second moments of the features, all pairs of columns: of the records, or weighted by their curvature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from privfit.engine.bounded import Bounded
from privfit.engine.exact.bounds import product_bound
from privfit.engine.exact.grids import FloatArray

if TYPE_CHECKING:  # what computes brings numba, which only a fit needs
    from privfit.engine.problem import Problem
    from privfit.engine.table import Table


def triangle(matrix: FloatArray) -> FloatArray:
    """Return a symmetric matrix as the vector of its upper triangle, which has the same norm.

    What is off the diagonal stands for two entries, and is multiplied by the root of 2.
    """
    upper: FloatArray = (matrix * _weights(len(matrix)))[np.triu_indices(len(matrix))]
    return upper


def symmetric(vector: FloatArray) -> FloatArray:
    """Return the symmetric matrix of such a vector."""
    d = math.isqrt(2 * len(vector))
    matrix = np.zeros((d, d))
    matrix[np.triu_indices(d)] = vector
    matrix /= _weights(d)
    return matrix + np.triu(matrix, 1).T


def released(multiples: NDArray[np.int64], radius: float) -> FloatArray:
    """Return what is released of sums of products: the `triangle` of their matrix."""
    return triangle(as_matrix(multiples, radius))


def as_matrix(multiples: NDArray[np.int64], radius: float) -> FloatArray:
    """Return the matrix of sums of products."""
    from privfit.engine import products  # imported late: it needs numba

    return products.as_matrix(multiples, radius)


def _weights(d: int) -> FloatArray:
    weights = np.full((d, d), math.sqrt(2.0))
    np.fill_diagonal(weights, 1.0)
    return weights


@dataclass(frozen=True)
class SecondMoments:
    """The sum of z z' over the records, each z clipped to norm `radius` (Q14).

    z includes the intercept's column; where records have weights, z is multiplied by the root of its
    record's weight first. The sum is released as a vector, the matrix's `triangle`; `symmetric` makes a
    matrix of it.
    """

    what: ClassVar[str] = "second moments"

    radius: float

    def sums(self, of: Problem | Table) -> FloatArray:
        """Return the matrix. One pass over the data and a matrix product."""
        return as_matrix(self.multiples(of), self.radius)

    def multiples(self, of: Problem | Table) -> NDArray[np.int64]:
        """Return its upper triangle in whole numbers, which add up exactly."""
        from privfit.engine.products import product_multiples

        weights = getattr(of, "weights", None)
        return product_multiples(of.table, 1.0 if weights is None else np.sqrt(weights), self.radius)

    def bounded(self, of: Problem | Table) -> Bounded:
        """Return the triangle. Sensitivity: the square of `radius`, and rounding."""
        bound, fold = product_bound(self.radius, of.table.n_weights), partial(released, radius=self.radius)
        return Bounded(lambda: self.multiples(of), bound, "Q14", fold=fold)


@dataclass(frozen=True, eq=False)
class HessianAt:
    """The sum of c z z' over the records, the rows sqrt(c) z clipped to norm `radius` (Q14).

    c is the curvature of a record's loss at the weights w, over a window of its prediction: how much the
    derivative rises from `window` / 2 below to as much above, divided by `window`. So losses with a kink
    have one, too. It is released as `SecondMoments` are.
    """

    what: ClassVar[str] = "curvature"

    w: FloatArray
    radius: float
    window: float = 1.0

    def sums(self, problem: Problem) -> FloatArray:
        """Return the matrix. Two passes over the data and a matrix product."""
        return as_matrix(self.multiples(problem), self.radius)

    def multiples(self, problem: Problem) -> NDArray[np.int64]:
        """Return its upper triangle in whole numbers, which add up exactly."""
        return problem.at(self.w).hessian_multiples(self.radius, self.window)

    def bounded(self, of: Problem) -> Bounded:
        """Return the triangle. Sensitivity: the square of `radius`, and rounding."""
        if of.loss.outputs > 1:
            raise ValueError("the curvature is known of losses with one output only")
        if not 0.0 < self.window < math.inf:
            raise ValueError(f"window must be positive and finite, got {self.window!r}")
        bound, fold = product_bound(self.radius, of.table.n_weights), partial(released, radius=self.radius)
        return Bounded(lambda: self.multiples(of), bound, "Q14", fold=fold)
