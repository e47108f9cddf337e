"""Private scoring: the settings, the ledger that pays, and the one question about the records."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from privfit.accounting import Gaussian, Ledger
from privfit.accounting.relation import Relation
from privfit.curator import Curator, NoiseSource
from privfit.estimators.people import relation_of
from privfit.estimators.private import PrivateFit
from privfit.estimators.records import Records
from privfit.estimators.targets import checked_bounds, number_column
from privfit.estimators.validation import check_count, check_number, check_switch
from privfit.estimators.weighting import Weighting
from privfit.leaks import warn_of_large_delta
from privfit.metrics.applying import check_fitted
from privfit.metrics.class_marks import marked_classes
from privfit.metrics.classes import OF_CLASSES, OF_LOSSES, OF_PAIRS
from privfit.metrics.estimates import QUANTILE, Estimates
from privfit.metrics.evaluation import Evaluation
from privfit.metrics.held_out import HeldOut
from privfit.metrics.label_marks import marked_labels
from privfit.metrics.marks import Marks
from privfit.metrics.number_marks import bounds_of, marked_numbers, quantile_of, scores_of
from privfit.metrics.numbers import NEEDED
from privfit.metrics.two_labels import OF_LABELS, OF_PROBABILITIES, OF_SCORES
from privfit.schema import Schema
from privfit.schema.taken import assumption_of
from privfit.schema.weight import LARGEST_WEIGHT
from privfit.surroundings import Family, family_of, one_thread_in_workers, schema_inside

WITHOUT_CURVES = (*OF_LABELS, *OF_CLASSES, *OF_PAIRS)
OF_SEVERAL_CLASSES = (*OF_CLASSES, *OF_PAIRS, *OF_LOSSES)
OF_ANY_CLASSES = dict.fromkeys((*WITHOUT_CURVES, *OF_SCORES, *OF_PROBABILITIES))
PUBLIC_MODEL = "the model is public or was released with privacy, and scores each record by itself"


class Examination(PrivateFit):
    """The settings of `evaluate`; `wanted` names the scores if only some are bought."""

    default_epsilon: ClassVar[float] = 0.1
    _subject: ClassVar[str] = "score"

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float = 1e-6,
        *,
        rho: float | None = None,
        curves: bool = True,
        n_records: int | None = None,
        log_loss_clip: float = 0.01,
        target_bounds: tuple[float, float] | None = None,
        quantile: float | None = None,
        max_weight: float | None = None,
        rows_per_person: int | None = None,
        wanted: tuple[str, ...] = (),
        ledger: Ledger | None = None,
        noise: str = "secure",
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.curves = curves
        self.n_records = n_records
        self.log_loss_clip = log_loss_clip
        self.target_bounds = target_bounds
        self.quantile = quantile
        self.max_weight = max_weight
        self.rows_per_person = rows_per_person
        self.wanted = wanted
        self.ledger = ledger
        self.noise = noise
        self.random_state = random_state

    @property
    def _purchase(self) -> str:
        return "this set of scores"

    def of(self, model: Any, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Evaluation:
        """Score a fitted model; its ledger is charged, or the ledger of these settings."""
        inner = innermost(model)
        with ExitStack() as modes:
            for settings in (self, inner):
                if isinstance(settings, PrivateFit):
                    modes.enter_context(settings._as_strictly_as_made())
            modes.enter_context(one_thread_in_workers())
            records = Records.given(X, y, sample_weight, groups)
            return self._drawing_on(inner)._examine(model, records)

    def _drawing_on(self, model: Any) -> Self:
        """Return these settings with the ledger and the family of the model, unless they have a ledger.

        A score of a public model counts in the family of that object and in that of these settings, because a
        scorer uses these settings for several models.
        """
        self._noise_source()  # created now, so that copies share one stream of seeded noise
        settings = copy(self)
        if isinstance(model, PrivateFit):
            settings.ledger = model.ledger if self.ledger is None else self.ledger
            settings.__dict__["_family"] = model._own_family
        else:
            settings.__dict__["_public_model"] = model
        return settings

    @property
    def _families(self) -> tuple[Family, ...]:
        public = self.__dict__.get("_public_model")
        return (self._own_family, *([] if public is None else [family_of(public)]))

    def _examine(self, model: Any, records: Records) -> Evaluation:
        from privfit.engine.table import Table  # imported late: it needs numba, which is slow to import

        check_switch("curves", self.curves)
        check_number("log_loss_clip", self.log_loss_clip, largest=0.25)
        if self.n_records is not None:
            check_count("n_records", self.n_records)
        schema = schema_of(model)
        weighting = self._weighting(innermost(model), schema, records)
        most = self._most_rows(innermost(model), schema, records)
        relation = relation_of(most, schema, records.groups_name)
        terms = self._terms(Gaussian.of, n_records=self.n_records, relation=relation)
        weighting.admit_leaks()
        # from here on, errors can only come from the model and the records
        check_fitted(model)
        held = HeldOut.given(records, schema, relation)
        marks = self._marked(model, held)
        used = held.used(marks.columns, relation)
        weights = weighting.of(held.weights, None, None)
        columns, weighted = marks.columns, weights.given is not None
        if weights.given is not None:
            columns = np.column_stack([columns, weights.given])
        ledger = self._open_ledger(terms)
        curator = Curator(
            Table(columns[used], intercept=False),
            ledger,
            terms.noise,
            epsilon=terms.epsilon,
            delta=terms.delta,
            relation=relation,
        )
        family = self._join_family(terms.kept, is_score=True)
        released = curator.measure(marks.strategy.question(weighted=weighted), ledger.rho)
        self._settle(ledger)
        # with weights, or several records per person, the declared number does not apply
        n_records = None if weighted or relation.unit == "person" else self.n_records
        estimates = marks.estimates(released, n_records, weights.unit, relation.records_per_person)
        if n_records is None:
            self._warn_of_large_delta(estimates, relation)
        declared = []
        if self.n_records is not None:
            declared.append(f"the number of held-out records, declared as {self.n_records:,}, is public")
        privacy = self._state(
            terms,
            ledger,
            family,
            [
                PUBLIC_MODEL,
                marks.assumption,
                *([held.assumption] if held.assumption else []),
                *weighting.assumptions(),
                *assumption_of(records.X),
                *declared,
            ],
            subject="set of scores",
            schema=schema,
            n_records=self.n_records,
        )
        return marks.evaluation(privacy, estimates)

    def _weighting(self, model: Any, schema: Schema | None, records: Records) -> Weighting:
        """Return the declared facts about weights: from here, the schema's weight column, or the model."""
        column = None if schema is None else schema.weight
        of_fit = getattr(model, "weighting_", {}).get("max") or getattr(model, "max_weight", None)
        inherited = of_fit if column is None else column.max
        largest = inherited if self.max_weight is None else self.max_weight
        if largest is not None:
            check_number("max_weight", largest, largest=LARGEST_WEIGHT)
        return Weighting(given=column is not None or records.sample_weight is not None, largest=largest)

    def _most_rows(self, model: Any, schema: Schema | None, records: Records) -> Any:
        """Return how many records of a person are used, if it is declared here or by the model."""
        told_apart = records.groups_name is not None or (schema is not None and schema.identifier is not None)
        return most_rows(model, self.rows_per_person) if told_apart else self.rows_per_person

    def _warn_of_large_delta(self, estimates: Estimates, relation: Relation) -> None:
        """Warn if delta is large compared with the number of records or people, which is at least this."""
        total = estimates.total(estimates.everybody / estimates.unit)
        warn_of_large_delta(
            self.delta, total.value, (total.high - total.value) / QUANTILE, unit=relation.unit
        )

    def _marked(self, model: Any, held: HeldOut) -> Marks:
        """Apply the model to the records; error messages quote no value."""
        kind, classes = type(model).__name__, getattr(model, "classes_", None)
        if hasattr(model, "best_threshold_") or kind == "FixedThresholdClassifier":
            raise ValueError(
                f"{kind} predicts by a threshold of its own, but private scores assume the threshold zero; "
                "give the classifier inside it, model.estimator_."
            )
        if classes is not None and np.ndim(classes) == 1 and len(classes) >= 2:
            return self._marked_labels(model, held, np.asarray(classes))
        if classes is None and is_regressor(model):
            return self._marked_numbers(model, held)
        raise ValueError(f"Private scores are of classifiers and regressors, which this {kind} is not.")

    def _marked_labels(self, model: Any, held: HeldOut, classes: NDArray[Any]) -> Marks:
        self._check_wanted(OF_ANY_CLASSES if len(classes) == 2 else OF_SEVERAL_CLASSES, model, OF_ANY_CLASSES)
        numbers, known = held.classes(classes)
        wanted = set(self.wanted)
        curves = bool(wanted - set(WITHOUT_CURVES) if wanted else self.curves)
        marked = marked_labels if len(classes) == 2 else marked_classes
        clip = float(self.log_loss_clip)
        return marked(model, held.X, numbers, self.wanted, curves=curves, clip=clip, known=known)

    def _marked_numbers(self, model: Any, held: HeldOut) -> Marks:
        self._check_wanted(NEEDED, model)
        inner = innermost(model)
        quantile = quantile_of(inner) if self.quantile is None else self.quantile
        bounds = self.target_bounds if self.target_bounds is not None else bounds_of(inner)
        if bounds is None:
            raise ValueError(
                f"Scores of {type(inner).__name__} need the public bounds of the target, target_bounds=(low, "
                "high); targets and predictions beyond them count as the nearer bound."
            )
        return marked_numbers(
            model,
            held.X,
            number_column(held.y),
            self.wanted or scores_of(inner, quantile),
            target_bounds=checked_bounds(bounds),
            quantile=quantile,
            floor=float(self.log_loss_clip),
        )

    def _check_wanted(self, offered: Iterable[str], model: Any, known: Iterable[str] = ()) -> None:
        """Raise, before anything is charged, if a score is not one of this kind of model.

        Scores that are `known` but not offered are refused later, with the reason.
        """
        others = [name for name in self.wanted if name not in (*offered, *known)]
        if others:
            raise ValueError(
                f"{others[0]} is no score of {type(innermost(model)).__name__}; its scores are "
                f"{', '.join(offered)}."
            )

    def _noise_source(self) -> NoiseSource:
        """Return the source of noise; seeded noise continues its stream, so no two scores share noise."""
        if self.noise != "seeded":
            return super()._noise_source()
        source: NoiseSource | None = self.__dict__.get("_seeded_source")
        if source is None:
            source = self.__dict__["_seeded_source"] = super()._noise_source()
        return source


def schema_of(model: Any) -> Schema | None:
    """Return the schema by which a private model, or a step of its pipeline, reads tables, if any."""
    inner = innermost(model)
    schema: Schema | None = getattr(inner, "schema_", None) if isinstance(inner, PrivateFit) else None
    return schema_inside(model) if schema is None else schema


def most_rows(model: Any, declared: int | None) -> Any:
    """Return how many records of a person a score uses: as declared or, by default, as in the model's fit."""
    ids = None if getattr(model, "schema_", None) is None else model.schema_.identifier
    if declared is not None or (ids is not None and ids.rows_per_person is not None):
        return declared  # None is allowed, because the schema declares it
    return getattr(getattr(model, "privacy_", None), "records_per_person", None)


def innermost(model: Any) -> Any:
    """Return the estimator inside pipelines and searches: a private one, or that of a public model."""
    while True:
        if isinstance(model, Pipeline):
            model = model.steps[-1][1]
        elif isinstance(model, FrozenEstimator):
            model = model.estimator
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return model
