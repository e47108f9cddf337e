"""What the linear estimators share: validation, labels, a solver by name, a statement. Nothing numerical."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from privfit.accounting import Ledger
from privfit.accounting.relation import ONE_RECORD
from privfit.curator import Curator
from privfit.estimators.declared import Declared, encoded, warn_of_repeated_ids
from privfit.estimators.labels import encode_labels, label_column, labels_given
from privfit.estimators.preparation import Preparation
from privfit.estimators.private import PrivateFit, Surroundings
from privfit.estimators.progress import budget_bar
from privfit.estimators.publishing import published
from privfit.estimators.tables import check_table
from privfit.estimators.validation import (
    check_bounds,
    check_finite,
    check_lengths,
    check_number,
    check_switch,
)
from privfit.losses import get_loss
from privfit.penalties import Ridge
from privfit.publication import Published, to_json
from privfit.publication.links import Link
from privfit.publication.plain import to_sklearn
from privfit.publication.registry import Model, register
from privfit.publication.weights import Weights, weights_of
from privfit.report import render
from privfit.schema import Schema, labels_of
from privfit.schema.frames import opened
from privfit.solvers import Facts, Solution, Solver, get_solver, require

LARGEST_ALPHA = 1e12  # weights are then zero for all purposes, and more would leave float64


class DPLinearClassifier(ClassifierMixin, PrivateFit):  # type: ignore[misc]  # scikit-learn is untyped
    """A linear classifier of two classes; its subclasses name the loss and document the settings."""

    _loss: ClassVar[str]
    _kind: ClassVar[str]  # what model files call it
    _title: ClassVar[str]  # what people call it
    _link: ClassVar[Link]

    def __init_subclass__(cls, **settings: Any) -> None:
        """Enter a class that names a kind of model into the registry."""
        super().__init_subclass__(**settings)
        if "_kind" in cls.__dict__:
            register(Model(cls._kind, cls._title, cls._link, cls))

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float = 1e-6,
        *,
        rho: float | None = None,
        solver: str | Solver = "adaptive",
        alpha: float = 0.0,
        fit_intercept: bool = True,
        schema: Schema | str | PathLike[str] | None = None,
        classes: Any = None,
        n_records: int | None = None,
        feature_bounds: tuple[Any, Any] | Mapping[str, tuple[float, float]] | None = None,
        ledger: Ledger | None = None,
        noise: str = "secure",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.solver = solver
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.schema = schema
        self.classes = classes
        self.n_records = n_records
        self.feature_bounds = feature_bounds
        self.ledger = ledger
        self.noise = noise
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train on features X and labels y within the privacy budget.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            One row per person. With a schema, a raw table: a frame of pandas or polars, an Arrow table, or
            the path of a CSV or Parquet file.
        y : array of shape (n_records,), optional
            Labels of two classes. With a schema they are a column of the table, unless given.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        BudgetExceeded
            If the ledger has less left than the fit asks for. The data are then not read.
        PrivacyLeakError
            In strict mode, if the guarantee would not cover everything that the fit takes from the data.
        ValueError
            If a setting or the table is not as it should be. The message names no value of any record.

        Notes
        -----
        A fit does not tell you that columns of the table do not fit the schema: cells that cannot be read
        count as missing, and values beyond a bound as the bound, without a word, because a word would tell of
        single records. Call ``schema.check(table)`` first. What it prints is for the custodian of the data.
        """
        with self._as_strictly_as_made():
            return self._fit(X, y)

    def _fit(self, X: Any, y: Any) -> Self:
        from privfit.engine.problem import Problem  # late: it brings numba, which only a fit needs

        solver, loss = self._checked_solver(), get_loss(self._loss)
        penalty = Ridge(self.alpha)
        facts = Facts(loss, bool(self.fit_intercept), self.delta, ONE_RECORD, penalty)
        require(solver, facts)
        declared = Declared.by(self)
        terms = self._terms(solver.promise, private=solver.private, n_records=declared.n_records)
        surroundings = self._look_around() if solver.private else Surroundings()
        declared.admit_leaks()
        # only what is wrong with the records themselves is left to be refused
        X, y = self._numbers(X, y, declared)
        require(solver, dataclasses.replace(facts, n_features=X.shape[1]))
        labels = encode_labels(y, declared.classes)
        bounds = None
        if declared.feature_bounds is not None:
            bounds = check_bounds(X, declared.feature_bounds, getattr(self, "feature_names_in_", None))
        preparation = Preparation(bounds, bool(self.fit_intercept))
        problem = Problem.of(X, labels.signs, loss, intercept=preparation.intercept)
        ledger = self._open_account(terms)
        with budget_bar(type(self).__name__, self.verbose) as show:
            curator = Curator(
                preparation.of_fit(problem),
                ledger,
                terms.noise,
                epsilon=terms.epsilon,
                delta=terms.delta,
                relation=ONE_RECORD,
                penalty=penalty,
                n_records=declared.n_records,
                bounds=bounds,
                on_answer=show,
            )
            family = self._join_family(terms, surroundings)
            try:
                solution = solver.solve(curator)
            except KeyboardInterrupt as interrupt:
                interrupt.add_note(f"The fit was interrupted and released no model. {ledger.statement()}")
                raise
        self._settle(ledger)
        self.schema_, self.classes_ = declared.schema, labels.classes
        self._set_solution(solution)
        self.preparation_ = preparation.completed(solution)
        self.ledger_ = ledger if solver.private else None
        assumptions = [labels.assumption, *declared.assumptions(), *surroundings.assumptions]
        self.privacy_ = self._state(
            terms,
            ledger,
            family,
            assumptions,
            solution.notes,
            schema=declared.schema,
            n_records=declared.n_records,
        )
        return self

    def _checked_solver(self) -> Solver:
        """Return the solver; bad settings are refused before the data are looked at."""
        self._check_settings()
        solver = get_solver(self.solver)
        if not solver.private and self.ledger is not None:
            raise ValueError(
                f"solver={solver.name!r} has no price, so it cannot draw on a ledger; remove ledger=."
            )
        check_number("alpha", self.alpha, or_zero=True, largest=LARGEST_ALPHA)
        if not isinstance(self.verbose, bool):
            check_number("verbose", self.verbose, or_zero=True)
        check_switch("fit_intercept", self.fit_intercept)
        return solver

    def _numbers(self, X: Any, y: Any, declared: Declared) -> tuple[Any, Any]:
        """Return the features as numbers and the labels of a fit, and keep the names of the columns."""
        schema = declared.schema
        if schema is None:
            return self._validated(X, y), y
        X = opened(X, schema.names_with_id)
        warn_of_repeated_ids(X, schema)
        numbers = encoded(X, schema)
        if y is not None:
            check_lengths(numbers, y)
        y, has_label = declared.labels(X, y)
        if has_label is not None:
            numbers = numbers[has_label]
        self.feature_names_in_ = np.array([fact.name for fact in schema.features], dtype=object)
        self.n_features_in_ = len(schema.features)
        return numbers, y

    def _validated(self, X: Any, y: Any = None, *, reset: bool = True) -> Any:
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
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, reset=reset
        )
        check_finite("X", X)
        return X

    def _set_solution(self, solution: Solution) -> None:
        w = solution.w
        self.coef_ = (w[:-1] if self.fit_intercept else w).reshape(1, -1).copy()
        self.intercept_ = w[-1:].copy() if self.fit_intercept else np.zeros(1)
        self.n_iter_ = solution.n_iter
        self.trace_ = solution.trace

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the signed distance-like score of every row; positive means the second class.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            The same columns as in `fit`; with a schema, a raw table or the path of one.

        Returns
        -------
        scores : array of shape (n_records,)
            Not divided by the norm of the weights, as in scikit-learn.
        """
        check_is_fitted(self)
        # a raw table in double precision, because what the model is converted to has no other
        schema = self.schema_
        X = self._validated(X, reset=False) if schema is None else encoded(X, schema, np.float64)
        return self.preparation_.scores(X, self.coef_.ravel(), self.intercept_[0])

    @property
    def feature_bounds_(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Lowest and highest value of every column that the model knows."""
        check_is_fitted(self)
        return self.preparation_.bounds

    @property
    def unit_rows_(self) -> bool:
        """Whether rows are scaled to norm 1."""
        check_is_fitted(self)
        return self.preparation_.unit_rows

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label of every row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            The same columns as in `fit`; with a schema, a raw table or the path of one.

        Returns
        -------
        labels : array of shape (n_records,)
            Entries of `classes_`.
        """
        positive = self.decision_function(X) > 0.0
        predicted: NDArray[Any] = self.classes_[positive.astype(np.intp)]
        return predicted

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the weights of `coef_`: with a schema ``column``, ``column=category`` or ``column=other``.

        Parameters
        ----------
        input_features : ignored
            Not used; present because scikit-learn passes it.

        Returns
        -------
        names : array of str
            One name for each weight.
        """
        check_is_fitted(self)
        if self.schema_ is not None:
            return np.array(self.schema_.feature_names, dtype=object)
        numbered = [f"x{j}" for j in range(self.n_features_in_)]
        return np.array(getattr(self, "feature_names_in_", numbered), dtype=object)

    @property
    def weights_(self) -> Weights:
        """The weights in the schema's words, for its positive class, categories against a reference."""
        check_is_fitted(self)
        if self.schema_ is None:
            raise AttributeError("weights_ are named by a schema, and this model has none; see coef_.")
        return weights_of(published(self))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy on X and y. It is an exact function of these records, which nobody paid for.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            Features; with a schema, a raw table.
        y : array of shape (n_records,), optional
            Labels. With a schema they are a column of the table, unless given.
        sample_weight : array of shape (n_records,), optional
            How much each record counts.

        Returns
        -------
        accuracy : float
            Share of the records whose label is predicted.
        """
        check_is_fitted(self)
        if self.schema_ is not None and y is None:
            X = opened(X, self.schema_.names)
            y = labels_of(X, self.schema_)
        predicted = self.predict(X)
        if self.schema_ is not None:
            check_lengths(predicted, y)
            y, has_label = labels_given(y, self.schema_.label)
            if has_label is not None:
                predicted = predicted[has_label]
                sample_weight = None if sample_weight is None else np.asarray(sample_weight)[has_label]
        labels = label_column(y)
        check_lengths(predicted, labels)
        return float(np.average(np.asarray(predicted == labels, dtype=bool), weights=sample_weight))

    def published(self) -> Published:
        """Return everything of the fit that may be published, and nothing else.

        Returns
        -------
        facts : Published
            Weights, preprocessing, promise, steps and versions as plain data.
        """
        check_is_fitted(self)
        return published(self)

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file that may be published; `privfit.load` reads it.

        Parameters
        ----------
        path : str or Path
            Of the file, which is replaced if it exists.
        """
        Path(path).write_text(to_json(self.published()), encoding="utf-8")

    def report(
        self,
        path: str | Path,
        *,
        scores: Any = None,
        title: str | None = None,
        card: Mapping[str, str] | None = None,
    ) -> None:
        """Write a page about the model that may be published: one HTML file that needs no network.

        Parameters
        ----------
        path : str or Path
            Of the file, which is replaced if it exists.
        scores : Evaluation, optional
            Private scores, as `privfit.metrics.evaluate` gives them.
        title : str, optional
            Heading of the page.
        card : mapping of str to str, optional
            A model card's fields by name, "Intended use" for example.
        """
        bought = None if scores is None else scores.to_dict()
        html = render(self.published(), scores=bought, title=title, card=card)
        Path(path).write_text(html, encoding="utf-8")

    def to_sklearn(self, *, encoded: bool = False) -> Any:
        """Return a plain scikit-learn estimator or pipeline that predicts the same, clipping included.

        Parameters
        ----------
        encoded : bool
            Of a model with a schema: whether to take columns that ``privfit.schema.encode`` has encoded
            instead of raw frames, as is needed where the schema has dates.

        Returns
        -------
        estimator : LogisticRegression, SGDClassifier or Pipeline
            Nothing of privfit is needed to use, convert or unpickle it. It takes dense arrays where columns
            are clipped, and frames of pandas where a schema names the columns.
        """
        return to_sklearn(self.published(), encoded=encoded)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        # At these budgets the noise drowns a toy table of a few dozen records, as it must.
        tags.classifier_tags.poor_score = True
        tags.input_tags.sparse = self.schema is None
        if self.schema is not None:
            tags.target_tags.required = False
            tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags
