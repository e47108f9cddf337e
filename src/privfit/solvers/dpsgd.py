"""Stochastic gradient descent on Poisson samples with Gaussian noise, with two kinds of accounting.

Both are baselines of the DP-AGD paper, without the errors of its authors' code. Batches are true Poisson
samples, because the theorems are about these, and the accountants are correct (E9). The mean gradient is the
noisy sum divided by the expected size of a sample, because the true size is not public.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, get_args

import numpy as np

from privfit.accounting import Direct
from privfit.accounting.subsampled import (
    MAX_NOISE,
    MIN_NOISE,
    Accountant,
    advanced_noise,
    least_noise,
    most_steps,
    sgd_epsilon,
)
from privfit.accounting.zcdp import NOISE_MARGIN
from privfit.curator import Curator
from privfit.questions import GradientAt
from privfit.questions.question import asked
from privfit.remedies import remedy
from privfit.solvers.base import BudgetWarning, Solution, Step, register
from privfit.solvers.kit import check_choice, check_positive, check_whole
from privfit.solvers.release import Release, open_release
from privfit.solvers.requirements import (
    LABELS_NOT_NUMBERS,
    ONE_RECORD_EACH,
    PLAIN,
    POSITIVE_DELTA,
    SAMPLES_OF_RECORDS,
    Requirement,
)


@dataclass(frozen=True)
class Plan:
    """The number of steps, the noise of each in units of the sensitivity, and the sampling probability."""

    steps: int
    noise_multiplier: float
    probability: float


@dataclass(frozen=True, kw_only=True)
class PoissonSGD(ABC):
    """The descent. Subclasses define its accounting.

    Parameters
    ----------
    clip : float
        Clipping threshold of a record's gradient norm.
    step : float
        Step size.
    batch_size : float, optional
        Expected size of a sample; by default the square root of the number of records.
    max_steps : int
        The largest number of steps. With fewer steps, each of them has less noise.
    """

    name: ClassVar[str]
    claim: ClassVar[str]  # the claim in docs/privacy.md that proves its price
    private: ClassVar[bool] = True
    requires: ClassVar[tuple[Requirement, ...]] = (
        *PLAIN,
        ONE_RECORD_EACH,
        SAMPLES_OF_RECORDS,
        POSITIVE_DELTA,
        LABELS_NOT_NUMBERS,
    )
    promise = staticmethod(Direct.of)

    clip: float = 4.0
    step: float = 0.2
    batch_size: float | None = None
    max_steps: int = 10_000

    def __post_init__(self) -> None:
        check_positive(self, "clip", "step", "batch_size")
        check_whole(self, "max_steps")

    def probability(self, n: float) -> float:
        """Return the probability with which a record is in a sample."""
        return min(1.0, (math.sqrt(n) if self.batch_size is None else self.batch_size) / n)

    @abstractmethod
    def plan(self, n: float, epsilon: float, delta: float) -> Plan:
        """Return a plan whose steps are (epsilon, delta)-DP together."""

    def solve(self, curator: Curator) -> Solution:
        """Charge for all steps that the budget buys, open the data once, and take the steps."""
        n = curator.n_records
        if n is not None and self.plan(n, curator.epsilon, curator.delta).steps == 0:
            return Solution(np.zeros(curator.n_weights))  # this is known before anything is charged
        release = open_release(curator, why=f"{self.name}, noisy sums over Poisson samples", claim=self.claim)
        return self.walk(curator, release, self.plan(release.n, release.epsilon, release.delta))

    def walk(self, curator: Curator, release: Release, plan: Plan) -> Solution:
        """Take the steps. The sensitivity of each sum is its bound (Q1)."""
        problem, noise = release.problem, release.noise
        w = np.zeros(problem.n_weights)
        bound = asked(GradientAt(w, self.clip), problem).sensitivity
        sigma = plan.noise_multiplier * bound * NOISE_MARGIN
        expected = plan.probability * release.n
        step = min(self.step, curator.regulariser.longest_step)
        for _ in range(plan.steps):
            sample = problem.sampled(lambda count: noise.poisson_rows(count, plan.probability))
            g = noise.gaussian(asked(GradientAt(w, self.clip), sample).look(), sigma)
            w = w - step * (g / expected + curator.regulariser.gradient(w))
        # all steps have one price together
        trace = tuple(Step(t + 1, step, 0.0, 0.0, sigma) for t in range(plan.steps))
        note = (
            f"{plan.steps} steps on samples of {expected:.0f} records on average, with noise of "
            f"{plan.noise_multiplier:.3g} times the clipping threshold"
        )
        return Solution(w, trace, (note,))


@register
@dataclass(frozen=True, kw_only=True)
class SGDMA(PoissonSGD):
    """DP-SGD as Abadi et al. (2016) run it: fixed noise, and as many steps as a sharp accountant allows.

    Use it to compare with what most libraries do. Full-batch solvers are more accurate on tables, because
    small samples pay off only if a pass over the data is expensive.

    Parameters
    ----------
    noise_multiplier : float
        Noise of a step in units of the clipping threshold, as in the paper. If the budget pays for
        `max_steps` with less noise, less is added.
    accountant : {"pld", "rdp"}
        "pld" composes the privacy loss distribution. "rdp" is the paper's moments accountant, which allows a
        tenth fewer steps at a large epsilon, and none at small epsilons at which "pld" allows dozens.
    clip, step, batch_size, max_steps
        As in `PoissonSGD`.
    """

    name: ClassVar[str] = "sgd-ma"
    claim: ClassVar[str] = "G1"

    noise_multiplier: float = 4.0
    accountant: Accountant = "pld"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not MIN_NOISE <= self.noise_multiplier <= MAX_NOISE:
            limits = f"between {MIN_NOISE:g} and {MAX_NOISE:g}"
            raise ValueError(f"noise_multiplier must lie {limits}, got {self.noise_multiplier!r}.")
        check_choice(self, "accountant", get_args(Accountant))

    def plan(self, n: float, epsilon: float, delta: float) -> Plan:
        """Return as many steps as fit at the noise asked for, or `max_steps` at the noise they need."""
        q, noise = self.probability(n), self.noise_multiplier
        steps = most_steps(noise, q, epsilon, delta, self.accountant, limit=self.max_steps)
        if steps == self.max_steps:
            noise = min(noise, least_noise(q, steps, epsilon, delta, self.accountant))
        if steps == 0:
            needed = sgd_epsilon(noise, q, 1, delta, self.accountant)
            warnings.warn(
                f"The privacy budget bought no step, so the model is zero: one step needs "
                f"epsilon = {needed:.4g} and {epsilon:.4g} was left; "
                f"{remedy('raise epsilon or noise_multiplier', 'choose a larger --epsilon')}.",
                BudgetWarning,
                stacklevel=2,
            )
        return Plan(steps, noise, q)


@register
@dataclass(frozen=True, kw_only=True)
class SGDAdv(PoissonSGD):
    """SGD priced by amplification and advanced composition, after Bassily, Smith & Thakurta (2014).

    Use it to see how much a sharp accountant gains: at an epsilon of 0.8, this one wastes nine tenths of it.

    Parameters
    ----------
    steps : int, optional
        Number of steps; by default n epsilon / 500, as in the DP-AGD authors' code, and at least 1.
    clip, step, batch_size, max_steps
        As in `PoissonSGD`.
    """

    name: ClassVar[str] = "sgd-adv"
    claim: ClassVar[str] = "G2"

    clip: float = 3.0
    step: float = 0.1
    steps: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, "steps")

    def plan(self, n: float, epsilon: float, delta: float) -> Plan:
        """Return the fixed number of steps with the noise they need."""
        steps = max(1, round(n * epsilon / 500.0)) if self.steps is None else self.steps
        steps, q = min(steps, self.max_steps), self.probability(n)
        return Plan(steps, advanced_noise(q, steps, epsilon, delta), q)
