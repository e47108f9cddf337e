"""The authors' ObjPert and OutPert. NOT PRIVATE: their noise is for shorter records than the actual ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import fmin_l_bfgs_b
from sklearn.preprocessing import normalize

from privfit.engine.exact.grids import FloatArray
from privfit.experiments.authors.program import Given, Program


@dataclass(frozen=True, kw_only=True)
class AuthorsObjPert(Program):
    """`obj_pert`. NOT PRIVATE: see docs/authors.md.

    Rows have norm 1 before the bias is added and the square root of 2 afterwards, but the noise is for norm
    1. The bias is not regularised, although the proof needs it. The hinge is not smoothed. After 300
    iterations the weights are released even if they have not converged.
    """

    regulariser: float = 0.001

    def rows(self, X: Any) -> Any:
        """Scale the rows to norm 1, before the bias is added."""
        return normalize(X)

    def learn(self, given: Given) -> tuple[FloatArray, int]:
        """Minimise the perturbed objective."""
        problem, epsilon, delta, rng = given.problem, given.epsilon, given.delta, given.rng
        n, d = problem.n_records, problem.n_weights
        b = math.sqrt(8 * math.log(2 / delta) + 4 * epsilon) / epsilon * rng.standard_normal(d)
        curvature = (2.0 + 2.0 / epsilon) / n
        is_feature = np.arange(d) < d - 1

        def objective(w: FloatArray) -> tuple[float, FloatArray]:
            point, features = problem.at(w), w * is_feature
            value = point.loss_sum() / n + self.regulariser / 2 * float(w @ w)
            slope = point.gradient_sum() / n + self.regulariser * w
            value += curvature / 2 * float(features @ features) + float(b @ w) / n
            return value, slope + curvature * features + b / n

        w, _, info = fmin_l_bfgs_b(objective, np.zeros(d), maxiter=300)
        return w, int(info["nit"])


@dataclass(frozen=True, kw_only=True)
class AuthorsOutPert(Program):
    """`outpert_gd`. NOT PRIVATE: gradients are not clipped, and most are longer than its noise assumes.

    Its script trains on all records, and tests on a fifth of the same records.
    """

    sees_the_test_fold: ClassVar[bool] = True

    steps: int = 50
    lipschitz: float = 1.0
    step: float = 1.0
    regulariser: float = 0.0001

    def learn(self, given: Given) -> tuple[FloatArray, int]:
        """Take full gradient steps, and add noise to the last point."""
        problem, epsilon, delta, rng = given.problem, given.epsilon, given.delta, given.rng
        w = np.zeros(problem.n_weights)
        for _ in range(self.steps):
            w = w - self.step * (problem.gradient_at(w, math.inf) / problem.n_records + self.regulariser * w)
        sensitivity = 3 * self.lipschitz * self.steps * self.step / problem.n_records
        sigma = math.sqrt(2 * math.log(2 / delta)) * sensitivity / epsilon
        return w + sigma * rng.standard_normal(len(w)), self.steps
