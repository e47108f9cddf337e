"""The base class of all linear models: settings, fit, ledger and statement.

`classification` and `regression` define what is predicted, and how targets become numbers.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from privfit.accounting.relation import Relation
from privfit.curator import Curator
from privfit.estimators.dask_table import DaskTable
from privfit.estimators.declared import Declared, encoded, warn_of_repeated_ids
from privfit.estimators.distributed import DistributedTable
from privfit.estimators.effects import Asked, WithEffects
from privfit.estimators.people import relation_of
from privfit.estimators.preparation import Preparation
from privfit.estimators.private import PrivateFit
from privfit.estimators.publishable import Publishable
from privfit.estimators.records import Records
from privfit.estimators.scored import WithScores
from privfit.estimators.spark_table import SparkTable
from privfit.estimators.tables import check_table
from privfit.estimators.targets import TargetEncoder
from privfit.estimators.validation import (
    check_bounds,
    check_finite,
    check_lengths,
    check_number,
    check_switch,
)
from privfit.losses import Loss, get_loss
from privfit.losses.targets import AMOUNTS
from privfit.mapped import taken_once
from privfit.models.registry import Model, register
from privfit.models.targets import Target
from privfit.penalties import ConvexSet
from privfit.schema import Schema
from privfit.schema.encoding import with_curves
from privfit.schema.frames import columns_of
from privfit.schema.labelling import weights_in
from privfit.schema.people import people_in
from privfit.schema.taken import assumption_of, taken
from privfit.solvers import Facts, Solver, get_solver, require
from privfit.solvers.last_steps import SOLVER_SHARE
from privfit.solvers.passes import limited
from privfit.solvers.target_scale import bought_size
from privfit.surroundings import budget_bar, look_around, one_thread_in_workers

_NAMES = ("Huber", "Poisson")  # names of people at the beginning of titles, which keep their capitals
LARGEST_ALPHA = 1e12  # with it all weights are practically zero, and larger values would overflow


class DPLinearModel(Publishable, WithEffects, WithScores, PrivateFit, ABC):
    """A linear model; its subclasses define the loss, the link, and how targets become numbers."""

    _loss: ClassVar[str]
    _kind: ClassVar[str]  # its name in model files
    _title: ClassVar[str]  # its name in text
    _needs_loss: ClassVar[bool] = False  # whether its loss is an object that only Python can pass
    _loss_settings: ClassVar[tuple[str, ...]] = ()  # numbers that are part of the loss; model files keep them

    solver: str | Solver
    alpha: float
    schema: Schema | str | PathLike[str] | None
    n_records: int | None
    rows_per_person: int | None
    feature_bounds: tuple[Any, Any] | Mapping[str, tuple[float, float]] | None
    max_weight: float | None
    weight_shrinkage: float
    mean_weight: float | None
    constraint: ConvexSet | None
    start: tuple[Any, Any] | None
    curves: bool | int | None
    max_passes: int | None
    inference: bool | Sequence[str]
    verbose: int

    def __init_subclass__(cls, **settings: Any) -> None:
        """Register a class that has a kind."""
        super().__init_subclass__(**settings)
        if "_kind" in cls.__dict__:
            register(Model(cls._kind, cls._title, cls._link, cls, cls._needs_loss))

    @property
    def _noun(self) -> str:
        name = self._title.split()[0] in _NAMES
        return f"a {self._title if name else self._title.lower()}"

    # -- what subclasses define about their loss and their targets ----------------------------------------

    def _loss_of_fit(self) -> Loss:
        """Return the loss; a model whose loss has parameters makes it from its settings."""
        return get_loss(self._loss)

    def _loss_for(self, known: Any) -> Loss:
        """Return the loss for what is declared about the targets or, once they are encoded, their encoder."""
        return self._loss_of_fit()

    @property
    def _strength(self) -> float:
        """The regulariser's strength, in the unit of the loss that the solver minimises."""
        return self.alpha

    @abstractmethod
    def _declared_target(self, schema: Schema | None) -> Any:
        """Return the facts about the targets that settings or schema declare; raise if they are invalid."""

    @abstractmethod
    def _encoded(self, y: Any, declared: Any) -> tuple[NDArray[np.float64], TargetEncoder | None]:
        """Return targets as numbers, and their encoder; `declared` is what `_declared_target` returned.

        If the size of the targets is not declared, there is no encoder, and the numbers are the targets.
        """

    def _encoder_up_to(self, size: float) -> TargetEncoder:
        """Return the encoder of targets up to this size, which was bought."""
        raise NotImplementedError

    @abstractmethod
    def _keep_target(self, known: Any) -> None:
        """Store the facts about the targets that predictions need, from an encoder or a published model."""

    @classmethod
    @abstractmethod
    def _declaring(cls, target: Target) -> dict[str, Any]:
        """Return the settings that declare a published target; raise if it is of another type."""

    @property
    @abstractmethod
    def _target(self) -> Target:
        """What the fitted model predicts."""

    # -- the fit -----------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Train on features X and targets y within the privacy budget.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            The features, one record per row. With a schema, a raw table: a frame of pandas or polars, an
            Arrow table, the path of a CSV or Parquet file or of a directory of Parquet files, a list of
            paths, an Arrow dataset, or a DuckDB relation or query, "duckdb:SELECT ...". A table that is not
            in memory is encoded once, block by block, so it may be larger than memory; see docs/scale.md. A
            Dask array, or with a schema a Dask dataframe or a DataFrame of Spark, stays on the workers.
        y : array of shape (n_records,), optional
            Targets: labels of classes, or numbers if the model predicts numbers. By default, with a schema,
            its label column.
        sample_weight : array of shape (n_records,), optional
            How much each record counts. Weights above `max_weight` count as `max_weight`; negative and
            missing ones count as 0. By default, with a schema, its column of weights, if it has one.
        groups : array of shape (n_records,), optional
            For each row, the id of its person, if `rows_per_person` is set. Rows without an id are left out.
            If the ids have a name, such as pandas.Series(ids, name="patient"), a shared ledger compares it.
            Otherwise the id is called "groups", and a ledger cannot tell it from other ids without a name.
            With a schema, its id column is used instead.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        BudgetExceeded
            If the ledger has less left than the fit asks for. Nothing is then charged or released.
        PrivacyLeakError
            In strict mode, if the guarantee would not cover everything that the fit learns from the data.
        ValueError
            If a setting or the table is invalid. The message quotes no value of any record.

        Notes
        -----
        A fit does not report cells that do not fit the schema, because such a message could depend on a
        single record. Cells that cannot be read count as missing, and values beyond a bound count as the
        bound. Call ``schema.check(table)`` first; its output is for the custodian of the data only.
        """
        with self._as_strictly_as_made(), one_thread_in_workers():
            given = X, y, sample_weight, groups
            table = DaskTable.given(*given) or SparkTable.given(*given)
            if table is not None:
                return self._fit(table.without_records(), table)
            return self._fit(Records.given(*given))

    def _fit(
        self, records: Records, table: DistributedTable | None = None, *, check_only: bool = False
    ) -> Self:
        """Fit; with `check_only`, only make the checks of a fit, and charge and release nothing.

        The records of a distributed table stay where they are. `records` is then an empty table, which has
        the public facts.
        """
        from privfit.engine.fingerprints import CacheChanged
        from privfit.engine.parts import PartsLost
        from privfit.engine.problem import Problem  # imported late: it needs numba, which is slow to import
        from privfit.engine.table import Table

        solver, asked = self._checked_solver(), Asked.by(self.inference)
        declared = Declared.by(self, weighted=records.sample_weight is not None)
        penalty, loss = declared.weights.penalty(self._strength), self._loss_for(declared.target)
        relation = relation_of(self.rows_per_person, declared.schema, records.groups_name)
        weighted = declared.weighting.is_used
        facts = Facts(
            loss,
            bool(self.fit_intercept),
            self.delta,
            relation,
            penalty,
            weighted,
            in_parts=table is not None,
        )
        require(solver, facts)
        terms = self._terms(
            solver.promise, private=solver.private, n_records=declared.n_records, relation=relation
        )
        declared = declared.with_public_edges(self, terms)
        if table is not None:
            table.check(declared, relation)
        surroundings = look_around(self, private=solver.private)
        declared = declared.for_drawn_records() if surroundings.drawn else declared
        declared.admit_leaks()
        of_query = assumption_of(records.X)
        # from here on, errors can only come from the records themselves
        records = records.read_by(self, partial(self._read, declared=declared, relation=relation))
        n_features = declared.most_features(self, records.X)
        targets, encoder = self._encoded(records.y, declared.target)
        loss = self._loss_for(encoder)
        facts = dataclasses.replace(facts, loss=loss, n_features=n_features)
        require(solver, facts)
        if asked is not None:
            asked = asked.of(self, solver, facts, declared, terms)
        records, persons = records.with_targets(targets).of_people(relation)
        X, targets = records.X, records.y
        bounds = None
        if declared.schema is None and declared.feature_bounds is not None:
            bounds = check_bounds(X, declared.feature_bounds, getattr(self, "feature_names_in_", None))
        weights = declared.weighting.of(records.sample_weight, encoder, declared.target)
        if check_only:
            return self
        in_parts: Any = None
        if table is not None:
            in_parts = table.in_parts(
                self, declared, encoder, loss, records, weights.given, persons, relation
            )
        ledger = self._open_ledger(terms)
        with budget_bar(f"Fitting {self._noun}", self.verbose) as show:
            curator_of = partial(
                Curator,
                ledger=ledger,
                noise=terms.noise,
                epsilon=terms.epsilon,
                delta=terms.delta,
                relation=relation,
                # only some records of each person are used, so the declared number does not apply
                n_records=declared.n_records if relation.unit == "record" else None,
                on_answer=show,
            )
            family = self._join_family(terms.kept, unknown=surroundings.unknown)
            try:
                if encoder is None:
                    if solver.private:
                        column = curator_of(Table(targets[:, None], intercept=False))
                        size = bought_size(column, amounts=loss.targets == AMOUNTS)
                    else:
                        size = float(np.abs(targets).max()) or 1.0
                    encoder = self._encoder_up_to(size)
                    targets = encoder.encode(targets)
                if declared.has_undecided_curves:
                    uncut = Problem.of(X, targets, loss, intercept=bool(self.fit_intercept), persons=persons)
                    declared = declared.with_bought_edges(self, curator_of(uncut))
                if declared.schema is not None:
                    X = with_curves(X, declared.schema)
                    bounds = np.zeros(X.shape[1]), np.ones(X.shape[1])
                preparation = Preparation(bounds, bool(self.fit_intercept))
                problem = in_parts or Problem.of(
                    records.features(X),
                    targets,
                    loss,
                    intercept=preparation.intercept,
                    weights=weights.given,
                    persons=persons,
                )
                encoded_weights = declared.weights.encoded_by(encoder, problem.n_weights)
                penalty = encoded_weights.penalty(self._strength)
                curator_of = partial(curator_of, penalty=penalty, bounds=bounds)
                ask = curator_of if solver.private else None
                problem, bought = weights.applied(preparation.of_fit(problem), ask)
                budget, inference = ledger.unspent, None
                part = ledger if asked is None else ledger.portion(SOLVER_SHARE * budget, what="the solver")
                solution = solver.solve(curator_of(problem, ledger=part))
                uncorrected = encoder.in_units(solution.w)
                if asked is not None:
                    solution, inference = asked.answered(curator_of(problem), solution, budget, encoder)
            except (KeyboardInterrupt, MemoryError, CacheChanged, PartsLost) as interrupt:
                interrupt.add_note(
                    f"The fit was interrupted and released no model. {self._still_spent(ledger)}"
                )
                raise
        self._settle(ledger)
        self.schema_ = declared.schema
        self._keep_target(encoder)
        self.loss_settings_ = {name: float(getattr(self, name)) for name in self._loss_settings}
        # with inference, coef_ and predictions use the corrected weights
        self.inference_, self.solver_weights_ = inference, None if inference is None else uncorrected
        self._set_weights(declared.weights.kept(encoder.in_units(solution.w), X.shape[1]))
        self.weighting_ = weights.published
        self.n_iter_, self.trace_ = solution.n_iter, solution.trace
        self.preparation_ = preparation.completed(solution)
        self.ledger_ = ledger if solver.private else None
        assumptions = [encoder.assumption, *declared.assumptions(), *surroundings.assumptions, *of_query]
        self.privacy_ = self._state(
            terms,
            ledger,
            family,
            assumptions,
            (*declared.decisions, *bought, *solution.notes),
            schema=declared.schema or surroundings.schema,
            n_records=declared.n_records,
        )
        return self

    def _checked_solver(self) -> Solver:
        """Return the solver; invalid settings raise an error before the data are read."""
        self._check_settings()
        solver = limited(get_solver(self.solver), self.max_passes)
        if not solver.private and self.ledger is not None:
            raise ValueError(
                f"solver={solver.name!r} has no price, so it cannot draw on a ledger; remove ledger=."
            )
        check_number("alpha", self.alpha, or_zero=True, largest=LARGEST_ALPHA)
        if not isinstance(self.verbose, bool):
            check_number("verbose", self.verbose, or_zero=True)
        check_switch("fit_intercept", self.fit_intercept)
        return solver

    def _read(self, records: Records, declared: Declared, relation: Relation) -> Records:
        """Return the records with features as numbers, and store the names of the columns.

        Records without a label are left out if the schema declares it.
        """
        schema = declared.schema
        if schema is None:
            return records.with_features(self._validated(records.X, records.y, may_be_empty=records.is_part))
        X = taken(records.X, schema)
        plain = schema.without_curves()  # the columns are cut at the edges of curves later
        records = records.with_features(encoded(X, plain, may_be_empty=records.is_part))
        if relation.unit == "record":
            warn_of_repeated_ids(X, schema)
        elif schema.identifier is not None:
            (ids,) = columns_of(X, [schema.identifier])
            records = records.with_groups(people_in(ids, f"Column {schema.identifier.name!r}"))
        if records.sample_weight is None:
            records = records.with_weights(weights_in(X, schema))
        y, has_label = declared.labels(X, records.y, may_be_none=records.is_part)
        self.feature_names_in_ = np.array([fact.name for fact in schema.features], dtype=object)
        self.n_features_in_ = len(schema.features)
        return records.with_targets(None).keep(has_label).with_targets(y)

    def _validated(self, X: Any, y: Any = None, *, reset: bool = True, may_be_empty: bool = False) -> Any:
        """Return X as a float array or CSR matrix with one row for each label."""
        if reset and y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give one label "
                "for each row."
            )
        X = check_table(X)
        if y is not None:
            check_lengths(X, y)
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=0 if may_be_empty else 1,
            reset=reset,
        )
        X = taken_once(X) if reset else X
        check_finite("X", X)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.schema is None
        if self.schema is not None:
            tags.target_tags.required = False
            tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags
