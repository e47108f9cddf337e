"""Sums for standard errors: gradient, curvature and squared scores at given weights, long records shrunk.

A record whose features (z, bias) are longer than `radius` counts radius^2 / |(z, bias)|^2 < 1 times, and one
whose predicted mean m is larger than `mean` counts mean / |m| times. The product of both, f, is a function of
the features and of the weights alone: a clip that depended on the target would move even the coefficients
of a right model. Predictions are those of the record as it is. So the sums belong to the model that
minimises the sum of f times the loss.
"""

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
from privfit.questions.count import persons_of
from privfit.questions.products import as_matrix, released

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.points import Point


@dataclass(frozen=True)
class EffectGradient:
    """The sum of f r (z, bias), r being the slope of a record's loss (Q33).

    Its share is at most `slope` in size once long records and large means are shrunk.
    """

    what: ClassVar[str] = "gradient for the effects"

    radius: float
    slope: float
    mean: float = math.inf

    def bounded(self, of: Point) -> Bounded:
        """Return the sum. Sensitivity: `slope` times `radius`, and rounding. One pass over the data."""
        _check(of)
        clip = self.slope * self.radius
        bound, table = of.problem.gradient_bound(clip), of.problem.table
        return Bounded(
            lambda: table.combination_sums(_scores(of, self), clip), bound, "Q33", fold=table.folded
        )


@dataclass(frozen=True)
class EffectCurvature:
    """The sum of f l'' (z, bias)(z, bias)', l'' being the second derivative of a record's loss (Q33).

    It is at most `curvature` once large means are shrunk. It is released as a `triangle`.
    """

    what: ClassVar[str] = "curvature for the effects"

    radius: float
    curvature: float
    mean: float = math.inf

    def sums(self, of: Point) -> FloatArray:
        """Return the matrix. One pass over the data and a matrix product."""
        return as_matrix(self.multiples(of), self._longest)

    def multiples(self, of: Point) -> NDArray[np.int64]:
        """Return its upper triangle in whole numbers, which add up exactly."""
        from privfit.engine.products import product_multiples

        parts = _long(of, self.radius) * _large(of, of.slopes(), self.mean)
        rows = np.sqrt(parts * of.second_derivatives())
        return product_multiples(of.problem.table, rows, self._longest)

    @property
    def _longest(self) -> float:
        return self.radius * math.sqrt(self.curvature)

    def bounded(self, of: Point) -> Bounded:
        """Return the triangle. Sensitivity: `curvature` times the square of `radius`, and rounding."""
        _check(of)
        bound = product_bound(self._longest, of.problem.n_weights)
        fold = partial(released, radius=self._longest)
        return Bounded(lambda: self.multiples(of), bound, "Q33", fold=fold)


@dataclass(frozen=True)
class EffectSpread:
    """The sum of f^2 r^2 (z, bias)(z, bias)', the squares of what records add to the gradient (Q33).

    r is the slope of a record's loss, at most `slope` in size once large means are shrunk. It is released
    as a `triangle`.
    """

    what: ClassVar[str] = "squared scores for the effects"

    radius: float
    slope: float
    mean: float = math.inf

    def sums(self, of: Point) -> FloatArray:
        """Return the matrix. One pass over the data and a matrix product."""
        return as_matrix(self.multiples(of), self.slope * self.radius)

    def multiples(self, of: Point) -> NDArray[np.int64]:
        """Return its upper triangle in whole numbers, which add up exactly."""
        from privfit.engine.products import product_multiples

        return product_multiples(of.problem.table, np.abs(_scores(of, self)), self.slope * self.radius)

    def bounded(self, of: Point) -> Bounded:
        """Return the triangle. Sensitivity: the square of `slope` times `radius`, and rounding."""
        _check(of)
        bound = product_bound(self.slope * self.radius, of.problem.n_weights)
        fold = partial(released, radius=self.slope * self.radius)
        return Bounded(lambda: self.multiples(of), bound, "Q33", fold=fold)


@dataclass(frozen=True)
class PersonSpread:
    """The sum over people of G G', G being the sum of a person's f r (z, bias) (Q34).

    The parameters are those of `EffectSpread`. A person with k records has a G of up to k times `slope` times
    `radius`: its square is k^2, not k, times as large as a record's. It is released as a `triangle`.
    """

    what: ClassVar[str] = "squared scores for the effects"

    radius: float
    slope: float
    mean: float = math.inf

    def longest(self, of: Point) -> float:
        """Return how long a person's G can be."""
        return persons_of(of.problem).most * self.slope * self.radius

    def sums(self, of: Point) -> FloatArray:
        """Return the matrix. Two passes over the data and a matrix product."""
        return as_matrix(self.multiples(of), self.longest(of))

    def multiples(self, of: Point) -> NDArray[np.int64]:
        """Return its upper triangle in whole numbers, which add up exactly."""
        from privfit.engine.person_rows import person_rows
        from privfit.engine.products import product_multiples

        rows = person_rows(of.problem.table, persons_of(of.problem), _scores(of, self))
        return product_multiples(rows, 1.0, self.longest(of))

    def bounded(self, of: Point) -> Bounded:
        """Return the triangle. Sensitivity, for a whole person: the square of the longest G, and rounding."""
        _check(of)
        longest = self.longest(of)
        bound = product_bound(longest, of.problem.n_weights)
        fold = partial(released, radius=longest)
        return Bounded(lambda: self.multiples(of), bound, "Q34", unit="person", fold=fold)


def _long(of: Point, radius: float) -> FloatArray:
    """Return how much each record counts, by the length of its features."""
    lengths = np.minimum(1.0, radius * of.problem.table.reciprocals)
    return lengths * lengths


def _large(of: Point, slopes: FloatArray, mean: float) -> FloatArray | float:
    """Return how much each record counts, by the mean that is predicted for it: the slope plus the target."""
    if mean == math.inf:
        return 1.0
    with np.errstate(divide="ignore", over="ignore"):
        parts: FloatArray = np.minimum(1.0, mean / np.abs(slopes + of.problem.targets))
    return parts


def _scores(of: Point, question: EffectGradient | EffectSpread | PersonSpread) -> FloatArray:
    """Return what multiplies (z, bias) in a record's part of the gradient: f times its weighted slope."""
    slopes = np.nan_to_num(of.slopes())
    slopes = np.clip(slopes * _large(of, slopes, question.mean), -question.slope, question.slope)
    if of.problem.weights is not None:
        slopes = slopes * of.problem.weights
    return _long(of, question.radius) * slopes


def _check(of: Point) -> None:
    if of.problem.loss.outputs > 1:
        raise ValueError("the sums for effects are known of losses with one output only")
    if of.problem.loss.second_derivative is None:
        raise ValueError(f"the second derivative of the loss {of.problem.loss.name!r} is not known")
