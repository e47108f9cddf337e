"""The fitted weights of a linear model, and the scores that they give to rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from privfit.estimators.declared import encoded
from privfit.estimators.preparation import Preparation
from privfit.models.links import Link
from privfit.schema import Schema
from privfit.schema.taken import parts_of


class WithScores(ABC):
    """The attributes that a fitted model takes from a solution, and the scores of rows."""

    _link: ClassVar[Link]  # how scores become predictions
    fit_intercept: bool
    coef_: NDArray[np.float64]
    intercept_: Any
    schema_: Schema | None
    preparation_: Preparation

    @abstractmethod
    def _validated(self, X: Any, y: Any = None, *, reset: bool = True, may_be_empty: bool = False) -> Any:
        """Return X as a float array or CSR matrix."""

    def _set_weights(self, w: NDArray[np.float64]) -> None:
        """Store a solution's weights, with a row for each output; the intercept, if any, is last."""
        rows = np.atleast_2d(w.T)
        if self.fit_intercept:
            self._keep_weights(rows[:, :-1].copy(), rows[:, -1].copy())
        else:
            self._keep_weights(rows.copy(), np.zeros(len(rows)))

    @property
    def _link_of_fit(self) -> Link:
        """How the scores of the fitted model become predictions."""
        return self._link.for_scores(len(np.atleast_2d(self.coef_)))

    def _keep_weights(self, weights: NDArray[np.float64], intercepts: NDArray[np.float64]) -> None:
        self.coef_, self.intercept_ = weights, intercepts

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every row, or one for each output."""
        check_is_fitted(self)
        weights = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        if self.schema_ is None:
            return self.preparation_.scores(self._validated(X, reset=False), *weights)
        # raw tables are encoded in double precision, as in all formats to which models are converted
        parts = (encoded(part, self.schema_, np.float64) for part in parts_of(X, self.schema_))
        return np.concatenate([self.preparation_.scores(part, *weights) for part in parts])

    @property
    def feature_bounds_(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """The lowest and highest value of every column, to which features are clipped."""
        check_is_fitted(self)
        return self.preparation_.bounds

    @property
    def unit_rows_(self) -> bool:
        """Whether rows are scaled to norm 1."""
        check_is_fitted(self)
        return self.preparation_.unit_rows
