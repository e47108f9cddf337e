"""DP-AGD without one of its ideas, and other variants: solvers of the experiments, all private.

They have no names, because they are not meant for models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privfit.accounting.subsampled import Accountant, least_noise
from privfit.curator import Curator, Measurement, SealedPoint
from privfit.questions import Gradient
from privfit.solvers import DPAGD, SGDMA, OutputPerturbation, PrivGene, Solution, Solver
from privfit.solvers.base import Step
from privfit.solvers.dpagd import unit
from privfit.solvers.dpsgd import Plan
from privfit.solvers.kit import check_positive, check_whole


@dataclass(frozen=True, kw_only=True)
class WithoutAveraging(DPAGD):
    """A gradient that did not help is not averaged with the next one, which is bought at its full price."""

    name: ClassVar[str] = "dpagd-no-averaging"

    def again(
        self, curator: Curator, point: SealedPoint, g: Measurement, rho_ng: float
    ) -> tuple[Measurement, float]:
        """Buy the next gradient at its full price."""
        dearer = (1 + self.gamma) * rho_ng
        return curator.measure(Gradient(self.C_grad), dearer, of=point), dearer


@dataclass(frozen=True, kw_only=True)
class FixedShares(DPAGD):
    """The shares never change: a gradient that did not help is measured again at the same price."""

    name: ClassVar[str] = "dpagd-fixed-shares"

    def again(
        self, curator: Curator, point: SealedPoint, g: Measurement, rho_ng: float
    ) -> tuple[Measurement, float]:
        """Pay the same again."""
        return curator.measure(Gradient(self.C_grad), rho_ng, of=point), rho_ng


@dataclass(frozen=True, kw_only=True)
class EqualSplit(FixedShares):
    """The budget is divided into equal parts beforehand: half of each pays for a gradient, half for a choice.

    Parameters
    ----------
    T : float
        Number of gradients and of choices, even if they lead to no move.
    """

    name: ClassVar[str] = "dpagd-equal-split"

    T: float = 60.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "T")

    def shares(self, curator: Curator) -> tuple[float, float]:
        """Return two halves of an equal part."""
        half = curator.remaining / (2 * self.T)
        return half, half


@dataclass(frozen=True, kw_only=True)
class FixedStep(DPAGD):
    """The whole budget pays for gradients, in equal parts, and every step has the same length.

    Parameters
    ----------
    alpha : float
        Length of a step.
    T : int
        Number of steps.
    """

    name: ClassVar[str] = "dpagd-fixed-step"

    alpha: float = 0.1
    T: int = 60

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "alpha")
        check_whole(self, "T")

    def solve(self, curator: Curator) -> Solution:
        """Follow the directions of noisy gradients."""
        w = np.zeros(curator.n_weights)
        trace: list[Step] = []
        for left in range(self.T, 0, -1):
            g = curator.measure(Gradient(self.C_grad), curator.remaining / left, of=curator.at(w))
            w = w - self.alpha * unit(g.value)
            trace.append(Step(len(trace) + 1, self.alpha, g.rho, 0.0, g.sigma))
        return Solution(w, tuple(trace))


@dataclass(frozen=True, kw_only=True)
class FixedLength(SGDMA):
    """SGD-MA with a number of steps fixed beforehand, and the noise that its accountant asks for.

    Parameters
    ----------
    T : int
        Number of steps.
    """

    name: ClassVar[str] = "sgd-ma-fixed"

    accountant: Accountant = "rdp"
    T: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, "T")

    def plan(self, n: float, epsilon: float, delta: float) -> Plan:
        """Return T steps with the least noise that keeps the promise."""
        q = self.probability(n)
        return Plan(self.T, least_noise(q, self.T, epsilon, delta, self.accountant), q)


AUTHORS_CAP = 2.0  # the limit of alpha_max in the authors' code (E10)
NEVER = 10**9  # more iterations than any budget buys, so that the range of steps is never adjusted

VARIANTS: dict[str, Solver] = {
    "dpagd-capped": DPAGD(alpha_cap=AUTHORS_CAP),
    "dpagd-exponential": DPAGD(selection="exponential"),
    "dpagd-tight": DPAGD(conversion="tight"),
    "dpagd-no-averaging": WithoutAveraging(),
    "dpagd-no-averaging-capped": WithoutAveraging(alpha_cap=AUTHORS_CAP),
    "dpagd-fixed-shares": FixedShares(),
    "dpagd-fixed-shares-capped": FixedShares(alpha_cap=AUTHORS_CAP),
    "dpagd-equal-split": EqualSplit(),
    "dpagd-equal-split-capped": EqualSplit(alpha_cap=AUTHORS_CAP),
    "dpagd-fixed-range": DPAGD(tau=NEVER),
    "dpagd-fixed-step": FixedStep(),
    "sgd-ma-fixed": FixedLength(),
    "outpert-fixed": OutputPerturbation(T=100),
    "dpagd-all-records": DPAGD(),
    "privgene-all-records": PrivGene(),
}
