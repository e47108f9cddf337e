"""Standard errors of a fit's effects: checks before the first charge, and attributes of fitted models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from privfit.accounting.zcdp import MAX_RHO
from privfit.estimators.labels import LabelEncoder
from privfit.estimators.validation import shown
from privfit.leaks import warn_caller
from privfit.losses import own
from privfit.losses.softmax import is_softmax
from privfit.models.inference import Inference
from privfit.remedies import remedy
from privfit.schema.levels import Categorical
from privfit.solvers.base import BudgetWarning, Solution
from privfit.solvers.contrasts import Category
from privfit.solvers.last_steps import last_steps

if TYPE_CHECKING:
    from privfit.curator import Curator
    from privfit.estimators.declared import Declared
    from privfit.estimators.private import Terms
    from privfit.estimators.targets import TargetEncoder
    from privfit.schema import Schema
    from privfit.solvers import Facts, Solver

Vector = NDArray[np.float64]

INTERCEPT = "intercept"
# in units of `unit_of_reach`; below it nearly all effects are refused, even of unrelated columns
LEAST_REACH = 8.0
REACH_FOR_NEARLY_ALL = 35.0  # in the same units; above it hardly any effect of unrelated columns is refused
MOST_OF_CLASSES = 300  # the largest number of effects of several classes, because time grows with its square
MOST_EPSILON = 20.0  # messages advise no larger epsilon, because it protects nobody
WITH_A_VIEW = ("adaptive", "newton")  # solvers whose solutions hold the view of the features


@dataclass(frozen=True)
class Asked:
    """The effects for which a fit is asked.

    Parameters
    ----------
    columns : tuple of str or None
        The columns, or single features, of interest; None for all effects.
    names : tuple of str
        The names of all weights of a class; the intercept, if any, is last.
    chosen : tuple of str or None
        The names of the weights of interest; None for all.
    categories : tuple of Category
        The columns of each category.
    terms : Terms or None
        The terms of the fit.
    outputs : int
        The number of scores of a record: one, or the number of classes if there are more than two.
    doubt : str or None
        Why effects may be refused, by the declared number of records, and what would help.
    """

    columns: tuple[str, ...] | None
    names: tuple[str, ...] = ()
    chosen: tuple[str, ...] | None = None
    categories: tuple[Category, ...] = ()
    terms: Terms | None = None
    outputs: int = 1
    doubt: str | None = None

    @property
    def n_effects(self) -> int:
        """The number of effects without reference levels; each class is compared with the first class."""
        return (len(self.names) - len(self.categories)) * max(1, self.outputs - 1)

    @classmethod
    def by(cls, setting: Any) -> Asked | None:
        """Return what the setting `inference` asks for; None if it asks for nothing."""
        if isinstance(setting, bool | np.bool_):
            return cls(None) if setting else None
        if isinstance(setting, str) or not isinstance(setting, Sequence) or not len(setting):
            raise ValueError(
                f"inference must be True, False or a list of names of columns, got {shown(setting)}."
            )
        if not all(isinstance(name, str) for name in setting):
            raise ValueError("inference must be a list of names of columns, each of them a text.")
        return cls(tuple(setting))

    def of(self, estimator: Any, solver: Solver, facts: Facts, declared: Declared, terms: Terms) -> Asked:
        """Return the same for a model; raise before the first charge if it cannot have intervals."""
        refuse_unless_known(solver, facts, declared)
        schema = declared.schema
        numbered = [f"x{j}" for j in range(estimator.n_features_in_)]
        own = getattr(estimator, "feature_names_in_", numbered)
        columns = own if schema is None else schema.feature_names
        names = (*map(str, columns), *([INTERCEPT] if estimator.fit_intercept else []))
        categories, outputs = categories_of(schema), facts.loss.outputs
        asked = replace(self, names=names, categories=categories, terms=terms, outputs=outputs)
        if outputs > 1 and asked.n_effects > MOST_OF_CLASSES:
            raise ValueError(
                f"inference is not available for more than {MOST_OF_CLASSES} effects of several classes, and "
                f"this model has {asked.n_effects}; take fewer columns or leave inference out."
            )
        if outputs > 1 and not terms.relation.is_one_record_each:
            raise ValueError(
                "inference is not available for several classes of people with several records; leave "
                "rows_per_person or inference out."
            )
        if declared.n_records is not None:
            # of people with many records some are left out, so that fewer remain than were declared
            why = asked.too_small(declared.n_records, LEAST_REACH)
            if why is not None:
                raise ValueError(why)
            asked = replace(asked, doubt=asked.too_small(declared.n_records, REACH_FOR_NEARLY_ALL))
        if self.columns is not None:
            asked = replace(asked, chosen=asked.named(schema))
        if asked.doubt is not None:
            warn_caller(asked.doubt, BudgetWarning)
        return asked

    def named(self, schema: Schema | None) -> tuple[str, ...]:
        """Return the names of the weights of the columns of interest; raise if there is no such column."""
        assert self.columns is not None
        names = self.names
        by_column: dict[str, tuple[str, ...]] = {name: (name,) for name in names}
        if schema is not None:
            by_column |= {fact.name: tuple(fact.feature_names) for fact in schema.features}
        for name in self.columns:
            if name not in by_column:
                raise ValueError(
                    f"{remedy('inference', '--effect')} names {shown(name)}, which is no column; there are "
                    f"{', '.join(names if schema is None else [fact.name for fact in schema.features])}."
                )
        return tuple(dict.fromkeys(name for column in self.columns for name in by_column[column]))

    def too_small(self, n: float, limit: float) -> str | None:
        """Return a message with a remedy if the reach of n records is below this limit, or None.

        It depends on public numbers alone. The reach is n mu over the number of records of a person. The
        remedy is always `REACH_FOR_NEARLY_ALL`; correlated columns may need more.
        """
        assert self.terms is not None
        promise, k = self.terms.promise, self.terms.relation.records_per_person
        assert promise is not None
        d = self.n_effects
        unit = unit_of_reach(d, self.outputs)
        reach, wanted = n * math.sqrt(2.0 * promise.rho) / k, REACH_FOR_NEARLY_ALL * unit
        if reach >= limit * unit:
            return None
        hopeless = reach < LEAST_REACH * unit
        said, expected = ("is", "nearly all would") if hopeless else ("may be", "many of them may")
        rho = 0.5 * (wanted * k / n) ** 2
        epsilon = promise.worth(rho, promise.slack, self.terms.delta) if rho <= MAX_RHO else math.inf
        larger = f", or with epsilon = {_at_least(epsilon):g}" if epsilon < MOST_EPSILON else ""
        return (
            f"The privacy budget {said} too small for standard errors of {d} effects: {expected} be refused. "
            f"If the columns are hardly related, {math.ceil(n * wanted / reach):,} records would do{larger}; "
            "take fewer columns, or leave inference out."
        )

    def answered(
        self, curator: Curator, solution: Solution, budget: float, encoder: TargetEncoder
    ) -> tuple[Solution, Inference]:
        """Return a corrected solution, and the released numbers about its effects in the units of `coef_`."""
        if curator.n_records is None and solution.total is not None and self.doubt is None:
            why = self.too_small(solution.total, LEAST_REACH)
            if why is not None:
                warn_caller(why, BudgetWarning)
        steps = last_steps(curator, solution, budget, self.categories, encoder.ends)
        raw = encoder.in_units(steps.raw(steps.w))
        nothing, corrected = np.zeros_like(raw), from_the_first_class(raw)
        unit = float((encoder.in_units(nothing + 1.0) - encoder.in_units(nothing)).flat[0])
        is_reference = np.zeros(len(corrected), dtype=bool)
        is_reference[list(steps.contrasts.references)] = True
        names, chosen = self.names, self.chosen
        if isinstance(encoder, LabelEncoder) and self.outputs > 1:
            others = [str(label) for label in encoder.classes[1:].tolist()]
            names = tuple(f"{label}: {name}" for label in others for name in self.names)
            if chosen is not None:
                chosen = tuple(f"{label}: {name}" for label in others for name in chosen)
        inference = Inference(
            names=names,
            estimate=corrected,
            is_reference=is_reference,
            directions=unit * steps.unit * steps.contrasts.effects,
            curvature=steps.curvature,
            spread=steps.spread,
            sigma_curvature=steps.sigma_curvature,
            sigma_spread=steps.sigma_spread,
            sigma_gradient=steps.sigma_gradient,
            step=steps.step,
            mass=steps.mass,
            remainder=steps.remainder,
        )
        known = np.array([effect.refused is None for effect in inference.effects])
        w = steps.raw(steps.keeping(known))
        kept = from_the_first_class(encoder.in_units(w))
        inference = replace(inference, estimate=kept, corrected=corrected, chosen=chosen)
        # the steps clip columns at declared bounds only, and so do predictions if effects are known
        bounds = None if known[~is_reference].any() else solution.bounds
        return replace(solution, w=w, notes=(*solution.notes, *steps.notes), bounds=bounds), inference


def unit_of_reach(d: int, outputs: int = 1) -> float:
    """Return the reach in units of which limits for d effects are given.

    The edge of the noise in the curvature is proportional to d^0.5, and the eigenvalues of the curvature are
    proportional to n / d. With few effects the noise of the radius and of the squared scores counts, too; 10
    stands for it. With K classes of equal size the curvature is about 1 / K, and the noise is that for its
    largest value, 1/2.
    """
    return (d * math.sqrt(d) + 10.0) * max(1.0, 0.5 * outputs)


def _at_least(epsilon: float) -> float:
    """Return the next number with two digits that is at least as large."""
    unit = math.pow(10.0, math.floor(math.log10(epsilon)) - 1.0)
    return unit * math.ceil(epsilon / unit)


def from_the_first_class(w: Vector) -> Vector:
    """Return weights of one score, or each class's differences from the first class, class by class."""
    return w if w.ndim == 1 else np.ravel((w[:, 1:] - w[:, :1]).T)


