"""Weights of records: each record's own weight, up to a public bound, times the weight of its class.

The sums of a fit need weights between 0 and 1. So every weight is divided by the largest that a record could
have: `max_weight` (after shrinkage), times the largest weight of a class. This factor cancels in means,
because they are divided by a sum of weights that the solver buys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privfit.curator import Curator
from privfit.estimators.validation import check_number, shown
from privfit.leaks import leak
from privfit.questions import ClassSums, Count
from privfit.schema.weight import LARGEST_WEIGHT, Weight
from privfit.solvers.kit import counted, total_weight

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.problem import Problem

Vector = NDArray[np.float64]

BALANCE_SHARE = 0.01  # of the budget, for the sums of weights by class
STANDS_OUT = 4.0  # the noisy size of a class counts as at least so many standard deviations of its noise


@dataclass(frozen=True)
class Weighting:
    """The declared facts about the weights of the records.

    Parameters
    ----------
    given : bool
        Whether records come with weights of their own.
    largest : float, optional
        The largest weight; None if it is taken from the data.
    shrinkage : float
        How far weights are moved towards their mean, from 0 to 1.
    mean : float, optional
        That mean; None if it is bought.
    by_class : mapping or "balanced", optional
        The weights of the classes.
    """

    given: bool = False
    largest: float | None = None
    shrinkage: float = 0.0
    mean: float | None = None
    by_class: Mapping[Any, float] | str | None = None

    @classmethod
    def by(cls, estimator: Any, column: Weight | None, *, given: bool) -> Weighting:
        """Return what an estimator's settings or a schema's column declare; raise if both do."""
        own = {name: getattr(estimator, name) for name in ("max_weight", "mean_weight", "weight_shrinkage")}
        if column is not None:
            declared = (column.max, column.mean, column.shrinkage)
            for (name, value), said in zip(own.items(), declared, strict=True):
                if value and said:
                    raise ValueError(f"The schema's weight column declares this already; remove {name}=.")
                own[name] = said or value
        largest, mean, shrinkage = own.values()
        for name, value in (("max_weight", largest), ("mean_weight", mean)):
            if value is not None:
                check_number(name, value, largest=LARGEST_WEIGHT)
        check_number("weight_shrinkage", shrinkage, or_zero=True, largest=1.0)
        if largest is not None and mean is not None and mean > largest:
            raise ValueError(f"mean_weight must be at most max_weight, got {mean:g} above {largest:g}.")
        by_class = getattr(estimator, "class_weight", None)
        if by_class is not None and by_class != "balanced":
            _check_class_weight(by_class)
        return cls(given or column is not None, largest, float(shrinkage), mean, by_class)

    @property
    def is_used(self) -> bool:
        """Whether records have different weights."""
        return self.given or self.by_class is not None

    def admit_leaks(self) -> None:
        """Warn, or in strict mode raise, if the largest weight will be taken from the data."""
        if self.given and self.largest is None:
            leak("The largest weight was", "declare it with max_weight=")

    def of(self, sample_weight: Vector | None, encoder: Any, declared: Any) -> RecordWeights:
        """Return the weights of these records and the declared weights of their classes.

        The encoder has the classes in order. `declared` are the declared labels, which differ from them if a
        meta-estimator has numbered the classes.
        """
        factors = None
        if isinstance(self.by_class, Mapping):
            factors = _factors(
                self.by_class, list(encoder.classes), [] if declared is None else sorted(declared)
            )
        if sample_weight is None:
            return RecordWeights(self, None, 1.0, factors)
        weights = np.where(sample_weight > 0.0, sample_weight, 0.0)  # NaN becomes 0, too
        largest = self.largest
        if largest is None:
            largest = float(np.max(weights, initial=0.0, where=weights <= LARGEST_WEIGHT)) or 1.0
        return RecordWeights(self, np.minimum(weights, largest) / largest, largest, factors)

    def assumptions(self) -> Iterator[str]:
        """Yield the assumptions of a statement."""
        if self.given:
            known = (
                "the largest weight is public; it was read off the data, not declared"
                if self.largest is None
                else f"the largest weight, {self.largest:g}, is public, and a weight above it counts as that"
            )
            yield f"records have weights, and negative and missing ones count as 0; {known}"
            yield (
                "a record's weight depends on that record alone: weights that were adjusted to the records "
                "of others, by raking for example, are not covered"
            )
            if self.shrinkage > 0.0:
                mean = "a bought mean" if self.mean is None else f"the mean {self.mean:g}, which is public"
                yield f"weights are moved {self.shrinkage:.3g} of the way to {mean}"
        if isinstance(self.by_class, Mapping):
            yield "the weights of the classes are public"


@dataclass(frozen=True, eq=False)
class RecordWeights:
    """The weights of the records of a fit.

    Parameters
    ----------
    declared : Weighting
        The declared facts about them.
    given : array, optional
        The records' own weights, divided by `unit`, so between 0 and 1.
    unit : float
        The number by which they were divided.
    factors : array, optional
        The declared weights of the classes, the largest of them 1.
    """

    declared: Weighting
    given: Vector | None
    unit: float
    factors: Vector | None

    @property
    def published(self) -> dict[str, Any]:
        """The facts for a model file; empty if records have no weights."""
        declared = self.declared
        facts: dict[str, Any] = {}
        if declared.given:
            facts = {"max": declared.largest, "shrinkage": declared.shrinkage, "mean": declared.mean}
        if declared.by_class is not None:
            facts["classes"] = "balanced" if self.factors is None else self.factors.tolist()
        return facts

    def applied(
        self, problem: Problem, ask: Callable[[Problem], Curator] | None
    ) -> tuple[Problem, tuple[str, ...]]:
        """Return the records with the weights that the fit uses, and notes about the numbers bought for them.

        `problem` has the given weights, and `ask` returns a curator for records. `ask` is None for a fit
        without privacy, which uses the exact mean and the exact sizes of classes.
        """
        notes, shrinkage, factors = [], self.declared.shrinkage, self.factors
        if problem.weighted and shrinkage > 0.0:
            if self.declared.mean is not None:
                mean = min(self.declared.mean / self.unit, 1.0)
            elif ask is None:
                mean = problem.total_weight / max(problem.n_records, 1)
            else:
                mean = _bought_mean(ask(problem))
                notes.append(f"weights were moved towards a bought mean of {mean:.3g} of the largest weight")
            problem = problem.weighed_by(partial(_shrunk_weights, mean=mean, shrinkage=shrinkage))
        if self.declared.by_class == "balanced":
            if ask is None:
                factors = _exact_factors(problem)
            else:
                factors = _bought_factors(ask(problem))
                written = ", ".join(f"{factor:.3g}" for factor in factors)
                notes.append(f"the classes, in their order, were given the bought weights {written}")
        if factors is not None:
            problem = problem.weighed_by(partial(_class_weights, factors=factors))
        return problem, tuple(notes)


def _factors(by_class: Mapping[Any, float], classes: list[Any], declared: list[Any]) -> Vector:
    """Return the weights of the classes in their order, divided by the largest."""
    weights = np.ones(len(classes))
    for label, weight in by_class.items():
        places = [names.index(label) for names in (classes, declared) if label in names]
        if not places:
            raise ValueError(
                f"class_weight names {shown(label)}, which is none of the classes; give the weight of each "
                "class by its label."
            )
        weights[places[0]] = weight
    if not weights.any():
        raise ValueError("class_weight must be above 0 for at least one class.")
    factors: Vector = weights / weights.max()
    return factors


def _classes(problem: Problem) -> NDArray[np.intp]:
    """Return the number of each record's class, in the order of the targets' values."""
    return np.searchsorted(problem.loss.targets.typical, problem.targets)


def _class_weights(problem: Problem, factors: Vector) -> Vector:
    """Return the factor of each record's class, times its weight if it has one."""
    of_records: Vector = factors[_classes(problem)]
    return of_records if problem.weights is None else of_records * problem.weights


