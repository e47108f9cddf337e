"""Linear models that predict labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from privfit.accounting import Ledger
from privfit.estimators.base import DPLinearModel
from privfit.estimators.labels import declared_classes, encoded_labels, label_column, labels_given
from privfit.estimators.targets import TargetEncoder
from privfit.estimators.validation import check_lengths
from privfit.losses import Loss
from privfit.models.links import chosen
from privfit.models.targets import Classes, Target, TwoLabels
from privfit.penalties import ConvexSet
from privfit.remedies import remedy
from privfit.schema import Label, Schema, labels_of
from privfit.schema.frames import opened
from privfit.schema.labelling import weights_in
from privfit.solvers import Solver


class LinearClassifier(ClassifierMixin, DPLinearModel):  # type: ignore[misc]  # scikit-learn is untyped
    """A linear classifier; its subclasses define the loss and document the settings."""

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
        max_weight: float | None = None,
        weight_shrinkage: float = 0.0,
        mean_weight: float | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        rows_per_person: int | None = None,
        constraint: ConvexSet | None = None,
        start: tuple[Any, Any] | None = None,
        curves: bool | int | None = None,
        max_passes: int | None = None,
        inference: bool | Sequence[str] = False,
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
        self.max_weight = max_weight
        self.weight_shrinkage = weight_shrinkage
        self.mean_weight = mean_weight
        self.class_weight = class_weight
        self.rows_per_person = rows_per_person
        self.constraint = constraint
        self.start = start
        self.curves = curves
        self.max_passes = max_passes
        self.inference = inference
        self.ledger = ledger
        self.noise = noise
        self.random_state = random_state
        self.verbose = verbose

    def _declared_target(self, schema: Schema | None) -> Any:
        if self.classes is not None:
            declared_classes(self.classes)
        if schema is None:
            return self.classes
        if self.classes is not None:
            raise ValueError("The schema declares the classes already; remove classes=.")
        if not isinstance(schema.label, Label):
            raise ValueError(
                f"The label {schema.label.name!r} is a number, and {type(self).__name__} predicts classes; "
                f"{remedy('use a regressor', 'train a model of numbers, with --model')}, or declare classes."
            )
        return schema.label.classes

    def _loss_for(self, known: Any) -> Loss:
        loss, classes = self._loss_of_fit(), getattr(known, "classes", known)
        if classes is None or len(classes) == 2:
            return loss
        if loss.of_classes is None:
            raise ValueError(  # in the words that scikit-learn's estimator checks expect
                "Only binary classification is supported. The type of the target is multiclass, and this "
                "loss takes two classes; keep two of them, or use DPLogisticRegression or DPLinearSVC."
            )
        return loss.of_classes(len(classes))

    def _encoded(self, y: Any, declared: Any) -> tuple[NDArray[np.float64], TargetEncoder]:
        return encoded_labels(y, declared)

    def _keep_target(self, known: Any) -> None:
        self.classes_ = np.asarray(known.classes)

    @classmethod
    def _declaring(cls, target: Target) -> dict[str, Any]:
        if not isinstance(target, TwoLabels | Classes):
            raise ValueError(f"a {cls.__name__} predicts labels.")
        return {"classes": target.classes}

    @property
    def _target(self) -> Target:
        labels = tuple(self.classes_.tolist())
        return TwoLabels(labels) if len(labels) == 2 else Classes(labels)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every row: positive for the second of two classes, or a score for each class.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            The same columns as in `fit`; with a schema, a raw table or the path of one.

        Returns
        -------
        scores : array of shape (n_records,) or (n_records, n_classes)
            The scores, not divided by the norm of the weights, as in scikit-learn. With several classes there
            is a column for each class, and the predicted class has the largest score.
        """
        return self._scores(X)

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
        places = chosen(self.decision_function(X))
        predicted: NDArray[Any] = self.classes_[places]
        return predicted

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the exact accuracy on X and y, which is not private: no noise is added.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            Features; with a schema, a raw table.
        y : array of shape (n_records,), optional
            Labels. By default, with a schema, its label column.
        sample_weight : array of shape (n_records,), optional
            How much each record counts. By default, with a schema, its column of weights, if it has one.

        Returns
        -------
        accuracy : float
            The share of records whose label is predicted correctly.
        """
        check_is_fitted(self)
        if self.schema_ is not None and y is None:
            X = opened(X, self.schema_.names_in_fit)
            y = labels_of(X, self.schema_)
        predicted = self.predict(X)
        if self.schema_ is not None:
            check_lengths(predicted, y)
            sample_weight = weights_in(X, self.schema_) if sample_weight is None else sample_weight
            y, has_label = labels_given(y, self.schema_.label)
            if has_label is not None:
                predicted = predicted[has_label]
                sample_weight = None if sample_weight is None else np.asarray(sample_weight)[has_label]
        labels = label_column(y)
        check_lengths(predicted, labels)
        return float(np.average(np.asarray(predicted == labels, dtype=bool), weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # with a table of a few dozen records, as in scikit-learn's checks, private scores are mostly noise
        tags.classifier_tags.poor_score = True
        return tags
