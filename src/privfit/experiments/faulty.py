"""NOT PRIVATE: DP-AGD with the step-size selection of its authors' public code, to measure its effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privfit.curator import Curator, SealedLine, Vector
from privfit.mechanisms.selection import selection_scale
from privfit.solvers import DPAGD


@dataclass(frozen=True, kw_only=True)
class FaultyDPAGD(DPAGD):
    """NOT PRIVATE. Never fit it to data whose model you would publish.

    It pays the price of a private choice of a step. But then it returns the smallest of the scores *plus*
    exponential noise, which costs 20 times the epsilon that was paid (erratum E4, docs/dpagd.md). It has no
    name, because it exists only for one curve of the experiments.
    """

    name: ClassVar[str] = "dpagd-faulty-NOT-PRIVATE"
    private: ClassVar[bool] = False

    def choose(self, curator: Curator, line: SealedLine, steps: Vector, rho: float, penalties: Vector) -> int:
        """Return the smallest sum of clipped losses after adding noise with the wrong sign."""
        problem, noise = curator.open(rho, why="NOT PRIVATE: the faulty selection of E4")
        exact = problem.at(line.origin.w).along(line.direction)
        scores = exact.loss_sums(float(steps[1]), len(steps) - 1, self.C_obj) + penalties
        # the absolute value of Laplace noise has an exponential distribution
        exponential = np.abs(
            noise.laplace(np.zeros_like(scores), selection_scale(self.C_obj, rho, "exponential"))
        )
        return int(np.argmin(scores + exponential))
