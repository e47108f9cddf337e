"""Finished cells as curves: means and standard errors over folds and repetitions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from privfit.experiments.authors.program import Program
from privfit.experiments.cells import ALGORITHMS, Cell, Experiment
from privfit.experiments.fit import Outcome, solver_of
from privfit.experiments.results import Results
from privfit.solvers import Solver

Fold = tuple[int, int]  # a repetition and one of its folds
Metric = Literal["accuracy", "objective"]
METRICS: tuple[Metric, ...] = ("accuracy", "objective")
NO_STEP = "No step: the budget bought none, so the model is zero; figures mark that on the edge of a panel."
# Defaults that are no value on the axis, by algorithm and parameter.
RULES = {
    "T of output-perturbation": "OutPert's default T keeps the noise on a weight at 0.1, and is at most "
    "2000.",
    "step of output-perturbation": "OutPert's default step is the longest that its proof allows, here 0.294.",
    "T of sgd-adv": "SGD-Adv's default T is n ε / 500.",
}
# What the claim of an experiment compares it with: the algorithms of another one, without the parameter.
_COMPARED_WITH = {"ablation-step": ("ablations", ("dpagd", "dpagd-capped"))}
_MAY_NOT_STEP = ("sgd-ma", "sgd-pld", "authors-sgd-ma-NOT-PRIVATE")  # others step, or have no steps to count


@dataclass(frozen=True)
class Estimate:
    """A mean over fits and its standard error, which is NaN for a single fit.

    `no_step` says that the budget of none of them bought a step: they are the zeros they began with.
    """

    mean: float
    error: float
    fits: int
    no_step: bool = False


Line = str | tuple[str, float]  # an algorithm or, where a parameter is varied, an algorithm at an epsilon
Curve = dict[
    float, Estimate
]  # by epsilon or by the parameter's value; a reference has one point, at infinity


def curves(
    experiment: Experiment, rows: Mapping[Cell, Outcome], task: tuple[str, str], metric: Metric
) -> dict[Line, Curve]:
    """Return the curves of one panel, in the order of the experiment."""
    fits: defaultdict[tuple[Line, float], list[Outcome]] = defaultdict(list)
    for cell, outcome in rows.items():
        if (cell.dataset, cell.loss) == task:
            place: tuple[Line, float] = (
                (cell.algorithm, cell.epsilon)
                if cell.value is None
                else ((cell.algorithm, cell.epsilon), cell.value)
            )
            fits[place].append(outcome)
    lines: Iterable[Line] = (
        product(experiment.algorithms, experiment.epsilons) if experiment.parameter else experiment.algorithms
    )
    found = {
        line: {
            x: _estimate(line, fits[line, x], metric) for x in sorted(x for name, x in fits if name == line)
        }
        for line in lines
    }
    return {line: curve for line, curve in found.items() if curve}


def paired(
    rows: Mapping[Cell, Outcome],
    task: tuple[str, str],
    metric: Metric,
    epsilon: float,
    first: str,
    second: str,
) -> Estimate | None:
    """Return the mean of first minus second over the folds that both were fitted to, if there are any.

    Folds are paired, because they differ more from each other than algorithms do.
    """
    fits: dict[str, dict[Fold, float]] = {first: {}, second: {}}
    for cell, outcome in rows.items():
        if (cell.dataset, cell.loss) == task and cell.epsilon == epsilon and cell.algorithm in fits:
            fits[cell.algorithm][cell.repetition, cell.fold] = getattr(outcome, metric)
    return difference(fits[first], fits[second])


def difference(a: Mapping[Fold, float], b: Mapping[Fold, float]) -> Estimate | None:
    """Return the mean of one minus the other over the folds of both, which are the same in all files."""
    shared = sorted(a.keys() & b.keys())
    return _summary([a[fold] - b[fold] for fold in shared]) if shared else None


def label(line: Line) -> str:
    """Name a curve for people."""
    if isinstance(line, str):
        return ALGORITHMS[line]
    algorithm, epsilon = line
    return f"{ALGORITHMS[algorithm]}, ε = {epsilon:g}"


def read_references(experiment: Experiment, out: Path, seed: int) -> dict[Cell, Outcome]:
    """Return the rows of another experiment that this one's are compared with, at the same epsilons."""
    name, algorithms = _COMPARED_WITH.get(experiment.name, ("", ()))
    return {
        cell: outcome
        for cell, outcome in (Results(out / f"{name}.csv", seed).finished() if name else {}).items()
        if cell.algorithm in algorithms and cell.epsilon in experiment.epsilons
    }


def references(rows: Mapping[Cell, Outcome], task: tuple[str, str], metric: Metric) -> dict[Line, Curve]:
    """Return lines that do not depend on the parameter of an experiment, in the order of the rows."""
    fits: defaultdict[Line, list[Outcome]] = defaultdict(list)
    for cell, outcome in rows.items():
        if (cell.dataset, cell.loss) == task:
            fits[cell.algorithm, cell.epsilon].append(outcome)
    return {line: {math.inf: _estimate(line, fits[line], metric)} for line in sorted(fits)}


def defaults(experiment: Experiment) -> dict[str, float | None]:
    """Return what each algorithm does by itself with the parameter that is varied; None is a rule."""
    if experiment.parameter is None:
        return {}
    return {
        algorithm: getattr(_untouched(experiment, algorithm), experiment.parameter, None)
        for algorithm in experiment.algorithms
    }


def notes(experiment: Experiment, rows: Mapping[Cell, Outcome]) -> list[str]:
    """Say what a reader of the curves has to know, in whole sentences."""
    found = [
        curve for task in experiment.tasks for curve in curves(experiment, rows, task, "accuracy").values()
    ]
    said = [NO_STEP] if any(point.no_step for curve in found for point in curve.values()) else []
    if "dpagd-fixed-step" in experiment.algorithms:
        solver: Any = _untouched(experiment, "dpagd-fixed-step")
        other = f"alpha = {solver.alpha:g}" if experiment.parameter == "T" else f"T = {solver.T}"
        said.append(f"Steps of one length: {other}.")
    return said + [
        RULES[f"{experiment.parameter} of {algorithm}"]
        for algorithm, value in defaults(experiment).items()
        if value is None
    ]


def _untouched(experiment: Experiment, algorithm: str) -> Solver | Program:
    """Return an algorithm with the parameter as it is by default."""
    return solver_of(Cell(experiment.name, *experiment.tasks[0], algorithm, 1.0, None, 0, 0))


def no_step(algorithm: str, fits: Collection[Outcome]) -> bool:
    """Say whether the budget of none of these fits bought a step."""
    return algorithm in _MAY_NOT_STEP and all(outcome.steps == 0 for outcome in fits)


def _estimate(line: Line, fits: Collection[Outcome], metric: Metric) -> Estimate:
    algorithm = line if isinstance(line, str) else line[0]
    return replace(_summary([getattr(outcome, metric) for outcome in fits]), no_step=no_step(algorithm, fits))


def _summary(values: list[float]) -> Estimate:
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    return Estimate(float(np.mean(values)), float(error), len(values))
