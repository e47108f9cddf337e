"""One cell: load, split, fit and measure. A worker process runs this, and keeps the last table and fold."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.sparse import vstack
from sklearn.utils import Bunch

from privfit.curator import Curator
from privfit.datasets import load
from privfit.datasets.catalogue import Name
from privfit.datasets.kddcup99 import subset_at_hand
from privfit.estimators import DPLinearSVC, DPLogisticRegression
from privfit.experiments.ablations import VARIANTS
from privfit.experiments.authors.program import Program, ProgramModel
from privfit.experiments.authors.programs import PROGRAMS
from privfit.experiments.designs import ALL_RECORDS, EXPERIMENTS, FAULTY, FOLDS, Cell, fold_rows
from privfit.experiments.faulty import FaultyDPAGD
from privfit.experiments.watch import Watch, watched
from privfit.leaks import PrivacyLeakWarning
from privfit.penalties import Ball
from privfit.solvers import DPAGD, SGDMA, BudgetWarning, PrivGene, Solution, Solver, get_solver
from privfit.solvers.dpagd import LineSearchDescent

LAMBDAS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
BATCH = 40_000  # the paper's mini-batch for KDDCup99


class Outcome(NamedTuple):
    """The results of a fit, and the version of the algorithm.

    Accuracy is on the held-out fold. The objective is the mean loss on the training records, neither clipped
    nor regularised. `alpha` is the regulariser, if the experiment tunes one. The counts of the selection are
    those of `watch.Counts`. They are None if an algorithm has no such selection, or if an earlier version
    made the row. `fingerprint` is that of the algorithm (`experiments.fingerprints`), and empty in rows of
    earlier versions.
    """

    accuracy: float
    objective: float
    seconds: float
    steps: int
    records: int
    alpha: float | None = None
    choices: int | None = None
    rejected: int | None = None
    stalled: int | None = None
    descents: int | None = None
    rejected_descents: int | None = None
    selection_share: float | None = None
    fingerprint: str = ""


def fit_cell(cell: Cell, seed: int, records: int | None = None) -> Outcome:
    """Fit one cell with noise that depends on the seed and the cell alone; with `records`, on the first ones.

    Seconds are processor time, because on a shared machine the wall-clock time depends on other programs.
    """
    tuned = EXPERIMENTS[cell.experiment].tuned_lambda
    alpha = tuned_lambda(cell.dataset, cell.loss, seed, records) if tuned else None
    train, test = _fold(cell.dataset, cell.repetition, cell.fold, seed, records)
    solver: Any = solver_of(cell)
    watch = Watch()
    if isinstance(solver, LineSearchDescent):
        solver, watch = watched(solver)
    model: Any = estimator_of(cell, solver, len(train[1]), cell.rng(seed))
    if alpha is not None:
        model.set_params(alpha=alpha)
    seen = _together(train, test) if isinstance(solver, Program) and solver.sees_the_test_fold else train
    started = time.process_time()
    with warnings.catch_warnings():
        # the figures show the effect of a budget that is too small
        warnings.simplefilter("ignore", BudgetWarning)
        model.fit(*seen)
    seconds = time.process_time() - started - watch.seconds
    objective = mean_loss(model, *train, cell.loss)
    outcome = Outcome(model.score(*test), objective, seconds, model.n_iter_, len(train[1]), alpha)
    if isinstance(solver, LineSearchDescent):
        return outcome._replace(**watch.counts()._asdict())
    return outcome


def mean_loss(model: Any, X: Any, y: Any, loss: str) -> float:
    """Return the mean loss of a fitted model, neither clipped nor regularised."""
    margins = np.where(y == 1, 1.0, -1.0) * model.decision_function(X)
    losses = np.logaddexp(0.0, -margins) if loss == "logistic" else np.maximum(1.0 - margins, 0.0)
    return float(losses.mean())


def estimator_of(
    cell: Cell, solver: Solver | Program, n_records: int, rng: np.random.Generator
) -> DPLogisticRegression | DPLinearSVC | ProgramModel:
    """Return the cell's model before it is fitted, with the facts that the paper declares public."""
    if isinstance(solver, Program):
        return ProgramModel(solver, cell.loss, epsilon=cell.epsilon, delta=cell.delta, rng=rng)
    return (DPLogisticRegression if cell.loss == "logistic" else DPLinearSVC)(
        cell.epsilon if math.isfinite(cell.epsilon) else 1.0,  # references ignore it
        cell.delta,
        solver=solver,
        classes=(0, 1),
        n_records=n_records,
        feature_bounds=(0.0, 1.0),
        noise="seeded",
        random_state=rng,
        **_settings_of(cell),
    )


