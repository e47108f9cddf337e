"""Table 1: how the objective falls although the noise drowns the gradient. A diagnostic WITHOUT PRIVACY."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from privfit.accounting import BudgetExceeded, Ledger
from privfit.accounting.relation import ONE_RECORD
from privfit.curator import Curator, Measurement, SealedPoint
from privfit.datasets import load
from privfit.engine.problem import Problem
from privfit.experiments.designs import stream
from privfit.losses import get_loss
from privfit.mechanisms.noise import noise_source
from privfit.questions.question import Question
from privfit.solvers import DPAGD

# The paper does not state the budget of Table 1. Its noise, 0.50119 per record, is exactly the noise of
# DP-AGD's first gradients for epsilon 1 and delta 1e-8, on all 48,842 records with 124 weights.
EPSILON, DELTA = 1.0, 1e-8
# The paper's table shows one run with eleven rows. Here there are a hundred runs, some of them to their end.
DRAWS, WHOLE_DRAWS, SHOWN = 100, 10, 11


class Iteration(NamedTuple):
    """The exact and the released numbers of one iteration, per record."""

    t: int
    gradient_norm: float
    noisy_gradient_norm: float
    expected_noise_norm: float
    objective: float


Draws = list[list[Iteration]]

HEADER = (
    "draw",
    "t",
    "gradient_norm_NOT_PRIVATE",
    "noisy_gradient_norm",
    "expected_noise_norm",
    "objective_NOT_PRIVATE",
)


class _Watched(Curator):
    """A curator that also records the exact value of each answer. NOT PRIVATE."""

    def __init__(self, problem: Problem, most: int | None, **settings: Any) -> None:
        super().__init__(problem, **settings)
        self.most = most
        self.seen: list[Iteration] = []

    def measure(self, question: Question, rho: float, *, of: SealedPoint | None = None) -> Measurement:
        if of is not None and len(self.seen) == self.most:
            raise BudgetExceeded(rho, 0.0, 0.0)  # this ends the run
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


@cache
def _adult() -> Problem:
    adult = load("adult", encoding="paper")
    signs = np.where(adult.target == adult.classes[1], 1.0, -1.0)
    return Problem.of(adult.data, signs, get_loss("logistic"))


def table1(seed: int, draw: int = 0, most: int | None = None) -> list[Iteration]:
    """Run DP-AGD on Adult and record its iterations, to its end or up to `most` iterations."""
    solver = DPAGD()
    curator = _Watched(
        _adult(),
        most,
        ledger=Ledger.keeping(solver.promise(epsilon=EPSILON, delta=DELTA)),
        noise=noise_source(stream(seed, "table1", *([draw] if draw else []))),
        epsilon=EPSILON,
        delta=DELTA,
        relation=ONE_RECORD,
    )
    solver.solve(curator)
    return curator.seen


def run_draws(seed: int, draws: int = DRAWS) -> Draws:
    """Run it `draws` times: the first ones to their end, the others for the rows of the paper's table."""
    return [table1(seed, draw, None if draw < WHOLE_DRAWS else SHOWN) for draw in range(draws)]


def write_table1(draws: Draws, out: Path) -> None:
    """Write every iteration as CSV."""
    with (out / "table1.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows((number, *row) for number, draw in enumerate(draws) for row in draw)


def read_table1(out: Path) -> Draws:
    """Read the draws; a file of an earlier version has only one."""
    draws: dict[int, list[Iteration]] = {}
    with (out / "table1.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            numbers = (float(row[name]) for name in HEADER[2:])
            draws.setdefault(int(row.get("draw") or 0), []).append(Iteration(int(row["t"]), *numbers))
    return list(draws.values())
