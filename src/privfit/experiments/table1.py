"""Table 1: how the objective falls although the noise drowns the gradient. A diagnostic WITHOUT PRIVACY."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from privfit.accounting import Ledger
from privfit.accounting.relation import ONE_RECORD
from privfit.curator import Curator, Measurement, SealedPoint
from privfit.datasets import load
from privfit.engine.problem import Problem
from privfit.experiments.cells import stream
from privfit.losses import get_loss
from privfit.mechanisms.noise import noise_source
from privfit.questions.question import Question
from privfit.solvers import DPAGD

# The paper does not say with what budget Table 1 was made. Its noise, 0.50119 per record, is exactly that of
# DP-AGD's first gradients for epsilon 1 and delta 1e-8 on all 48,842 records with 124 weights.
EPSILON, DELTA = 1.0, 1e-8


class Iteration(NamedTuple):
    """What one iteration hides and what it releases, per record."""

    t: int
    gradient_norm: float
    noisy_gradient_norm: float
    expected_noise_norm: float
    objective: float


HEADER = (
    "t",
    "gradient_norm_NOT_PRIVATE",
    "noisy_gradient_norm",
    "expected_noise_norm",
    "objective_NOT_PRIVATE",
)


class _Watched(Curator):
    """A curator that writes down beside each answer what the answer hides. NOT PRIVATE."""

    def __init__(self, problem: Problem, **settings: Any) -> None:
        super().__init__(problem, **settings)
        self.seen: list[Iteration] = []

    def measure(self, question: Question, rho: float, *, of: SealedPoint | None = None) -> Measurement:
        noisy = super().measure(question, rho, of=of)
        if of is None:
            return noisy
        exact, n = self.open_without_privacy().at(of.w), self.open_without_privacy().n_records
        gradient = float(np.linalg.norm(exact.gradient_sum())) / n
        self.seen.append(Iteration(len(self.seen), gradient, *self._blur(noisy), exact.loss_sum() / n))
        return noisy

    def refine(self, measurement: Measurement, rho: float) -> Measurement:
        noisy = super().refine(measurement, rho)
        norm, noise = self._blur(noisy)
        self.seen[-1] = self.seen[-1]._replace(noisy_gradient_norm=norm, expected_noise_norm=noise)
        return noisy

    def _blur(self, noisy: Measurement) -> tuple[float, float]:
        n = self.open_without_privacy().n_records
        return float(np.linalg.norm(noisy.value)) / n, noisy.sigma * len(noisy.value) ** 0.5 / n


def table1(seed: int) -> list[Iteration]:
    """Run DP-AGD on Adult once and watch it."""
    adult = load("adult", encoding="paper")
    signs = np.where(adult.target == adult.classes[1], 1.0, -1.0)
    solver = DPAGD()
    curator = _Watched(
        Problem.of(adult.data, signs, get_loss("logistic")),
        ledger=Ledger.keeping(solver.promise(epsilon=EPSILON, delta=DELTA)),
        noise=noise_source(stream(seed, "table1")),
        epsilon=EPSILON,
        delta=DELTA,
        relation=ONE_RECORD,
    )
    solver.solve(curator)
    return curator.seen


def write_table1(iterations: list[Iteration], out: Path) -> None:
    """Write every iteration as CSV."""
    with (out / "table1.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(iterations)


def read_table1(out: Path) -> list[Iteration]:
    """Read them back."""
    with (out / "table1.csv").open(newline="") as file:
        return [Iteration(int(t), *map(float, numbers)) for t, *numbers in list(csv.reader(file))[1:]]
