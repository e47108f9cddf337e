"""Finished cells as curves: means and standard errors over folds and repetitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from privfit.experiments.cells import ALGORITHMS, Cell, Experiment
from privfit.experiments.fit import Outcome

Metric = Literal["accuracy", "objective"]
METRICS: tuple[Metric, ...] = ("accuracy", "objective")


@dataclass(frozen=True)
class Estimate:
    """A mean over fits and its standard error, which is NaN for a single fit."""

    mean: float
    error: float
    fits: int


Line = str | tuple[str, float]  # an algorithm or, where a parameter is varied, an algorithm at an epsilon
Curve = dict[
    float, Estimate
]  # by epsilon or by the parameter's value; a reference has one point, at infinity


def curves(
    experiment: Experiment, rows: Mapping[Cell, Outcome], task: tuple[str, str], metric: Metric
) -> dict[Line, Curve]:
    """Return the curves of one panel, in the order of the experiment."""
    fits: defaultdict[tuple[Line, float], list[float]] = defaultdict(list)
    for cell, outcome in rows.items():
        if (cell.dataset, cell.loss) == task:
            place: tuple[Line, float] = (
                (cell.algorithm, cell.epsilon)
                if cell.value is None
                else ((cell.algorithm, cell.epsilon), cell.value)
            )
            fits[place].append(getattr(outcome, metric))
    lines: Iterable[Line] = (
        product(experiment.algorithms, experiment.epsilons) if experiment.parameter else experiment.algorithms
    )
    found = {
        line: {x: _estimate(fits[line, x]) for x in sorted(x for name, x in fits if name == line)}
        for line in lines
    }
    return {line: curve for line, curve in found.items() if curve}


def label(line: Line) -> str:
    """Name a curve for people."""
    if isinstance(line, str):
        return ALGORITHMS[line]
    algorithm, epsilon = line
    return f"{ALGORITHMS[algorithm]}, ε = {epsilon:g}"


def _estimate(values: list[float]) -> Estimate:
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    return Estimate(float(np.mean(values)), float(error), len(values))
