"""The methods by which a search acts as its chosen model: predictions, scores, and scikit-learn's tags."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted


def _best_has(name: str) -> Any:
    """Return a check whether the estimator has a method, whether it is fitted or not."""

    def check(search: Any) -> bool:
        getattr(
            getattr(search, "best_estimator_", search.estimator), name
        )  # the error of this attribute says what is missing
        return True

    return available_if(check)


class ChosenModel(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """An estimator whose predictions are those of its `best_estimator_`."""

    estimator: Any
    best_estimator_: Any

    def _best(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predictions of the chosen model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            The same columns as in `fit`; with a schema a raw table or the path of one.

        Returns
        -------
        predictions : array of shape (n_records,)
            Labels or numbers.
        """
        predictions: NDArray[Any] = self._best().predict(X)
        return predictions

    @_best_has("predict_proba")  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities that the chosen model predicts.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            The same columns as in `fit`; with a schema a raw table or the path of one.

        Returns
        -------
        probabilities : array of shape (n_records, n_classes)
            In the order of `classes_`.
        """
        probabilities: NDArray[np.float64] = self._best().predict_proba(X)
        return probabilities

    @_best_has("decision_function")  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores that the chosen model gives.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            The same columns as in `fit`; with a schema a raw table or the path of one.

        Returns
        -------
        scores : array of shape (n_records,) or (n_records, n_classes)
            The scores of the estimator.
        """
        scores: NDArray[np.float64] = self._best().decision_function(X)
        return scores

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the exact score of the chosen model, which is not private: no noise is added.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            Features; with a schema, a raw table.
        y : array of shape (n_records,), optional
            Targets. With a schema they are a column of the table, unless given.
        sample_weight : array of shape (n_records,), optional
            How much each record counts.

        Returns
        -------
        score : float
            The accuracy of a classifier, R^2 of a regressor.
        """
        return float(self._best().score(X, y, sample_weight))

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels of a classifier."""
        classes: NDArray[Any] = self._best().classes_
        return classes

    @property
    def n_features_in_(self) -> int:
        """The number of columns of X."""
        return int(self._best().n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """The names of the columns of X, if they have names."""
        names: NDArray[np.object_] = self._best().feature_names_in_
        return names

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        for part in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags", "input_tags"):
            setattr(tags, part, getattr(own, part))
        return tags
