"""Sums for standard errors: gradient, curvature and squared scores at given weights.

A record whose features (z, bias) are longer than `radius` is multiplied by radius^2 / |(z, bias)|^2 < 1. A
record whose predicted mean m is larger than `mean` is multiplied by mean / |m|. The product of both factors,
f, depends on the features and the weights alone. If it depended on the target, it would bias the coefficients
even of a correctly specified model. Predictions use the features as they are. So the sums belong to the model
that minimises the sum of f times the loss.

With several classes (softmax) a record has one slope for each class, p - e_y, and its second derivatives are
the matrix diag(p) - pp'. There is then a weight for each column and class; the weights of one column are next
to each other (Q40).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from privfit.engine.bounded import Bounded
from privfit.engine.exact.bounds import class_curvature_bound, product_bound
from privfit.engine.exact.grids import FloatArray
from privfit.losses.softmax import is_softmax
from privfit.questions.count import persons_of
from privfit.questions.products import as_matrix, released

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.points import Point


@dataclass(frozen=True)
class EffectGradient:
    """The sum of f r (z, bias), where r is the slope of a record's loss (Q33).

    r is clipped to `slope` in size after records with large means have been shrunk.
    """

    what: ClassVar[str] = "gradient for the effects"

    radius: float
    slope: float
    mean: float = math.inf

    def bounded(self, of: Point) -> Bounded:
        """Return the sum. Sensitivity: `slope` times `radius`, and rounding. One pass over the data."""
        _check(of, self.mean)
        clip = self.slope * self.radius
        bound, table = of.problem.gradient_bound(clip), of.problem.table
        return Bounded(
            lambda: table.combination_sums(_scores(of, self), clip),
            bound,
            _claim(of),
            finish=table.viewed_sums,
        )


@dataclass(frozen=True)
class EffectCurvature:
    """The sum of f l'' (z, bias)(z, bias)', where l'' is the second derivative of a record's loss (Q33).

    l'' is at most `curvature` after records with large means have been shrunk. The matrix is released as a
    `triangle`.
    """

    what: ClassVar[str] = "curvature for the effects"

    radius: float
    curvature: float
    mean: float = math.inf

    def sums(self, of: Point) -> FloatArray:
        """Return the matrix. One pass over the data and a matrix product."""
        return as_matrix(self.multiples(of), self._longest(of))

    def multiples(self, of: Point) -> NDArray[np.int64]:
        """Return its upper triangle in whole numbers, which add up exactly."""
        from privfit.engine.class_products import class_multiples
        from privfit.engine.products import product_multiples

        table, outputs = of.problem.table, of.problem.loss.outputs
        if outputs > 1:
            roots = np.minimum(1.0, self.radius * table.reciprocals)
            if of.problem.weights is not None:
                roots = roots * np.sqrt(of.problem.weights)
            p = _probabilities(of)
            rows = partial(_of_classes, p, roots)
            return class_multiples(table, rows, outputs, outputs, self._longest(of))
        parts = _long(of, self.radius) * _large(of, of.slopes(), self.mean)
        return product_multiples(table, np.sqrt(parts * of.second_derivatives()), self._longest(of))

    def _longest(self, of: Point) -> float:
        """Return the norm to which rows are clipped; the rows of several classes are always shorter."""
        return self.radius * (math.sqrt(self.curvature) if of.problem.loss.outputs == 1 else 1.0)

    def bounded(self, of: Point) -> Bounded:
        """Return the triangle. Sensitivity: `curvature` times the square of `radius`, and rounding."""
        _check(of, self.mean)
        problem, longest = of.problem, self._longest(of)
        bound = product_bound(longest, problem.n_weights)
        if problem.loss.outputs > 1:
            if self.curvature < problem.loss.smoothness:
                raise ValueError(f"curvature must be at least {problem.loss.smoothness} for several classes")
            bound = class_curvature_bound(self.radius, problem.n_weights, problem.loss.outputs)
        finish = partial(released, radius=longest)
        return Bounded(lambda: self.multiples(of), bound, _claim(of), finish=finish)


@dataclass(frozen=True)
class EffectSpread:
    """The sum of f^2 r^2 (z, bias)(z, bias)', the squares of the records' shares of the gradient (Q33).

    r is the slope of a record's loss, clipped to `slope` in size after records with large means have been
    shrunk. The matrix is released as a `triangle`.
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
        from privfit.engine.class_products import class_multiples
        from privfit.engine.products import product_multiples

        table, scores, longest = of.problem.table, _scores(of, self), self.slope * self.radius
        if of.problem.loss.outputs > 1:
            return class_multiples(
                table, lambda part: scores[part, None], 1, of.problem.loss.outputs, longest
            )
        return product_multiples(table, np.abs(scores), longest)

    def bounded(self, of: Point) -> Bounded:
        """Return the triangle. Sensitivity: the square of `slope` times `radius`, and rounding."""
        _check(of, self.mean)
        bound = product_bound(self.slope * self.radius, of.problem.n_weights * of.problem.loss.outputs)
        finish = partial(released, radius=self.slope * self.radius)
        return Bounded(lambda: self.multiples(of), bound, _claim(of), finish=finish)


