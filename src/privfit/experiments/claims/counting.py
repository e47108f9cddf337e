"""Queries of what the rows count: steps, choices of step 0, directions of descent, budget, time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median
from typing import Any

from privfit.experiments.claims.claim import Finding, counted, graded
from privfit.experiments.claims.evidence import (
    Evidence,
    NotRun,
    Task,
    named,
    number,
    over,
    over_epsilons,
    table,
    task_name,
)
from privfit.experiments.claims.labelled import labelled
from privfit.experiments.designs import EPSILONS, EXPERIMENTS

FULL_FILE = 4_898_431  # records of KDDCup99
AN_HOUR = 3600.0
WORDS = {"stalled": "choices after the last move"}  # columns whose names say too little


@dataclass(frozen=True, kw_only=True)
class Share:
    """Judge the ratio of two sums of counts, over the fits of a panel and an epsilon that have them.

    `above` and `below` are columns of the rows, less those with a minus; "steps of sgd-pld" is that of
    another algorithm. At each epsilon the ratio is less than the limit, or at least the limit; at the
    smallest it is 0 ("none at the smallest"); or it is below the limit at the smallest and never falls
    ("rising"). `shown` are further ratios of the same fits. If a panel has no counts yet, there is a verdict
    where that panel could not turn it.
    """

    experiments: tuple[str, ...]
    algorithm: str
    above: tuple[str, ...]
    below: tuple[str, ...]
    rule: str
    what: str
    limit: float = 0.0
    shown: tuple[tuple[str, str, str], ...] = ()  # a name, and the columns of a ratio

    def __call__(self, evidence: Evidence) -> Finding:
        """Count."""
        lines: list[list[str]] = []
        cases: list[bool] = []
        settings: list[tuple[Any, ...]] = []
        missing: dict[str, NotRun] = {}
        for experiment in self.experiments:
            for task in evidence.tasks(experiment):
                try:
                    ratios = self._ratios(evidence, experiment, task, self.above, self.below)
                except NotRun as reason:
                    missing[task_name(task)] = reason
                    continue
                cases += self._judge(ratios)
                settings += [(experiment, task, self.algorithm, epsilon) for epsilon in EPSILONS]
                lines.append([self.what, task_name(task), *over(ratios, lambda x: number(x, 2))])
                for name, above, below in self.shown:
                    extra = self._ratios(evidence, experiment, task, (above,), (below,))
                    lines.append([name, task_name(task), *over(extra, lambda x: number(x, 2))])
        column = self.below[0].partition(" of ")[0]
        shown = labelled("", ["{}:", "{}"], over_epsilons(), *_by_name(lines))
        text = _how_many(evidence, column, settings) + shown
        if not missing:
            return counted(cases, "Cases", text)
        unknown = len(missing) * len(self._judge([math.nan] * len(EPSILONS)))
        verdicts = {graded(sum(cases) + more, len(cases) + unknown) for more in (0, unknown)}
        if not cases or len(verdicts) > 1:
            raise next(iter(missing.values()))
        return Finding(
            verdicts.pop(),
            f"Cases: {sum(cases)} of {len(cases)}; whatever the {unknown} of {', '.join(missing)} will be, "
            f"the verdict stays.\n\n{text}",
        )

    def _ratios(
        self,
        evidence: Evidence,
        experiment: str,
        task: Task,
        above: tuple[str, ...],
        below: tuple[str, ...],
    ) -> list[float]:
        def total(terms: tuple[str, ...], epsilon: float) -> float:
            found = 0.0
            for term in terms:
                column, _, algorithm = term.removeprefix("-").partition(" of ")
                sign = -1.0 if term.startswith("-") else 1.0
                of = algorithm or self.algorithm
                found += sign * evidence.total(column, experiment, task, of, epsilon)
            return found

        sums = [(total(above, epsilon), total(below, epsilon)) for epsilon in EPSILONS]
        return [a / b if b else math.nan for a, b in sums]

    def _judge(self, ratios: list[float]) -> list[bool]:
        if self.rule == "less than":
            return [ratio < self.limit for ratio in ratios]
        if self.rule == "at least":
            return [ratio >= self.limit for ratio in ratios]
        if self.rule == "none at the smallest":
            return [not ratios[0] > 0.0]
        assert self.rule == "rising"
        return [ratios[0] < self.limit and all(a <= b for a, b in pairwise(ratios))]


@dataclass(frozen=True, kw_only=True)
class ShareOverGrid:
    """Judge whether the mean of a column falls from each value of a parameter to the next."""

    figure: str
    algorithm: str
    column: str

    def __call__(self, evidence: Evidence) -> Finding:
        """Follow the column over the grid."""
        experiment, lines, cases = EXPERIMENTS[self.figure], [], list[bool]()
        (task,) = evidence.tasks(self.figure)
        for epsilon in experiment.epsilons:
            means = []
            for value in experiment.values:
                setting = (self.figure, task, self.algorithm, epsilon, value)
                means.append(mean(evidence.counted(self.column, *setting)))
            cases += [b < a for a, b in pairwise(means)]
            lines.append([f"{epsilon:g}", *over(means, lambda x: number(x, 2))])
        settings = [
            (self.figure, task, self.algorithm, epsilon, value)
            for epsilon in experiment.epsilons
            for value in experiment.values
        ]
        values = [f"{experiment.parameter} {value:g}" for value in experiment.values]
        text = _how_many(evidence, self.column, settings) + table(["ε", *values], *lines)
        return counted(cases, "Falls from one value to the next", text)


@dataclass(frozen=True, kw_only=True)
class Collapse:
    """Judge whether algorithms get worse from one epsilon to a larger one, and what they did there.

    A case is an algorithm. It holds if the mean objective rises and the median of `column` at the larger
    epsilon is less than half of that at the smaller ("halved"), or more than half of the median of `of` at
    the larger epsilon ("most").
    """

    experiment: str
    task: Task
    algorithms: tuple[str, ...]
    epsilons: tuple[float, float]
    rule: str
    column: str
    of: str

    def __call__(self, evidence: Evidence) -> Finding:
        """Compare the two epsilons."""
        lines, cases = [], list[bool]()
        found = [name for name in self.algorithms if evidence.has(self.experiment, self.task, name)]
        for name in found:
            objectives, medians, others = [], [], []
            for epsilon in self.epsilons:
                setting = (self.experiment, self.task, name, epsilon)
                objectives.append(evidence.mean("objective", *setting))
                medians.append(median(evidence.counted(self.column, *setting)))
                others.append(median(evidence.counted(self.of, *setting)))
            half = medians[1] < medians[0] / 2 if self.rule == "halved" else medians[1] > others[1] / 2
            cases.append(objectives[1] > objectives[0] and half)
            shown = {self.column: medians, self.of: others}  # once, if the two are the same
            counts = (f"{count:g}" for pair in shown.values() for count in pair)
            lines.append([named(name), *over(objectives, number), *counts])
        if not cases:
            raise NotRun(f"{self.experiment}.csv")
        settings = [
            (self.experiment, self.task, name, epsilon) for name in found for epsilon in self.epsilons
        ]
        first, second = (f"ε {epsilon:g}" for epsilon in self.epsilons)
        head = ["", f"objective, {first}", second]
        head += [
            text
            for column in dict.fromkeys((self.column, self.of))
            for text in (f"median of {WORDS.get(column, column)}, {first}", second)
        ]
        text = _how_many(evidence, self.column, settings) + table(head, *lines)
        return Finding(graded(sum(cases), len(cases)), text)


def _by_name(lines: list[list[str]]) -> list[list[str]]:
    """Put the lines with one name together, in the order in which names come first."""
    names = list(dict.fromkeys(line[0] for line in lines))
    return sorted(lines, key=lambda line: names.index(line[0]))


def _how_many(evidence: Evidence, column: str, settings: Iterable[tuple[Any, ...]]) -> str:
    """Say of how many fits a count is known, if not of all."""
    settings = list(settings)
    known = sum(len(evidence.counted(column, *setting)) for setting in settings)
    fits = sum(len(evidence.fits(*setting)) for setting in settings)
    return "" if known == fits else f"Counted in {known} of {fits} fits.\n\n"


def time_on_the_full_file(evidence: Evidence) -> Finding:
    """Judge whether fits without batches would take more than an hour of one core on all of KDDCup99.

    A case is one of the two algorithms for one of the losses.
    """
    lines, cases = [], list[bool]()
    for task in evidence.tasks("kddcup99-time"):
        for name in EXPERIMENTS["kddcup99-time"].algorithms:
            fits = evidence.fits("kddcup99-time", task, name, 1.6).values()
            seconds = median(fit.seconds for fit in fits)
            full = seconds * FULL_FILE * 0.8 / max(fit.records for fit in fits)
            cases.append(full > AN_HOUR)
            lines.append([task_name(task), named(name), f"{seconds:.1f}", f"{full / 60:.1f}"])
    head = ["median fit, ε 1.6", "", "seconds here", "minutes on the full file"]
    text = table(head, *lines) + (
        "\n\nSeconds are CPU time of one thread, which other programs on the machine lengthen a little. The "
        "last column is the time here times the ratio of training records."
    )
    return counted(cases, "Cases", text)
