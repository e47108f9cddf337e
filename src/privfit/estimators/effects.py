"""Standard errors of a fit's effects: what is refused before a charge, and what a fitted model has."""

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
LEAST_REACH = 8.0  # times d^1.5: with less, nearly all of d effects are refused, however unrelated they are
AMPLE_REACH = 35.0  # times d^1.5: with more, none of d effects of unrelated columns is refused
MOST_OF_CLASSES = 300  # effects of several classes: time grows with the square of their number
MOST_EPSILON = 20.0  # beyond it a promise means nothing, and is not advised
WITH_A_VIEW = ("adaptive", "newton")  # solvers that say in which view of the features they worked


@dataclass(frozen=True)
class Asked:
    """Which effects a fit is asked about.

    Parameters
    ----------
    columns : tuple of str or None
        The columns, or single features, of interest; None: all effects.
    names : tuple of str
        The names of all weights of a class, the intercept's, if any, last.
    chosen : tuple of str or None
        The names of those of interest; None: all.
    categories : tuple of Category
        The columns of each category.
    terms : Terms or None
        What the fit promises.
    outputs : int
        The number of scores of a record: one, or one for each of several classes.
    """

    columns: tuple[str, ...] | None
    names: tuple[str, ...] = ()
    chosen: tuple[str, ...] | None = None
    categories: tuple[Category, ...] = ()
    terms: Terms | None = None
    outputs: int = 1

    @property
    def n_effects(self) -> int:
        """The number of effects beside those of reference levels; each class is compared with the first."""
        return (len(self.names) - len(self.categories)) * max(1, self.outputs - 1)

    @classmethod
    def by(cls, setting: Any) -> Asked | None:
        """Return what the setting `inference` asks for; None: nothing."""
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
        """Return the same for a model, or refuse before a charge what is not known or would be refused."""
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
                f"inference is not known for more than {MOST_OF_CLASSES} effects of several classes, and "
                f"this model has {asked.n_effects}; take fewer columns or leave inference out."
            )
        if outputs > 1 and not terms.relation.is_one_record_each:
            raise ValueError(
                "inference is not known for several classes of people with several records; leave "
                "rows_per_person or inference out."
            )
        if declared.n_records is not None and terms.relation.unit == "record":
            why = asked.hopeless(declared.n_records)
            if why is not None:
                raise ValueError(why)
        if self.columns is None:
            return asked
        by_column: dict[str, tuple[str, ...]] = {name: (name,) for name in names}
        if schema is not None:
            by_column |= {fact.name: tuple(fact.feature_names) for fact in schema.features}
        for name in self.columns:
            if name not in by_column:
                raise ValueError(
                    f"inference names {shown(name)}, which is no column; there are "
                    f"{', '.join(dict.fromkeys(by_column))}."
                )
        chosen = dict.fromkeys(name for column in self.columns for name in by_column[column])
        return replace(asked, chosen=tuple(chosen))

    def hopeless(self, n: float) -> str | None:
        """Return what would do if nearly all effects would be refused with n records: public numbers alone.

        The reach is n mu over the number of records of a person. Related columns need more.
        """
        assert self.terms is not None
        promise, k = self.terms.promise, self.terms.relation.records_per_person
        assert promise is not None
        d = self.n_effects
        # with K classes of equal size a loss curves as 1 / K; the noise is for 1/2, its most, in both cases
        needed = d**1.5 * max(1.0, 0.5 * self.outputs)
        reach, wanted = n * math.sqrt(2.0 * promise.rho) / k, AMPLE_REACH * needed
        if reach >= LEAST_REACH * needed:
            return None
        rho = 0.5 * (wanted * k / n) ** 2
        epsilon = promise.worth(rho, promise.slack, self.terms.delta) if rho <= MAX_RHO else math.inf
        larger = f", or with epsilon = {epsilon:.2g}" if epsilon < MOST_EPSILON else ""
        return (
            f"The privacy budget is too small for standard errors of {d} effects: nearly all would be "
            f"refused. If the columns are hardly related, {n * wanted / reach:,.0f} records would "
            f"do{larger}; take fewer columns, or leave inference out."
        )

    def answered(
        self, curator: Curator, solution: Solution, budget: float, encoder: TargetEncoder
    ) -> tuple[Solution, Inference]:
        """Return a corrected solution, and what is known about its effects in the units of `coef_`."""
        if curator.n_records is None and solution.total is not None:
            why = self.hopeless(solution.total)
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


