"""The authors' DP-AGD, whose errors can be corrected one by one. NOT PRIVATE until E4 is corrected."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from privfit.accounting import rho_from_epsilon
from privfit.accounting.zcdp import Conversion
from privfit.engine.exact.grids import FloatArray
from privfit.engine.points import Line
from privfit.experiments.authors.program import Given, Program

Erratum = Literal["E1", "E4", "E5", "E6", "E10"]

C, CANDIDATES, LONGEST, PERIOD, GROWTH = 3.0, 20, 2.0, 10, 1.1
SPLITS, GAMMA = 60.0, 0.1


@dataclass(frozen=True, kw_only=True)
class AuthorsDPAGD(Program):
    """`agd_rho`. NOT PRIVATE unless E4 is corrected; then every release is paid for.

    Parameters
    ----------
    corrected : frozenset of str
        The errata that are corrected in the same way as in `DPAGD`.
    regulariser : float
        Lambda of the authors' scripts.
    """

    corrected: frozenset[Erratum] = frozenset()
    regulariser: float = 0.001
    conversion: Conversion = "classic"

    @property
    def private(self) -> bool:  # type: ignore[override]
        """Whether the selection is private."""
        return "E4" in self.corrected

    def learn(self, given: Given) -> tuple[FloatArray, int]:
        """Read the data, deduct the price, and move if the budget is not exceeded."""
        problem, epsilon, delta, rng = given.problem, given.epsilon, given.delta, given.rng
        rho = rho_from_epsilon(epsilon, delta, self.conversion)
        share = epsilon / (2 * SPLITS)
        rho_nmax, rho_ng = share**2 / 2, share**2 / (4 * math.log(1.25 / delta))
        point, longest, moves = problem.at(np.zeros(problem.n_weights)), LONGEST, 0
        chosen: list[float] = []
        while rho > 0:
            exact = point.gradient_sum(C)
            noisy = first = _blurred(exact, rho_ng, rng)
            rho -= rho_ng
            steps, i = np.linspace(0.0, longest, CANDIDATES + 1), 0
            while i == 0:
                line = point.along(self._direction(noisy, point.w, problem.n_records))
                i = self._choose(line, steps, rho_nmax, rng)
                rho -= rho_nmax
                if rho < 0:
                    break
                if i > 0:
                    point, moves = line.move(steps[i if "E5" in self.corrected else i - 1]), moves + 1
                    rho -= 0.0 if "E5" in self.corrected else rho_ng
                else:
                    rho_old, rho_ng = rho_ng, (1 + GAMMA) * rho_ng
                    kept = rho_old / rho_ng
                    again = _blurred(exact, rho_ng - rho_old, rng)
                    noisy = kept * (noisy if "E1" in self.corrected else first) + (1 - kept) * again
                    rho -= rho_ng - rho_old
            chosen.append(float(steps[i]))
            if len(chosen) == PERIOD:
                longest, chosen = GROWTH * max(chosen), []
                if "E10" not in self.corrected:
                    longest = min(longest, LONGEST)
        return point.w, moves

    def _direction(self, noisy: FloatArray, w: FloatArray, n: int) -> FloatArray:
        if "E6" in self.corrected:
            noisy = noisy + n * self.regulariser * w
            return noisy / float(np.linalg.norm(noisy))
        return noisy / float(np.linalg.norm(noisy)) + self.regulariser * w

    def _choose(self, line: Line, steps: FloatArray, rho: float, rng: np.random.Generator) -> int:
        scores = line.loss_sums(float(steps[1]), CANDIDATES, C)
        if "E6" in self.corrected:
            points = line.origin.w - steps[:, None] * line.direction
            strength = line.origin.problem.n_records * self.regulariser
            scores = scores + strength / 2 * np.einsum("ij,ij->i", points, points)
        scale = C / math.sqrt(2 * rho)
        if "E4" in self.corrected:
            return int(np.argmax(-scores + rng.laplace(scale=scale, size=len(scores))))
        return int(np.argmin(scores + rng.exponential(scale, len(scores))))


def _blurred(exact: FloatArray, rho: float, rng: np.random.Generator) -> FloatArray:
    return exact + C / math.sqrt(2 * rho) * rng.standard_normal(exact.shape)
