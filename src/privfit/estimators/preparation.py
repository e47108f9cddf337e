"""The preparation of a row before the weights are applied, which is the same for fits and predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from privfit.engine.exact.bounds import norms
from privfit.solvers import Solution

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.problem import Problem

Vector = NDArray[np.float64]
Features = Any  # a 2-d float array or a CSR matrix: NumPy has no common type for the two


@dataclass(frozen=True)
class Preparation:
    """Clip the columns to bounds, then scale rows to norm 1.

    Parameters
    ----------
    bounds : pair of arrays, optional
        Lowest and highest value of every column, declared or bought.
    intercept : bool
        Whether a row has a 1 for the intercept.
    unit_rows : bool
        Whether rows, including the intercept's 1, are scaled to norm 1, which some solvers' proofs require.
    """

    bounds: tuple[Vector, Vector] | None
    intercept: bool
    unit_rows: bool = False

    def of_fit(self, problem: Problem) -> Problem:
        """Return the records with clipped columns; solvers that need rows of norm 1 scale them themselves."""
        return problem if self.bounds is None else problem.clipped(*self.bounds)

    def completed(self, solution: Solution) -> Preparation:
        """Return the preparation for a solution's weights, with the bounds and the scaling of the solver."""
        bounds = self.bounds if solution.bounds is None else solution.bounds
        return replace(self, bounds=bounds, unit_rows=solution.unit_rows)

    def scores(self, X: Features, weights: Vector, intercepts: Vector) -> Vector:
        """Return the score of every row or, if there are several rows of weights, one for each of them."""
        if self.bounds is not None:
            X = clip_features(X, *self.bounds)
        if len(weights) == 1:
            weights, intercepts = weights[0], intercepts[0]
        scores: Vector = np.asarray(X @ weights.T) + intercepts
        return (scores.T / row_norms(X, self.intercept)).T if self.unit_rows else scores


def clip_features(X: Features, low: NDArray[np.float64], high: NDArray[np.float64]) -> Features:
    """Return the features clipped to the bounds of the fit."""
    if not sparse.issparse(X):
        return np.clip(X, low, high)
    return type(X)((np.clip(X.data, low[X.indices], high[X.indices]), X.indices, X.indptr), shape=X.shape)


def row_norms(X: Features, intercept: bool) -> NDArray[np.float64]:
    """Return the norm of every row, including the intercept's 1, as the fit computes it; never zero."""
    with np.errstate(over="ignore", under="ignore"):
        if sparse.issparse(X):
            X = X.astype(np.float64, copy=False)
            squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        else:
            squares = np.square(X, dtype=np.float64).sum(axis=1)
    return norms(squares, X.shape[1], 1.0 if intercept else None)
