"""Questions to the rows of a directory of results, in the words in which claims ask them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import numpy as np

from privfit.experiments.curves import Estimate, Fold, difference
from privfit.experiments.designs import ALGORITHMS, DATASETS, EPSILONS, EXPERIMENTS, MODELS, Cell
from privfit.experiments.fit import Outcome
from privfit.experiments.provenance import is_outdated
from privfit.experiments.results import Results
from privfit.experiments.table1 import Draws, read_table1

MINUS = "\N{MINUS SIGN}"
CLEAR = 3.0  # standard errors of a paired difference, from which on one of two is ahead


Task = tuple[str, str]  # a data set and a loss
Setting = tuple[str, str, str, str, float, float | None]  # a cell without its repetition and its fold


class NotRun(Exception):
    """There are no rows for what a claim asks."""


class Evidence:
    """The finished rows of a directory."""

    def __init__(self, out: Path, seed: int) -> None:
        self.out, self.seed = out, seed
        self._asked: set[Setting] = set()

    @cached_property
    def rows(self) -> dict[Setting, dict[Fold, Outcome]]:
        """All rows: those of a setting together, by repetition and fold."""
        found: dict[Setting, dict[Fold, Outcome]] = {}
        for name in EXPERIMENTS:
            for cell, outcome in Results(self.out / f"{name}.csv", self.seed).finished().items():
                found.setdefault(_setting(cell), {})[cell.repetition, cell.fold] = outcome
        return found

    @cached_property
    def outdated(self) -> dict[Setting, int] | None:
        """How many rows of each setting are outdated; None if it was not written down what is current."""
        rule = is_outdated(self.out, self.seed)
        if rule is None:
            return None
        return {
            setting: sum(rule((setting[0], setting[3]), fit.fingerprint) for fit in fits.values())
            for setting, fits in self.rows.items()
        }

    @contextmanager
    def noting(self) -> Iterator[set[Setting]]:
        """Note the settings whose rows are asked for meanwhile."""
        self._asked = set()
        yield self._asked

    @cached_property
    def table1(self) -> Draws:
        """The draws of table 1, each with its iterations."""
        if not (self.out / "table1.csv").exists():
            raise NotRun("table1.csv")
        return read_table1(self.out)

    def fits(
        self,
        experiment: str,
        task: tuple[str, str],
        algorithm: str,
        epsilon: float,
        value: float | None = None,
    ) -> dict[Fold, Outcome]:
        """Return the rows of one setting."""
        epsilon = math.inf if algorithm in ("nonprivate", "majority") else epsilon
        found = self.rows.get((experiment, *task, algorithm, epsilon, value))
        if not found:
            raise NotRun(f"{algorithm} in {experiment}.csv")
        self._asked.add((experiment, *task, algorithm, epsilon, value))
        return found

    def has(self, experiment: str, task: tuple[str, str], algorithm: str) -> bool:
        """Say whether there is any row of an algorithm."""
        return any(setting[:4] == (experiment, *task, algorithm) for setting in self.rows)

    def tasks(self, experiment: str) -> list[tuple[str, str]]:
        """Return the tasks of which there are rows, in the order of the figure."""
        present = {setting[1:3] for setting in self.rows if setting[0] == experiment}
        found = [task for task in EXPERIMENTS[experiment].tasks if task in present]
        if not found:
            raise NotRun(f"{experiment}.csv")
        return found

    def total(
        self,
        column: str,
        experiment: str,
        task: tuple[str, str],
        algorithm: str,
        epsilon: float,
        value: float | None = None,
    ) -> float:
        """Return the sum of a count over the rows that have it, which those of earlier versions lack."""
        return sum(self.counted(column, experiment, task, algorithm, epsilon, value))

    def counted(
        self,
        column: str,
        experiment: str,
        task: tuple[str, str],
        algorithm: str,
        epsilon: float,
        value: float | None = None,
    ) -> list[float]:
        """Return a count of each row that has it."""
        rows = self.fits(experiment, task, algorithm, epsilon, value).values()
        found = [float(count) for row in rows if (count := getattr(row, column)) is not None]
        if not found:
            raise NotRun(f"{algorithm} in {experiment}.csv with its counts of {column}")
        return found

    def mean(
        self,
        metric: str,
        experiment: str,
        task: tuple[str, str],
        algorithm: str,
        epsilon: float,
        value: float | None = None,
    ) -> float:
        """Return the mean over folds and repetitions."""
        fits = self.fits(experiment, task, algorithm, epsilon, value)
        return float(np.mean([getattr(outcome, metric) for outcome in fits.values()]))

    def gap(
        self,
        metric: str,
        experiment: str,
        task: tuple[str, str],
        first: tuple[str, float, float | None],
        second: tuple[str, float, float | None],
    ) -> Estimate:
        """Return the mean of first minus second over the folds that both were fitted to.

        A setting is an algorithm, an epsilon and a parameter's value. Folds are paired, because they differ
        more from each other than algorithms do.
        """
        return paired(metric, *(self.fits(experiment, task, *setting) for setting in (first, second)))


def paired(metric: str, a: dict[Fold, Outcome], b: dict[Fold, Outcome]) -> Estimate:
    """Return the mean of one minus the other over the folds of both."""
    values = ({fold: getattr(outcome, metric) for fold, outcome in fits.items()} for fits in (a, b))
    found = difference(*values)
    if found is None:
        raise NotRun("two algorithms on the same folds")
    return found


def clearly(gap: Estimate) -> int:
    """Return 1 or -1 if a difference is clear, and 0 if the fits cannot tell."""
    if gap.mean == 0.0 or not abs(gap.mean) > CLEAR * gap.error:
        return 0
    return 1 if gap.mean > 0 else -1


def number(x: float, decimals: int = 3) -> str:
    """Write a number as the documents do: without the zero before the point, and with a minus."""
    text = f"{x:.{decimals}f}"
    whole = text.lstrip("-")
    sign = MINUS if text.startswith("-") and float(whole) != 0 else ""
    return sign + (whole.removeprefix("0") if decimals else whole)


def named(algorithm: str) -> str:
    """Name an algorithm for people."""
    return ALGORITHMS[algorithm]


def task_name(task: tuple[str, str]) -> str:
    """Name a task for people."""
    return f"{DATASETS[task[0]]}, {MODELS[task[1]]}"


def table(head: Iterable[str], *lines: Iterable[str]) -> str:
    """Write a table of Markdown."""
    head = list(head)
    rows = [head, ["---"] * len(head), *map(list, lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def over(xs: Iterable[float], text: Callable[[float], str]) -> list[str]:
    """Apply a text to every value of a grid."""
    return [text(x) for x in xs]


def over_epsilons(epsilons: Iterable[float] = EPSILONS, what: str = "") -> list[str]:
    """Head the columns of a table whose columns are epsilons."""
    return over(epsilons, lambda epsilon: f"{what}ε {epsilon:g}")


def _setting(cell: Cell) -> Setting:
    return cell.experiment, cell.dataset, cell.loss, cell.algorithm, cell.epsilon, cell.value
