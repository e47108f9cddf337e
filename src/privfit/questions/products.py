"""Second moments of all pairs of columns, unweighted or weighted by the curvature of the records' losses."""

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

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.problem import Problem
    from privfit.engine.table import Table


def triangle(matrix: FloatArray) -> FloatArray:
    """Return a symmetric matrix as the vector of its upper triangle, which has the same norm.

    An entry off the diagonal stands for two entries of the matrix, so it is multiplied by the root of 2.
    """
    upper: FloatArray = (matrix * _weights(len(matrix)))[np.triu_indices(len(matrix))]
    return upper


def symmetric(vector: FloatArray) -> FloatArray:
    """Return the symmetric matrix whose `triangle` is this vector."""
    d = math.isqrt(2 * len(vector))
    matrix = np.zeros((d, d))
    matrix[np.triu_indices(d)] = vector
    matrix /= _weights(d)
    return matrix + np.triu(matrix, 1).T


def released(multiples: NDArray[np.int64], radius: float) -> FloatArray:
    """Return the released form of sums of products: the `triangle` of their matrix."""
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

    z includes the intercept's column. If records have weights, z is multiplied by the root of its record's
    weight first. The matrix is released as a vector, its `triangle`; `symmetric` turns it into a matrix
    again.
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
        bound, finish = product_bound(self.radius, of.table.n_weights), partial(released, radius=self.radius)
        return Bounded(lambda: self.multiples(of), bound, "Q14", finish=finish)


@dataclass(frozen=True, eq=False)
class HessianAt:
    """The sum of c z z' over the records, the rows sqrt(c) z clipped to norm `radius` (Q14).

    c is the curvature of a record's loss at the weights w: the derivative `window` / 2 above the prediction,
    minus the derivative `window` / 2 below it, divided by `window`. So it also exists for losses with a kink.
    It is released like `SecondMoments`.
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
            raise ValueError("the curvature is available for losses with one output only")
        if not 0.0 < self.window < math.inf:
            raise ValueError(f"window must be positive and finite, got {self.window!r}")
        bound, finish = product_bound(self.radius, of.table.n_weights), partial(released, radius=self.radius)
        return Bounded(lambda: self.multiples(of), bound, "Q14", finish=finish)