# Parameters of experiments that are settings of the estimator, not of the solver, with their settings.
ESTIMATOR_SETTINGS: dict[str, Callable[[float], dict[str, Any]]] = {
    "radius": lambda value: {"constraint": Ball(value)},
}


def _settings_of(cell: Cell) -> dict[str, Any]:
    parameter = EXPERIMENTS[cell.experiment].parameter
    setting = ESTIMATOR_SETTINGS.get(parameter or "")
    return {} if setting is None or cell.value is None else setting(cell.value)


@lru_cache(maxsize=8)
def tuned_lambda(dataset: str, loss: str, seed: int, records: int | None = None) -> float:
    """Return the lambda that cross-validation of L-BFGS finds. NOT PRIVATE, as in the paper.

    The paper tunes a separate lambda for SGD, and says neither how nor which. Here all algorithms have the
    same one.
    """
    right: dict[float, float] = dict.fromkeys(LAMBDAS, 0.0)
    cell = Cell("regularised", dataset, loss, "nonprivate", math.inf, None, 0, 0)
    for fold in range(FOLDS if records is None else 1):
        train, test = _fold(dataset, 0, fold, seed, records)
        for value in LAMBDAS:
            model: Any = estimator_of(cell, solver_of(cell), len(train[1]), cell.rng(seed))
            right[value] += model.set_params(alpha=value).fit(*train).score(*test)
    return max(right, key=right.__getitem__)


@dataclass(frozen=True, kw_only=True)
class SampledPrivGene(PrivGene):
    """PrivGene on one random subset of the records; no amplification is claimed (Q5)."""

    batch_size: float = BATCH

    def solve(self, curator: Curator) -> Solution:
        """Draw the subset, and then search as usual."""
        assert curator.n_records is not None  # because the experiments declare it
        return super().solve(curator.sample(min(1.0, self.batch_size / curator.n_records)))


def solver_of(cell: Cell) -> Solver | Program:
    """Return the cell's algorithm with the settings of its experiment."""
    if cell.algorithm in PROGRAMS:
        return PROGRAMS[cell.algorithm]
    large = cell.dataset == "kddcup99" and cell.algorithm not in ALL_RECORDS
    if cell.algorithm.startswith("privgene"):
        breeding = FOLDS * cell.repetition + cell.fold  # public, and different for each fit
        solver: Any = SampledPrivGene(seed=breeding) if large else PrivGene(seed=breeding)
    else:
        solver = _SOLVERS.get(cell.algorithm) or get_solver(cell.algorithm)
    if large and isinstance(solver, DPAGD):
        solver = replace(solver, batch_size=BATCH)
    parameter = EXPERIMENTS[cell.experiment].parameter
    if parameter is None or parameter in ESTIMATOR_SETTINGS or cell.value is None:
        return cast(Solver, solver)
    if parameter == "T":  # a whole number, which has another name in SGD
        return cast(Solver, replace(solver, **{"T" if hasattr(solver, "T") else "steps": int(cell.value)}))
    return cast(Solver, replace(solver, **{parameter: cell.value}))


_SOLVERS: dict[str, Solver] = {
    FAULTY: FaultyDPAGD(),
    "sgd-ma": SGDMA(accountant="rdp"),  # E9
    "sgd-pld": SGDMA(accountant="pld"),
    **VARIANTS,
}


def table(dataset: str) -> Bunch:
    """Load the paper's matrix; its bounds are declared public, so there is no warning about a leak."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        if dataset == "kddcup99":
            return load("kddcup99", encoding="paper", subset=subset_at_hand())
        return load(cast(Name, dataset), encoding="paper")


_table = lru_cache(maxsize=1)(table)


@lru_cache(maxsize=1)
def _fold(
    dataset: str, repetition: int, fold: int, seed: int, records: int | None
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    table = _table(dataset)
    X, y = table.data[:records], (table.target[:records] == table.classes[1]).astype(int)
    train, test = fold_rows(len(y), dataset, repetition, fold, seed)
    return (X[train], y[train]), (X[test], y[test])


def _together(train: tuple[Any, Any], test: tuple[Any, Any]) -> tuple[Any, Any]:
    return vstack([train[0], test[0]]), np.concatenate([train[1], test[1]])
