"""DP-AGD: Algorithm 1 of Lee & Kifer (KDD 2018), line by line, with its errata corrected (docs/dpagd.md)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from privfit.accounting import BudgetExceeded, Concentrated
from privfit.accounting.zcdp import Conversion, pure_cost
from privfit.curator import Curator, Measurement, SealedLine, SealedPoint, Vector
from privfit.losses.targets import Interval
from privfit.questions import Gradient, LossesAlong
from privfit.solvers.adaptive import BIAS
from privfit.solvers.base import Solution, Step, register, warn_zero_model
from privfit.solvers.kit import check_choice, check_positive, check_whole, number_of_records, total_weight
from privfit.solvers.numbers import in_bought_units
from privfit.solvers.requirements import POSITIVE_DELTA, Requirement

Selection = Literal["laplace", "exponential", "gumbel"]
NUMBERS_WITHOUT_ALPHA = Requirement(
    "alpha = 0 for numbers and counts, because its penalty is in the features' own units only",
    lambda facts: facts.penalty.alpha == 0.0 or not isinstance(facts.loss.targets, Interval),
)


@dataclass(frozen=True, kw_only=True)
class LineSearchDescent(ABC):
    """Algorithm 1. Subclasses define its prices and its scores.

    Parameters
    ----------
    C_grad : float
        Clipping threshold of a record's gradient norm.
    gamma : float
        The gradient's share is multiplied by 1 + gamma if the chosen step size is 0.
    m : int
        Number of non-zero candidate step sizes, equally spaced up to alpha_max.
    alpha_max : float
        The largest candidate at the start.
    tau, eta : int, float
        Every tau iterations alpha_max becomes 1 + eta times the largest step size chosen since.
    alpha_cap : float, optional
        The largest candidate at any time. None by default, as in the paper's text. Its authors' code has 2
        (E10), which keeps the weights small if noise chooses the step sizes.
    batch_size : float, optional
        Expected size of a fresh random subset for each iteration; all records by default.
    """

    private: ClassVar[bool] = True

    C_grad: float = 3.0
    gamma: float = 0.1
    m: int = 20
    alpha_max: float = 2.0
    tau: int = 10
    eta: float = 0.1
    alpha_cap: float | None = None
    batch_size: float | None = None

    def __post_init__(self) -> None:
        check_positive(self, "C_grad", "gamma", "alpha_max", "eta", "alpha_cap", "batch_size")
        check_whole(self, "m", "tau")

    @abstractmethod
    def shares(self, curator: Curator) -> tuple[float, float]:
        """Return the first rho_ng, of a gradient, and rho_nmax, of a choice."""

    @abstractmethod
    def choose(self, curator: Curator, line: SealedLine, steps: Vector, rho: float, penalties: Vector) -> int:
        """Choose one of the steps privately."""

    def again(
        self, curator: Curator, point: SealedPoint, g: Measurement, rho_ng: float
    ) -> tuple[Measurement, float]:
        """Measure a better gradient after a step size of 0 was chosen.

        Parameters
        ----------
        curator : Curator
            The curator that measures it.
        point : SealedPoint
            The point at which it is measured.
        g : Measurement
            The gradient that gave no step.
        rho_ng : float
            The price of a gradient so far.

        Returns
        -------
        g : Measurement
            The better gradient.
        rho_ng : float
            The price of a gradient from now on.
        """
        dearer = (1 + self.gamma) * rho_ng
        return curator.refine(g, dearer - rho_ng), dearer

    def answer(self, path: list[Vector]) -> Vector:
        """Return the released weights: the last point visited."""
        return path[-1]

    def solve(self, curator: Curator) -> Solution:
        """Run Algorithm 1, in bought units if the targets are numbers (E12)."""
        if isinstance(curator.loss.targets, Interval):
            return in_bought_units(curator, BIAS, lambda scaled, _: self._searched(scaled))
        return self._searched(curator)

    def _searched(self, curator: Curator) -> Solution:
        """Run Algorithm 1 until a charge no longer fits (E2, E3)."""
        rho_ng, rho_nmax = self.shares(curator)
        loss = curator.loss
        start = curator.regulariser.start(loss.weights_of(curator.n_weights))
        if curator.remaining < rho_ng + rho_nmax:
            warn_zero_model(curator, needed=rho_ng + rho_nmax)
            return Solution(start)
        alpha_max = self._capped(self.alpha_max)
        point = curator.at(start)
        path = [point.w]
        trace: list[Step] = []
        try:
            n, weight = self._counts(curator)
            while True:
                if self.batch_size is not None:  # E7
                    batch = curator.sample(min(1.0, self.batch_size / n))
                    point, in_batch = batch.at(point.w), min(self.batch_size, n) * (weight / n)
                else:
                    batch, in_batch = curator, weight
                strength = in_batch * curator.penalty.alpha
                steps = alpha_max * np.arange(self.m + 1) / self.m
                g = batch.measure(Gradient(self.C_grad), rho_ng, of=point)
                tries = 0
                while True:
                    direction = unit(loss.without_common_part(g.value) + strength * point.w)  # E1, E6
                    direction = _into_the_set(curator, point.w, direction, alpha_max)  # E11
                    line = batch.along(point, direction)
                    penalties = _penalties(point.w, direction, steps, strength)
                    i = self.choose(batch, line, steps, rho_nmax, penalties)
                    tries += 1
                    if i > 0:
                        break
                    g, rho_ng = self.again(batch, point, g, rho_ng)
                point = batch.move(line, steps[i])
                path.append(point.w)
                trace.append(Step(len(trace) + 1, float(steps[i]), g.rho, tries * rho_nmax, g.sigma))
                if len(trace) % self.tau == 0:
                    longest = max(step.step for step in trace[-self.tau :])
                    alpha_max = self._capped((1 + self.eta) * longest)
        except BudgetExceeded:
            return Solution(curator.regulariser.nearest(self.answer(path)), tuple(trace))

    def _capped(self, alpha_max: float) -> float:
        return alpha_max if self.alpha_cap is None else min(alpha_max, self.alpha_cap)  # E10

    def _counts(self, curator: Curator) -> tuple[float, float]:
        """Return the number of records and the sum of their weights, declared or bought (E6).

        Batches need the first, and a regulariser the second; what is not needed is 0. Without weights both
        are the same number.
        """
        n = None if self.batch_size is None else number_of_records(curator)
        weight = 0.0
        if curator.penalty.alpha > 0.0:
            weight = total_weight(curator, curator.remaining, n)
        return 0.0 if n is None else n, weight


@register
@dataclass(frozen=True, kw_only=True)
class DPAGD(LineSearchDescent):
    """Noisy gradient descent that buys a better gradient whenever the line search rejects the last one.

    Use it to reproduce the paper, not for accuracy: its line search spends nearly all of the privacy budget.

    Parameters
    ----------
    splits : float
        The first gradient and the first choice of a step size get epsilon / (2 splits) each.
    C_obj : float
        Clipping threshold of a record's loss.
    selection : {"laplace", "exponential", "gumbel"}
        Noise of the private argmin; "laplace" is the paper's.
    conversion : {"classic", "tight"}
        How (epsilon, delta) becomes a zCDP budget; "classic" is the paper's.
    C_grad, gamma, m, alpha_max, tau, eta, alpha_cap, batch_size
        As in `LineSearchDescent`.
    """

    name: ClassVar[str] = "dpagd"
    requires: ClassVar[tuple[Requirement, ...]] = (POSITIVE_DELTA, NUMBERS_WITHOUT_ALPHA)

    splits: float = 60.0
    C_obj: float = 3.0
    selection: Selection = "laplace"
    conversion: Conversion = "classic"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "splits", "C_obj")
        check_choice(self, "selection", get_args(Selection))
        check_choice(self, "conversion", get_args(Conversion))

    def promise(
        self, *, epsilon: float | None = None, rho: float | None = None, delta: float
    ) -> Concentrated:
        """Convert as the paper does, or tightly."""
        return Concentrated.of(epsilon=epsilon, rho=rho, delta=delta, conversion=self.conversion)

    def shares(self, curator: Curator) -> tuple[float, float]:
        """Return the paper's shares: the costs of eps-DP selection and of the classic Gaussian mechanism."""
        eps_nmax = eps_ng = curator.epsilon / (2 * self.splits)
        return eps_ng**2 / (4 * math.log(1.25 / curator.delta)), pure_cost(eps_nmax)

    def choose(self, curator: Curator, line: SealedLine, steps: Vector, rho: float, penalties: Vector) -> int:
        """Compare sums of losses, each clipped to C_obj."""
        scores = LossesAlong(steps, self.C_obj)
        return curator.choose(scores, rho, of=line, shape=self.selection, penalties=penalties)[0]


def unit(v: Vector) -> Vector:
    """Return the vector divided by its norm; zero stays zero."""
    norm = float(np.linalg.norm(v))
    return v / norm if norm > 0.0 else v


def _into_the_set(curator: Curator, w: Vector, direction: Vector, longest: float) -> Vector:
    """Return a direction whose steps, up to the longest, stay in the constraint set.

    It leads to the projection of the longest step's end. The set is convex and holds w, so it also holds all
    points in between. Without a set the direction does not change.
    """
    end = w - longest * direction
    allowed = curator.regulariser.nearest(end)
    return direction if allowed is end else (w - allowed) / longest


def _penalties(w: Vector, direction: Vector, steps: Vector, strength: float) -> Vector:
    """Return strength/2 ||w - step * direction||^2 for every step."""
    points = w.ravel() - steps[:, None] * direction.ravel()
    penalties: Vector = strength / 2 * np.einsum("ij,ij->i", points, points)
    return penalties
