"""The authors' SGD-Adv and SGD-MA: batches of a fixed size, drawn without replacement."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln, logsumexp

from privfit.engine.exact.grids import FloatArray
from privfit.engine.problem import Problem
from privfit.experiments.authors.program import Given, Program

ORDER = 32  # the largest order of the authors' accountant and, because a minimum is misplaced, its only one


@dataclass(frozen=True, kw_only=True)
class AuthorsSGDAdv(Program):
    """`dpsgd_adv`: private, with sensitivity 2 C for a replaced record of a batch."""

    private: ClassVar[bool] = True

    clip: float = 3.0
    step: float = 0.1
    regulariser: float = 0.001

    def learn(self, given: Given) -> tuple[FloatArray, int]:
        """Take n epsilon / 500 steps, with the noise of advanced composition and amplification."""
        problem, epsilon, delta, rng = given.problem, given.epsilon, given.delta, given.rng
        steps = max(round(problem.n_records * epsilon / 500), 1)
        share = epsilon / (2 * math.sqrt(2 * steps * math.log(2 / delta)))
        share /= 2 * batch_size(problem.n_records) / problem.n_records
        sigma = 2 * self.clip / share * math.sqrt(2 * math.log(1.25 * 2 * steps / delta))

        def move(w: FloatArray, gradient: FloatArray) -> FloatArray:
            return w - self.step * (gradient + self.regulariser * w)

        return _walk(problem, steps, self.clip, sigma, move, rng), steps


@dataclass(frozen=True, kw_only=True)
class AuthorsSGDMA(Program):
    """`dpsgd_ma`. NOT PRIVATE: a batch that is drawn without replacement is priced as a Poisson sample.

    If a record is added to the table, it may replace a record of such a batch, which moves a sum of clipped
    gradients by 2 C. The accountant assumes C. The script runs certain numbers of steps and computes their
    epsilon. Here the largest of these numbers that epsilon allows is run. Below 0.58 it allows none.
    """

    clip: float = 4.0
    step: float = 0.05
    noise_multiplier: float = 4.0
    lengths: tuple[int, ...] = (1, 100, 1000, 10_000, 20_000)

    def learn(self, given: Given) -> tuple[FloatArray, int]:
        """Take the most steps of the script's list that the authors' accountant allows."""
        problem, epsilon, delta, rng = given.problem, given.epsilon, given.delta, given.rng
        q = batch_size(problem.n_records) / problem.n_records
        allowed = [t for t in self.lengths if authors_epsilon(q, self.noise_multiplier, t, delta) <= epsilon]
        steps = max(allowed, default=0)
        regulariser = (
            0.0 if given.loss.name == "logistic" else 0.001
        )  # only the script for the SVM passes this argument

        def move(w: FloatArray, gradient: FloatArray) -> FloatArray:
            return w - self.step * (gradient + regulariser * w)

        return _walk(problem, steps, self.clip, self.noise_multiplier * self.clip, move, rng), steps


def authors_epsilon(q: float, noise_multiplier: float, steps: int, delta: float) -> float:
    """Return the epsilon of the authors' moments accountant, from the moment of order 32 alone."""
    k = np.arange(ORDER + 2)
    binomial = gammaln(ORDER + 2) - gammaln(k + 1) - gammaln(ORDER + 2 - k)
    powers = k * math.log(q) + (ORDER + 1 - k) * math.log1p(-q)
    log_moment = float(logsumexp(binomial + powers + k * (k - 1) / (2 * noise_multiplier**2)))
    return (steps * log_moment - math.log(delta)) / ORDER


def batch_size(n: int) -> int:
    """Return the size of the authors' batches."""
    return int(math.sqrt(n) + 10)


def _walk(
    problem: Problem,
    steps: int,
    clip: float,
    sigma: float,
    move: Callable[[FloatArray, FloatArray], FloatArray],
    rng: np.random.Generator,
) -> FloatArray:
    n, size = problem.n_records, batch_size(problem.n_records)
    w = np.zeros(problem.n_weights)
    for _ in range(steps):
        batch = problem.subset(rng.choice(n, size, replace=False))
        noisy = batch.gradient_at(w, clip) + sigma * rng.standard_normal(len(w))
        w = move(w, noisy / size)
    return w