@dataclass(frozen=True)
class PersonSpread:
    """The sum over people of G G', where G is the sum of f r (z, bias) over a person's records (Q34).

    The parameters are those of `EffectSpread`. The G of a person with k records is up to k `slope` `radius`
    long, so its square is up to k^2, not k, times as large as that of a record. The matrix is released as a
    `triangle`.
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
        _check(of, self.mean)
        if of.problem.loss.outputs > 1:
            raise ValueError("squared scores of people are available for losses with one output only")
        longest = self.longest(of)
        bound = product_bound(longest, of.problem.n_weights)
        finish = partial(released, radius=longest)
        return Bounded(lambda: self.multiples(of), bound, "Q34", unit="person", finish=finish)


def _claim(of: Point) -> str:
    return "Q33" if of.problem.loss.outputs == 1 else "Q40"


def _long(of: Point, radius: float) -> FloatArray:
    """Return the factor by which each record is multiplied because of the length of its features."""
    lengths = np.minimum(1.0, radius * of.problem.table.reciprocals)
    return lengths * lengths


def _large(of: Point, slopes: FloatArray, mean: float) -> FloatArray | float:
    """Return the factor by which each record is multiplied because of its predicted mean, slope + target."""
    if mean == math.inf:
        return 1.0
    with np.errstate(divide="ignore", over="ignore"):
        parts: FloatArray = np.minimum(1.0, mean / np.abs(slopes + of.problem.targets))
    return parts


def _scores(of: Point, question: EffectGradient | EffectSpread | PersonSpread) -> FloatArray:
    """Return the factor of (z, bias) in each record's share of the gradient: f times its weighted slopes."""
    from privfit.engine.combination import shrunk

    slopes = np.nan_to_num(of.slopes())
    slopes = shrunk(slopes * _large(of, slopes, question.mean), question.slope)
    of_records = (-1, *[1] * (slopes.ndim - 1))
    if of.problem.weights is not None:
        slopes = slopes * of.problem.weights.reshape(of_records)
    return _long(of, question.radius).reshape(of_records) * slopes


def _probabilities(of: Point) -> FloatArray:
    """Return the probabilities of each record's classes, which add up to 1; all of them 0 instead of NaN."""
    p = of.slopes()
    p[np.arange(len(p)), of.problem.targets.astype(np.intp)] += 1.0
    p = np.fmax(p, 0.0)
    total = np.zeros(len(p))
    for output in p.T:  # one after the other, so that a record's sum depends on that record alone
        total += output
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(p / total[:, None])


def _of_classes(p: FloatArray, roots: FloatArray, part: slice) -> FloatArray:
    """Return sqrt(p_k) (e_k - p) for each class k of each record, times its root."""
    own, outputs = p[part], p.shape[1]
    rows: FloatArray = (np.sqrt(own) * roots[part, None])[:, :, None] * (np.eye(outputs) - own[:, None])
    return rows


def _check(of: Point, mean: float) -> None:
    loss = of.problem.loss
    if is_softmax(loss) and mean == math.inf:
        return
    if loss.outputs > 1:
        raise ValueError("the sums for effects of several classes are available for the softmax loss only")
    if loss.second_derivative is None:
        raise ValueError(f"the second derivative of the loss {loss.name!r} is not known")
