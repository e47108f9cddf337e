"""The settings under which models are scored, which ledger pays, and the one look at the records."""

from __future__ import annotations

import math
from contextlib import ExitStack
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from privfit.accounting import Gaussian, Ledger
from privfit.accounting.relation import ONE_RECORD
from privfit.curator import Curator, NoiseSource
from privfit.estimators.declared import warn_of_repeated_ids
from privfit.estimators.private import PrivateFit
from privfit.estimators.validation import check_count, check_number, check_switch
from privfit.leaks import warn_of_large_delta
from privfit.losses import get_loss
from privfit.metrics.cells import Cells
from privfit.metrics.evaluation import Evaluation
from privfit.metrics.predictions import Predictions, predicted
from privfit.metrics.strategies import Scale, Strategy
from privfit.schema import Schema
from privfit.surroundings import Family, family_of, schema_inside

PUBLIC_MODEL = "the model is public or was released with privacy, and scores each record by itself"


class Examination(PrivateFit):
    """How models are to be scored, as `evaluate` documents it."""

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
        self.ledger = ledger
        self.noise = noise
        self.random_state = random_state

    @property
    def _purchase(self) -> str:
        return "this set of scores"

    def of(self, model: Any, X: Any, y: Any) -> Evaluation:
        """Score a fitted model on records that are charged to its ledger, or to the one given here."""
        inner = innermost(model)
        with ExitStack() as modes:
            for settings in (self, inner):
                if isinstance(settings, PrivateFit):
                    modes.enter_context(settings._as_strictly_as_made())
            return self._drawing_on(inner)._examine(model, X, y)

    def _drawing_on(self, model: Any) -> Self:
        """Return these settings with the ledger and the family of the model, unless they name a ledger.

        A score of a public model counts in a family of that object and in the one of these settings, which
        a scorer uses for several models.
        """
        self._noise_source()  # of which copies share the stream, if it is seeded
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

    def _examine(self, model: Any, X: Any, y: Any) -> Evaluation:
        from privfit.engine.problem import Problem  # imported late: it needs numba, which is slow to import

        check_switch("curves", self.curves)
        check_number("log_loss_clip", self.log_loss_clip, largest=0.25)
        if self.n_records is not None:
            check_count("n_records", self.n_records)
        terms = self._terms(Gaussian.of, n_records=self.n_records)
        # only what is wrong with the model and the records is left to be refused
        schema = schema_of(model)
        if schema is not None:
            warn_of_repeated_ids(X, schema)
        predictions = predicted(model, X, y, lambda scale: self._strategy(scale).edges, schema)
        strategy = self._strategy(predictions.scale)
        signs, scores = predictions.signs, predictions.scores[:, None]
        ledger = self._open_ledger(terms)
        curator = Curator(
            Problem.of(scores, signs, get_loss("logistic"), intercept=False),
            ledger,
            terms.noise,
            epsilon=terms.epsilon,
            delta=terms.delta,
            relation=ONE_RECORD,
            n_records=self.n_records,
        )
        family = self._join_family(terms.kept, is_score=True)
        released = curator.measure(strategy.question, ledger.rho, of=curator.at(np.ones(1)))
        self._settle(ledger)
        cells = Cells.estimated(released, strategy, self.n_records)
        if self.n_records is None:
            noise = math.sqrt(max(float(cells.covariance.sum()), 0.0))
            warn_of_large_delta(terms.delta, float(cells.counts.sum()), noise)
        first, second = predictions.labels.classes.tolist()
        return Evaluation(
            cells,
            (first, second),
            bool(self.curves),
            predictions.are_probabilities,
            float(self.log_loss_clip),
            self._state(
                terms,
                ledger,
                family,
                self._assumptions(predictions),
                subject="set of scores",
                schema=schema,
                n_records=self.n_records,
            ),
        )

    def _strategy(self, scale: Scale) -> Strategy:
        return Strategy.of_curves(scale) if self.curves else Strategy.of_outcomes()

    def _assumptions(self, predictions: Predictions) -> list[str]:
        declared = f"the number of held-out records, declared as {self.n_records}, is public"
        return [PUBLIC_MODEL, predictions.labels.assumption, *([] if self.n_records is None else [declared])]

    def _noise_source(self) -> NoiseSource:
        """Return the source; a seeded one goes on where it was, so that no two scores have the same noise."""
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
