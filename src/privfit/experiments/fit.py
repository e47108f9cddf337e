"""One cell: load, split, fit, measure. Runs in a worker process, which keeps the last table and fold."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.utils import Bunch

from privfit.curator import Curator
from privfit.datasets import load
from privfit.datasets.catalogue import Name
from privfit.estimators import DPLinearSVC, DPLogisticRegression
from privfit.experiments.cells import EXPERIMENTS, FAULTY, FOLDS, Cell, fold_rows
from privfit.experiments.faulty import FaultyDPAGD
from privfit.leaks import PrivacyLeakWarning
from privfit.solvers import DPAGD, SGDMA, BudgetWarning, PrivGene, Solution, Solver, get_solver

BATCH = 40_000  # the paper's mini-batch for KDDCup99
AUTHORS_CAP = 2.0  # of alpha_max in the authors' code (E10)


class Outcome(NamedTuple):
    """What a fit reached.

    Accuracy is on the fold held out. The objective is the mean loss on the training records, neither clipped
    nor regularised.
    """

    accuracy: float
    objective: float
    seconds: float
    steps: int
    records: int


def fit_cell(cell: Cell, seed: int) -> Outcome:
    """Fit one cell with noise that depends on the seed and the cell alone."""
    train, test = _fold(cell.dataset, cell.repetition, cell.fold, seed)
    model = (DPLogisticRegression if cell.loss == "logistic" else DPLinearSVC)(
        cell.epsilon if math.isfinite(cell.epsilon) else 1.0,  # a reference does not use it
        cell.delta,
        solver=solver_of(cell),
        classes=(0, 1),
        n_records=len(train[1]),
        feature_bounds=(0.0, 1.0),
        noise="seeded",
        random_state=cell.rng(seed),
    )
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BudgetWarning)  # the figures show what too small a budget does
        model.fit(*train)
    seconds = time.perf_counter() - started
    margins = np.where(train[1] == 1, 1.0, -1.0) * model.decision_function(train[0])
    losses = np.logaddexp(0.0, -margins) if cell.loss == "logistic" else np.maximum(1.0 - margins, 0.0)
    return Outcome(model.score(*test), float(losses.mean()), seconds, model.n_iter_, len(train[1]))


@dataclass(frozen=True, kw_only=True)
class SampledPrivGene(PrivGene):
    """PrivGene on one random subset of the records; no amplification is claimed (Q5)."""

    batch_size: float = BATCH

    def solve(self, curator: Curator) -> Solution:
        """Draw the subset, then search as ever."""
        assert curator.n_records is not None  # the experiments declare it
        return super().solve(curator.sample(min(1.0, self.batch_size / curator.n_records)))


def solver_of(cell: Cell) -> Solver:
    """Return the cell's algorithm with the settings of its experiment."""
    experiment, large = EXPERIMENTS[cell.experiment], cell.dataset == "kddcup99"
    if cell.algorithm == "privgene":
        breeding = FOLDS * cell.repetition + cell.fold  # public, and another one for each fit
        return SampledPrivGene(seed=breeding) if large else PrivGene(seed=breeding)
    if cell.algorithm in ("dpagd", "dpagd-capped", FAULTY):
        settings: dict[str, Any] = {"batch_size": BATCH if large else None}
        if cell.algorithm == "dpagd-capped":
            settings["alpha_cap"] = AUTHORS_CAP
        if experiment.parameter is not None:
            settings[experiment.parameter] = cell.value
        return (FaultyDPAGD if cell.algorithm == FAULTY else DPAGD)(**settings)
    if cell.algorithm in ("sgd-ma", "sgd-pld"):  # E9
        return SGDMA(accountant="rdp" if cell.algorithm == "sgd-ma" else "pld")
    return get_solver(cell.algorithm)


def table(dataset: str) -> Bunch:
    """Load the paper's matrix; its bounds are public by declaration, so they are no leak here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return load(cast(Name, dataset), encoding="paper")


_table = lru_cache(maxsize=1)(table)


@lru_cache(maxsize=1)
def _fold(dataset: str, repetition: int, fold: int, seed: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    table = _table(dataset)
    X, y = table.data, (table.target == table.classes[1]).astype(int)
    train, test = fold_rows(len(y), dataset, repetition, fold, seed)
    return (X[train], y[train]), (X[test], y[test])