def refuse_unless_known(solver: Solver, facts: Facts, declared: Declared) -> None:
    """Raise, before anything is charged, if standard errors are not available for a fit."""
    loss, ours = facts.loss, own(facts.loss)
    known = None if ours is None else ours.second_derivative
    if not is_softmax(loss) and (known is None or known is not loss.second_derivative):
        raise ValueError(
            f"inference is not available for the {loss.name} loss; it is for models with a smooth loss, such "
            "as DPLogisticRegression. Leave inference out."
        )
    if solver.name not in WITH_A_VIEW:
        raise ValueError(
            f"inference works with the solvers {' and '.join(WITH_A_VIEW)}, not with {solver.name!r}; leave "
            "solver or inference out."
        )
    if facts.penalty.is_constraint:
        raise ValueError(
            "inference is not available for weights that must stay in a set, because a weight at its border "
            "is not normally distributed; leave constraint (or monotone in the schema) or inference out."
        )
    if declared.schema is not None and declared.schema.has_curves:
        raise ValueError(
            "inference is about columns, and a curve has many weights that smooth one another; set "
            "curves=False or leave inference out."
        )


def categories_of(schema: Schema | None) -> tuple[Category, ...]:
    """Return the columns of each category of a schema; none without a schema."""
    found, first = list[Category](), 0
    for fact in () if schema is None else schema.features:
        if isinstance(fact, Categorical):
            columns = range(first, first + len(fact.levels))
            reference = first + fact.levels.index(fact.reference_level)
            found.append(Category(columns, reference, fact.missing != "fill" or fact.fill is not None))
        first += len(fact.levels)
    return tuple(found)


