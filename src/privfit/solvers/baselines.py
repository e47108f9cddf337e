"""The two references without privacy that every result is held against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from privfit.accounting.zcdp import Conversion
from privfit.curator import Curator
from privfit.solvers.base import Solution, register


@register
@dataclass(frozen=True, kw_only=True)
class NonPrivate:
    """The exact minimiser by L-BFGS. Promises nothing; use it as the target to be reached."""

    name: ClassVar[str] = "nonprivate"
    private: ClassVar[bool] = False
    conversion: ClassVar[Conversion] = "tight"

    max_iter: int = 1000
    tol: float = 1e-7

    def solve(self, curator: Curator) -> Solution:
        """Minimise the mean loss plus the regulariser."""
        engine = curator.open_without_privacy()

        def objective(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            point = engine.at(w)
            value = point.loss_sum() / engine.n_records + curator.alpha / 2 * float(w @ w)
            return value, point.gradient_sum() / engine.n_records + curator.alpha * w

        start = np.zeros(curator.n_weights)
        options = {"maxiter": self.max_iter, "gtol": self.tol, "ftol": 1e-11, "maxcor": 30}
        result = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
        return Solution(result.x)


@register
@dataclass(frozen=True, kw_only=True)
class Majority:
    """The best constant model: always the larger class. Promises nothing; use it as the floor."""

    name: ClassVar[str] = "majority"
    private: ClassVar[bool] = False
    conversion: ClassVar[Conversion] = "tight"

    def solve(self, curator: Curator) -> Solution:
        """Minimise the mean loss over the intercept alone."""
        if not curator.intercept:
            raise ValueError("The majority model is a constant, so it needs fit_intercept=True.")
        engine = curator.open_without_privacy()
        constant = np.zeros(curator.n_weights)
        constant[-1] = 1.0
        best = minimize_scalar(lambda b: engine.at(b * constant).loss_sum(), bounds=(-20.0, 20.0))
        return Solution(best.x * constant)
