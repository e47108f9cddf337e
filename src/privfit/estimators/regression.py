"""Linear models that predict numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from privfit.accounting import Ledger
from privfit.estimators.base import DPLinearModel
from privfit.estimators.labels import labels_given
from privfit.estimators.targets import IntervalEncoder, TargetEncoder, checked_bounds, number_column
from privfit.estimators.validation import check_lengths
from privfit.models.links import IDENTITY
from privfit.models.targets import Interval, Target
from privfit.penalties import ConvexSet
from privfit.remedies import remedy
from privfit.schema import Schema, labels_of
from privfit.schema.frames import opened
from privfit.schema.labelling import weights_in
from privfit.schema.quantities import Quantity
from privfit.solvers import Solver


class LinearRegressor(RegressorMixin, DPLinearModel):  # type: ignore[misc]  # scikit-learn is untyped
    """A linear model of numbers between public bounds; its subclasses define the loss and the settings.

    The loss takes targets in [-1, 1], so its `targets` are `Interval()`. The weights are in the units of y.
    """

    _link = IDENTITY

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
        target_bounds: tuple[float, float] | None = None,
        n_records: int | None = None,
        feature_bounds: tuple[Any, Any] | Mapping[str, tuple[float, float]] | None = None,
        max_weight: float | None = None,
        weight_shrinkage: float = 0.0,
        mean_weight: float | None = None,
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
        self.target_bounds = target_bounds
        self.n_records = n_records
        self.feature_bounds = feature_bounds
        self.max_weight = max_weight
        self.weight_shrinkage = weight_shrinkage
        self.mean_weight = mean_weight
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
        bounds = self.target_bounds
        if schema is not None:
            if not isinstance(schema.label, Quantity):
                raise ValueError(
                    f"The label {schema.label.name!r} has classes, and {type(self).__name__} predicts "
                    'numbers; declare it with type = "number", or '
                    f"{remedy('use a classifier', 'train a model of classes, with --model')}."
                )
            if bounds is not None and schema.label.bounds is not None:
                raise ValueError("The schema declares target_bounds already; remove target_bounds=.")
            bounds = schema.label.bounds if bounds is None else bounds
        return None if bounds is None else checked_bounds(bounds)

    def _encoded(self, y: Any, declared: Any) -> tuple[NDArray[np.float64], TargetEncoder | None]:
        numbers = number_column(y)
        if declared is None:
            return numbers, None
        encoder = self._encoder(*declared)
        return encoder.encode(numbers), encoder

    def _encoder(self, low: float, high: float, *, bought: bool = False) -> TargetEncoder:
        return IntervalEncoder(low, high, bool(self.fit_intercept), bought)

    def _encoder_up_to(self, size: float) -> TargetEncoder:
        return self._encoder(-size, size, bought=True)

    def _keep_target(self, known: Any) -> None:
        self.target_bounds_ = known.low, known.high

    @classmethod
    def _declaring(cls, target: Target) -> dict[str, Any]:
        if not isinstance(target, Interval):
            raise ValueError(f"a {cls.__name__} predicts numbers.")
        return {"target_bounds": (target.low, target.high)}

    @property
    def _target(self) -> Target:
        return Interval(*self.target_bounds_)

    def _keep_weights(self, weights: NDArray[np.float64], intercepts: NDArray[np.float64]) -> None:
        self.coef_, self.intercept_ = (
            weights[0],
            intercepts[0],
        )  # the shapes of scikit-learn's regressors

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted number of every row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            The same columns as in `fit`; with a schema, a raw table or the path of one.

        Returns
        -------
        predictions : array of shape (n_records,)
            The predictions in the units of y. They may lie outside the bounds of the target.
        """
        assert self._link.mean is not None  # because numbers are predicted
        return self._link.mean(self._scores(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the exact R^2 on X and y, which is not private: no noise is added.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            Features; with a schema, a raw table.
        y : array of shape (n_records,), optional
            Targets. By default, with a schema, its label column.
        sample_weight : array of shape (n_records,), optional
            How much each record counts. By default, with a schema, its column of weights, if it has one.

        Returns
        -------
        r2 : float
            The R^2: 1 for perfect predictions, 0 for predicting the mean of y.
        """
        from sklearn.metrics import r2_score  # imported late, because a fit does not need it

        targets, predicted, sample_weight = self._predicted_with(X, y, sample_weight)
        return float(r2_score(targets, predicted, sample_weight=sample_weight))

    def _predicted_with(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[np.float64], Any]:
        """Return targets, predictions and weights of the records that have a target."""
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
        targets = number_column(y)
        check_lengths(predicted, targets)
        return targets, predicted, sample_weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # with a table of a few dozen records, as in scikit-learn's checks, private scores are mostly noise
        tags.regressor_tags.poor_score = True
        return tags