class WithEffects:
    """Attributes and methods of a fitted model about its effects, if `inference` was set."""

    inference_: Inference | None

    def _effects(self) -> Inference:
        check_is_fitted(self)
        found: Inference | None = getattr(self, "inference_", None)
        if found is None:
            raise AttributeError("The fit bought no standard errors; set inference=True and fit again.")
        return found

    @property
    def covariance_(self) -> Vector:
        """The covariance of the weights, the intercept last; NaN for refused effects, 0 for references."""
        return self._effects().covariance

    @property
    def std_err_(self) -> Vector:
        """The standard errors of the weights, the intercept last; NaN if refused, 0 for references."""
        return np.array([effect.std_err for effect in self._effects().effects])

    @property
    def sampling_err_(self) -> Vector:
        """The part of each standard error from sampling: other people might have been in the table."""
        return np.array([effect.sampling for effect in self._effects().effects])

    @property
    def privacy_err_(self) -> Vector:
        """The part of each standard error from the privacy noise, which protects the people in the table."""
        return np.array([effect.privacy for effect in self._effects().effects])

    @property
    def pvalues_(self) -> Vector:
        """The p-value of each weight, the intercept last; NaN for refused effects and references."""
        return np.array([effect.pvalue for effect in self._effects().effects])

    def conf_int(self, level: float = 0.95) -> Vector:
        """Return confidence intervals of the weights.

        The weight of a category's level is its difference from the reference level, whose row is (0, 0). The
        intervals are about the weights of the same model in the population from which the table was drawn.

        Parameters
        ----------
        level : float
            The confidence level.

        Returns
        -------
        intervals : array of shape (n_weights, 2)
            The ends of the interval for each column of `coef_`, the intercept last; NaN if the privacy budget
            is too small for an interval. With several classes there are such rows for each class but the
            first: they are about differences from the weights of the first of `classes_`, and
            `inference_.names` has their names.

        Raises
        ------
        AttributeError
            If the fit was not asked for standard errors.
        """
        return np.array([effect.interval(level) for effect in self._effects().effects])