def from_the_first_class(w: Vector) -> Vector:
    """Return weights of one score, or differences of each class's from the first one's, class by class."""
    return w if w.ndim == 1 else np.ravel((w[:, 1:] - w[:, :1]).T)


def refuse_unless_known(solver: Solver, facts: Facts, declared: Declared) -> None:
    """Refuse, before anything is charged, a fit whose standard errors are not known."""
    loss, ours = facts.loss, own(facts.loss)
    known = None if ours is None else ours.second_derivative
    if not is_softmax(loss) and (known is None or known is not loss.second_derivative):
        raise ValueError(
            f"inference is not known for the {loss.name} loss; it is for models with a smooth loss, such as "
            "DPLogisticRegression. Leave inference out."
        )
    if solver.name not in WITH_A_VIEW:
        raise ValueError(
            f"inference works with the solvers {' and '.join(WITH_A_VIEW)}, not with {solver.name!r}; leave "
            "solver or inference out."
        )
    if facts.penalty.is_constraint:
        raise ValueError(
            "inference is not known for weights that must stay in a set, because a weight at its border is "
            "not normally distributed; leave constraint (or monotone in the schema) or inference out."
        )
    if declared.schema is not None and declared.schema.has_curves:
        raise ValueError(
            "inference is about columns, and a curve has many weights that smooth one another; set "
            "curves=False or leave inference out."
        )


def categories_of(schema: Schema | None) -> tuple[Category, ...]:
    """Return the columns of each category of a schema. Without a schema no column is known to be one."""
    found, first = list[Category](), 0
    for fact in () if schema is None else schema.features:
        if isinstance(fact, Categorical):
            columns = range(first, first + len(fact.levels))
            reference = first + fact.levels.index(fact.reference_level)
            found.append(Category(columns, reference, fact.missing != "fill" or fact.fill is not None))
        first += len(fact.levels)
    return tuple(found)


class WithEffects:
    """What a fitted model says about its effects, if its fit was asked for it by `inference`."""

    inference_: Inference | None

    def _effects(self) -> Inference:
        check_is_fitted(self)
        found: Inference | None = getattr(self, "inference_", None)
        if found is None:
            raise AttributeError("The fit bought no standard errors; set inference=True and fit again.")
        return found

    @property
    def covariance_(self) -> Vector:
        """The covariance of the weights, the intercept's last: NaN where refused, 0 for references."""
        return self._effects().covariance

    @property
    def std_err_(self) -> Vector:
        """The standard errors of the weights, the intercept's last: NaN where refused, 0 for references."""
        return np.array([effect.std_err for effect in self._effects().effects])

    @property
    def sampling_err_(self) -> Vector:
        """The part of each standard error that is there because other people might be in the table."""
        return np.array([effect.sampling for effect in self._effects().effects])

    @property
    def privacy_err_(self) -> Vector:
        """The part of each standard error that is the noise which protects the people in the table."""
        return np.array([effect.privacy for effect in self._effects().effects])

    @property
    def pvalues_(self) -> Vector:
        """The p-value of each weight, the intercept's last: NaN where refused, and for references."""
        return np.array([effect.pvalue for effect in self._effects().effects])

    def conf_int(self, level: float = 0.95) -> Vector:
        """Return confidence intervals of the weights.

        The weight of a category's level is its difference from the reference level, whose row is (0, 0). The
        intervals hold what the same model would be for all people that the table was drawn from.

        Parameters
        ----------
        level : float
            In what share of repetitions an interval is to hold what is estimated.

        Returns
        -------
        intervals : array of shape (n_weights, 2)
            A row for each column of `coef_`, the intercept last: the lowest and the highest value, NaN where
            the privacy budget is too small to say. Of several classes these rows are there for each class but
            the first, class by class: they are differences from the weights of the first of `classes_`, and
            `inference_.names` names them.

        Raises
        ------
        AttributeError
            If the fit was not asked for standard errors.
        """
        return np.array([effect.interval(level) for effect in self._effects().effects])
