"""Finished cells as curves: means and standard errors over folds and repetitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from privfit.experiments.cells import ALGORITHMS, Cell, Experiment
from privfit.experiments.fit import Outcome

Metric = Literal["accuracy", "objective"]
METRICS: tuple[Metric, ...] = ("accuracy", "objective")
NO_STEP = "No step: the budget bought none, so the model is zero; figures mark that at the edge of a panel."
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


def label(line: Line) -> str:
    """Name a curve for people."""
    if isinstance(line, str):
        return ALGORITHMS[line]
    algorithm, epsilon = line
    return f"{ALGORITHMS[algorithm]}, ε = {epsilon:g}"


def notes(experiment: Experiment, rows: Mapping[Cell, Outcome]) -> list[str]:
    """Say what a reader of the curves has to know, in whole sentences."""
    found = [
        curve for task in experiment.tasks for curve in curves(experiment, rows, task, "accuracy").values()
    ]
    return [NO_STEP] if any(point.no_step for curve in found for point in curve.values()) else []


def no_step(algorithm: str, fits: Collection[Outcome]) -> bool:
    """Say whether the budget of none of these fits bought a step."""
    return algorithm in _MAY_NOT_STEP and all(outcome.steps == 0 for outcome in fits)


def _estimate(line: Line, fits: Collection[Outcome], metric: Metric) -> Estimate:
    values = [getattr(outcome, metric) for outcome in fits]
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    algorithm = line if isinstance(line, str) else line[0]
    return Estimate(float(np.mean(values)), float(error), len(values), no_step(algorithm, fits))