def _shrunk_weights(problem: Problem, mean: float, shrinkage: float) -> Vector:
    assert problem.weights is not None
    return _shrunk(problem.weights, mean, shrinkage)


def _exact_factors(problem: Problem) -> Vector:
    """Return factors that give all classes the same total weight, for a fit without privacy."""
    count = len(problem.loss.targets.typical)
    sizes = np.bincount(_classes(problem), weights=problem.weights, minlength=count).astype(np.float64)
    least = sizes[sizes > 0.0].min(initial=np.inf)
    factors: Vector = np.where(sizes > 0.0, least / np.maximum(sizes, least), 1.0)
    return factors


def _bought_factors(curator: Curator) -> Vector:
    """Buy the total weight of each class, and return factors of at most 1 that make the totals equal."""
    sums = curator.measure(ClassSums(), BALANCE_SHARE * curator.remaining)
    sizes = np.maximum(sums.value, STANDS_OUT * sums.sigma)
    factors: Vector = sizes.min() / sizes
    return factors


def _bought_mean(curator: Curator) -> float:
    """Buy the mean weight: the sum of weights and, unless it is declared, the number of records."""
    budget, n = curator.remaining, curator.n_records
    if n is None:
        n = max(float(counted(curator, budget, Count()).value[0]), 1.0)
    return total_weight(curator, budget, n) / n


def _shrunk(weights: Vector, mean: float, shrinkage: float) -> Vector:
    """Move weights between 0 and 1 towards a mean, and divide by the result for a weight of 1.

    Rounding is monotone, so no quotient exceeds 1.
    """
    kept, to_mean = 1.0 - shrinkage, shrinkage * mean
    moved: Vector = (to_mean + kept * weights) / (to_mean + kept)
    return moved


def _check_class_weight(weights: Any) -> None:
    if not isinstance(weights, Mapping):
        raise ValueError(f"class_weight must be {{label: weight}} or 'balanced', got {shown(weights)}.")
    for weight in weights.values():
        check_number("Each weight of class_weight", weight, or_zero=True, largest=LARGEST_WEIGHT)
