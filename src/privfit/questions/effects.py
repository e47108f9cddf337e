"""Sums for standard errors: gradient, curvature and squared scores at given weights, long records shrunk.

A record whose features (z, bias) are longer than `radius` counts radius^2 / |(z, bias)|^2 < 1 times, and one
whose predicted mean m is larger than `mean` counts mean / |m| times. The product of both, f, is a function of
the features and of the weights alone: a clip that depended on the target would move even the coefficients
of a right model. Predictions are those of the record as it is. So the sums belong to the model that
minimises the sum of f times the loss.

Of several classes (softmax) a record has a slope for each, p - e_y, and its second derivatives are the matrix
diag(p) - pp'. There is then a weight for each column and class, those of a column side by side (Q40).
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
    """The sum of f r (z, bias), r being the slope of a record's loss (Q33).

    Its share is at most `slope` in size once long records and large means are shrunk.
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
            lambda: table.combination_sums(_scores(of, self), clip), bound, _claim(of), fold=table.folded
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
        """Return the norm to which rows are clipped; those of classes are shorter, whatever they are."""
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
        fold = partial(released, radius=longest)
        return Bounded(lambda: self.multiples(of), bound, _claim(of), fold=fold)


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
        fold = partial(released, radius=self.slope * self.radius)
        return Bounded(lambda: self.multiples(of), bound, _claim(of), fold=fold)


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
        _check(of, self.mean)
        if of.problem.loss.outputs > 1:
            raise ValueError("squared scores of people are known of losses with one output only")
        longest = self.longest(of)
        bound = product_bound(longest, of.problem.n_weights)
        fold = partial(released, radius=longest)
        return Bounded(lambda: self.multiples(of), bound, "Q34", unit="person", fold=fold)


def _claim(of: Point) -> str:
    return "Q33" if of.problem.loss.outputs == 1 else "Q40"


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
    """Return what multiplies (z, bias) in a record's part of the gradient: f times its weighted slopes."""
    from privfit.engine.combination import shrunk

    slopes = np.nan_to_num(of.slopes())
    slopes = shrunk(slopes * _large(of, slopes, question.mean), question.slope)
    of_records = (-1, *[1] * (slopes.ndim - 1))
    if of.problem.weights is not None:
        slopes = slopes * of.problem.weights.reshape(of_records)
    return _long(of, question.radius).reshape(of_records) * slopes


def _probabilities(of: Point) -> FloatArray:
    """Return the probabilities of each record's classes, whose sum is 1, or all 0 if they are no numbers."""
    p = of.slopes()
    p[np.arange(len(p)), of.problem.targets.astype(np.intp)] += 1.0
    p = np.fmax(p, 0.0)
    total = np.zeros(len(p))
    for output in p.T:  # one after the other, so that a record's sum depends on it alone
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
        raise ValueError("the sums for effects of several classes are known of the softmax loss only")
    if loss.second_derivative is None:
        raise ValueError(f"the second derivative of the loss {loss.name!r} is not known")
