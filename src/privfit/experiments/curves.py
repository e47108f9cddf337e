"""Finished cells as curves: means and standard errors over folds and repetitions."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from privfit.experiments.authors.program import Program
from privfit.experiments.designs import ALGORITHMS, DATASETS, FOLDS, MODELS, Cell, Experiment
from privfit.experiments.fit import Outcome, solver_of
from privfit.experiments.results import Results
from privfit.solvers import Solver

Fold = tuple[int, int]  # a repetition and one of its folds
Metric = Literal["accuracy", "objective"]
METRICS: tuple[Metric, ...] = ("accuracy", "objective")
NO_STEP = "No step: the budget bought none, so the model is zero; its mark is hollow and on no curve."
AT_THE_EDGE = "At the edge of a panel such a mark stands for a value beyond it."
ARROWS = "Arrows: the value is beyond the edge of the panel."
NO_MAJORITY = "Where there is no line of Majority, it is beyond the edge of the panel."
FULL_KDDCUP99 = 1_000_000  # records, which only the full file has
# Defaults that are rules instead of values on the axis, by algorithm and parameter.
RULES = {
    "T of output-perturbation": "OutPert's default T keeps the noise on a weight at 0.1, and is at most "
    "2000.",
    "T of sgd-adv": "SGD-Adv's default T is n ε / 500.",
    "T of sgd-ma-fixed": "SGD-MA's default T is what its accountant allows, at most 10,000.",
    "step of outpert-fixed": "OutPert's default step is the longest that its proof allows, here 0.294.",
    "radius of dpagd": "By default the weights are in no ball.",
}
# The algorithms of another experiment, without the parameter, with which a claim compares an experiment.
_COMPARED_WITH = {"ablation-step": ("ablations", ("dpagd", "dpagd-capped"))}
# all others take steps, or have no steps to count
_MAY_NOT_STEP = ("sgd-ma", "sgd-pld", "authors-sgd-ma-NOT-PRIVATE")


@dataclass(frozen=True)
class Estimate:
    """A mean over fits and its standard error, which is NaN for a single fit.

    `no_step` says that no budget was enough for a step, so all weights are still zero.
    """

    mean: float
    error: float
    fits: int
    no_step: bool = False


Line = str | tuple[str, float]  # an algorithm or, if a parameter is varied, an algorithm at an epsilon
Curve = dict[
    float, Estimate
]  # by epsilon or by the parameter's value; references have one point, at infinity


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
    """Return the name of a curve for a legend."""
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
    """Return the default of the varied parameter for each algorithm; None stands for a rule."""
    if experiment.parameter is None:
        return {}
    return {
        algorithm: None
        if f"{experiment.parameter} of {algorithm}" in RULES
        else getattr(_untouched(experiment, algorithm), experiment.parameter)
        for algorithm in experiment.algorithms
    }


def notes(experiment: Experiment, rows: Mapping[Cell, Outcome]) -> list[str]:
    """Return sentences that a reader of the curves needs."""
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


def terms(experiment: Experiment, rows: Mapping[Cell, Outcome]) -> list[str]:
    """Return sentences that explain a figure: the number of fits, the meaning of bars, the file."""
    bars = "the black lines" if experiment.waterfall else "bars"
    said = [f"Means over {repetitions(rows)}; {bars} are one standard error over all fits, either way."]
    records = max((row.records for cell, row in rows.items() if cell.dataset == "kddcup99"), default=None)
    if records is not None and records < FULL_KDDCUP99:
        said.append(f"KDDCup99 is the official 10% file, {records:,} training records.")
    if experiment.waterfall:  # its panels are named by data set and epsilon
        said.insert(0, f"{MODELS[experiment.tasks[0][1]].capitalize()}.")
    if experiment.tuned_lambda:
        said.append("Lambda was tuned on the data without privacy, as in the paper.")
    return said


def repetitions(rows: Iterable[Cell]) -> str:
    """Return how often each table was divided into folds, and the algorithms for which this differs."""
    settings = Counter(cell._replace(repetition=0, fold=0) for cell in rows)
    return how_often((cell.algorithm, cell.dataset, folds) for cell, folds in settings.items())


def how_often(settings: Iterable[tuple[str, str, int]]) -> str:
    """Return the number of folds in words: first that of most settings, and then the exceptions.

    A setting is an algorithm on a table, at an epsilon and a value of the parameter. It is given by its two
    names and its number of folds. If settings of an algorithm on a table differ, the smallest and the largest
    number are given: 5 x 5-fold (1 x 5 on Adult, 1 to 3 folds on BANK: PrivGene).
    """
    settings = list(settings)
    numbers = Counter(folds for *_, folds in settings)
    usual = max(numbers, key=lambda folds: (numbers[folds], folds))
    counts: dict[str, dict[str, list[int]]] = {}
    for algorithm, dataset, folds in settings:
        counts.setdefault(algorithm, {}).setdefault(dataset, []).append(folds)
    tables = {dataset: None for of_algorithm in counts.values() for dataset in of_algorithm}
    unusual: dict[str, list[str]] = {}
    for algorithm, of_algorithm in counts.items():
        said: dict[str, list[str]] = {}
        for dataset in tables:
            some = of_algorithm.get(dataset, [0])
            if set(some) != {usual}:
                said.setdefault(_from_to(min(some), max(some)), []).append(DATASETS[dataset])
        if len(said) == 1 and sum(map(len, said.values())) == len(tables):  # the same on every table
            unusual.setdefault(next(iter(said)), []).append(ALGORITHMS[algorithm])
        elif said:
            where = ", ".join(f"{folds} on {' and '.join(names)}" for folds, names in said.items())
            unusual.setdefault(where, []).append(ALGORITHMS[algorithm])
    others = "; ".join(f"{where}: {', '.join(names)}" for where, names in unusual.items())
    whole = f"{_times(usual)}-fold" if usual % FOLDS == 0 else _times(usual)
    return whole + (f" ({others})" if others else "")


def _from_to(fewest: int, most: int) -> str:
    return _times(most) if fewest == most else f"{fewest} to {most} folds"


def _times(folds: int) -> str:
    """Return the number of repetitions in words; for an unfinished repetition, the number of folds."""
    if not folds:
        return "none"
    repeats, more = divmod(folds, FOLDS)
    parts = [f"{repeats} x {FOLDS}"] if repeats else []
    return " and ".join(parts + ([f"{more} fold{'s' * (more > 1)}"] if more else []))


def _untouched(experiment: Experiment, algorithm: str) -> Solver | Program:
    """Return an algorithm with the default of the parameter."""
    return solver_of(Cell(experiment.name, *experiment.tasks[0], algorithm, 1.0, None, 0, 0))


def no_step(algorithm: str, fits: Collection[Outcome]) -> bool:
    """Return whether none of these fits had enough budget for a step."""
    return algorithm in _MAY_NOT_STEP and all(outcome.steps == 0 for outcome in fits)


def _estimate(line: Line, fits: Collection[Outcome], metric: Metric) -> Estimate:
    algorithm = line if isinstance(line, str) else line[0]
    return replace(_summary([getattr(outcome, metric) for outcome in fits]), no_step=no_step(algorithm, fits))


def _summary(values: list[float]) -> Estimate:
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    return Estimate(float(np.mean(values)), float(error), len(values))
