"""Two reference models without privacy, with which results are compared."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from sklearn.exceptions import ConvergenceWarning

from privfit.curator import Curator, Vector
from privfit.questions import Magnitudes, TargetSums
from privfit.solvers.base import Solution, promise_nothing, register
from privfit.solvers.kit import check_positive, check_whole
from privfit.solvers.requirements import IN_ONE_PLACE, INTERCEPT, SMOOTH_LOSS, UNCONSTRAINED, Requirement

if TYPE_CHECKING:
    from privfit.curator import Problem

# Sharpness of the smooth losses that replace the hinge. Each problem starts from the minimiser of the
# previous one. The last loss exceeds the hinge by less than 1/4000 everywhere.
SHARPNESSES = (1.0, 25.0, 500.0)
LEAST_COUNT = 1e-3  # added to the count of each class, so that the logarithm of its share is finite


@register
@dataclass(frozen=True, kw_only=True)
class NonPrivate:
    """The exact minimiser, found by L-BFGS. It is not private; use it as an upper reference.

    The hinge loss is approximated by a sequence of smooth losses. By duality the result is worse than the
    minimum by at most 1.3e-4 times the share of records whose margin is within 0.001 of 1.

    Parameters
    ----------
    max_iter : int
        The largest number of iterations, for each of the smooth problems.
    tol : float
        Stop when no entry of the gradient of the mean loss, with all columns on one scale, is larger.
    """

    name: ClassVar[str] = "nonprivate"
    private: ClassVar[bool] = False
    requires: ClassVar[tuple[Requirement, ...]] = (UNCONSTRAINED, SMOOTH_LOSS, IN_ONE_PLACE)
    promise = staticmethod(promise_nothing)

    max_iter: int = 2000
    tol: float = 1e-7

    def __post_init__(self) -> None:
        check_whole(self, "max_iter")
        check_positive(self, "tol")

    def solve(self, curator: Curator) -> Solution:
        """Minimise the mean loss plus the regulariser."""
        problem = _scaled_alike(curator.open_without_privacy(), curator.penalty.alpha)
        w = problem.loss.weights_of(curator.n_weights)
        for smooth in _smooth_approximations(problem):
            w, converged = self._minimise(smooth, curator.penalty.alpha, w)
        if not converged:
            warnings.warn(
                f"The model without privacy is not optimal after {self.max_iter} iterations; "
                "raise max_iter or tol of NonPrivate.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return Solution(problem.table.raw_weights(w))

    def _minimise(self, problem: Problem, alpha: float, start: Vector) -> tuple[Vector, bool]:
        total = problem.total_weight or 1.0

        def objective(flat: Vector) -> tuple[float, Vector]:
            w = flat.reshape(start.shape)
            point, raw = problem.at(w), problem.table.raw_weights(w)
            value = point.loss_sum() / total + alpha / 2 * float(raw.ravel() @ raw.ravel())
            gradient = point.gradient_sum() / total + alpha * problem.table.view.pulled_back(raw)
            return value, gradient.ravel()

        options = {"maxiter": self.max_iter, "maxfun": 10 * self.max_iter, "gtol": self.tol, "maxcor": 50}
        result = minimize(
            objective,
            start.ravel(),
            jac=True,
            method="L-BFGS-B",
            options=options | {"ftol": 1e-3 * self.tol},
        )
        return result.x.reshape(start.shape), bool(result.success)


@register
@dataclass(frozen=True, kw_only=True)
class Majority:
    """The best constant model, which predicts the larger class. Not private; use it as a lower reference."""

    name: ClassVar[str] = "majority"
    private: ClassVar[bool] = False
    requires: ClassVar[tuple[Requirement, ...]] = (UNCONSTRAINED, INTERCEPT, IN_ONE_PLACE)
    promise = staticmethod(promise_nothing)

    def solve(self, curator: Curator) -> Solution:
        """Minimise the mean loss plus the regulariser over the intercept alone.

        With several classes the intercepts follow from the classes' shares.
        """
        problem = curator.open_without_privacy()
        constant = curator.loss.weights_of(curator.n_weights)
        if problem.outputs > 1:
            counts = TargetSums().bounded(problem).look() + LEAST_COUNT
            constant[-1] = curator.loss.best_constant(counts / counts.sum())
            return Solution(constant)
        constant[-1] = 1.0

        def objective(b: float) -> float:
            value: float = problem.at(b * constant).loss_sum() / (problem.total_weight or 1.0)
            return value + curator.penalty.alpha / 2 * b * b

        # if there is only one class, the logistic loss has no minimum; 20 gives that class 1 - 2e-9
        best = minimize_scalar(objective, bounds=(-20.0, 20.0), method="bounded", options={"xatol": 1e-9})
        return Solution(best.x * constant)


def _scaled_alike(problem: Problem, alpha: float) -> Problem:
    """Return a view in which the loss has similar curvature in all weights, so that L-BFGS converges fast.

    The curvature in a raw weight is about a quarter of the mean square of its column, plus alpha.
    """
    lowest, highest = -30, 40
    sizes = 4.0 ** np.arange(lowest, highest + 1)  # the squares that belong to the bins of `Magnitudes`
    squares = Magnitudes(lowest, highest).sums(problem.table) @ sizes / problem.n_records + 4.0 * alpha
    scale = 1.0 / np.sqrt(np.where(squares > 0.0, squares, 1.0))
    return problem.transformed(np.zeros(len(scale)), scale)


def _smooth_approximations(problem: Problem) -> Iterator[Problem]:
    """Yield the problem if its loss is smooth, or else with a sequence of smooth losses."""
    loss = problem.loss
    if loss.smoothness < math.inf or loss.sharpened is None:
        yield problem.with_loss(loss.smoothed)
        return
    for sharpness in SHARPNESSES:
        yield problem.with_loss(loss.sharpened(sharpness))
