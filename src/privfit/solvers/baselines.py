"""The two references without privacy that every result is held against."""

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

# Each problem starts from the minimiser of the one before. The last loss is nowhere 1/4000 above the hinge.
SHARPNESSES = (1.0, 25.0, 500.0)
LEAST_COUNT = 1e-3  # of a class's records, so that its share has a logarithm


@register
@dataclass(frozen=True, kw_only=True)
class NonPrivate:
    """The exact minimiser by L-BFGS. Promises nothing; use it as the target to be reached.

    The hinge loss is approached by ever sharper smooth ones; by duality that loses at most 1.3e-4
    times the share of records with a margin within 0.001 of 1.

    Parameters
    ----------
    max_iter : int
        Most iterations, of each of the smooth problems.
    tol : float
        Stop when no entry of the gradient of the mean, with columns scaled alike, is larger.
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
    """The best constant model: always the larger class. Promises nothing; use it as the floor."""

    name: ClassVar[str] = "majority"
    private: ClassVar[bool] = False
    requires: ClassVar[tuple[Requirement, ...]] = (UNCONSTRAINED, INTERCEPT, IN_ONE_PLACE)
    promise = staticmethod(promise_nothing)

    def solve(self, curator: Curator) -> Solution:
        """Minimise the mean loss plus the regulariser over the intercept alone.

        With several classes the intercepts are those that go with the classes' shares.
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

        # With one class only, the logistic loss has no minimum; 20 gives it all but 2e-9 of the probability.
        best = minimize_scalar(objective, bounds=(-20.0, 20.0), method="bounded", options={"xatol": 1e-9})
        return Solution(best.x * constant)


def _scaled_alike(problem: Problem, alpha: float) -> Problem:
    """Return a view in which all weights are curved about alike, which L-BFGS needs to be fast.

    A raw weight's curvature is about a quarter of the mean square of its column, plus alpha.
    """
    lowest, highest = -30, 40
    sizes = 4.0 ** np.arange(lowest, highest + 1)  # of squares, by the bins of `Magnitudes`
    squares = Magnitudes(lowest, highest).sums(problem.table) @ sizes / problem.n_records + 4.0 * alpha
    scale = 1.0 / np.sqrt(np.where(squares > 0.0, squares, 1.0))
    return problem.transformed(np.zeros(len(scale)), scale)


def _smooth_approximations(problem: Problem) -> Iterator[Problem]:
    """Yield the problem if its loss is smooth, and else with ever sharper losses in its place."""
    loss = problem.loss
    if loss.smoothness < math.inf or loss.sharpened is None:
        yield problem.with_loss(loss.smoothed)
        return
    for sharpness in SHARPNESSES:
        yield problem.with_loss(loss.sharpened(sharpness))
