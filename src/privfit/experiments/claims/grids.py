"""Queries about the parameter that an experiment varies: how much its value matters, and where it hurts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from privfit.experiments.claims.claim import Finding, Verdict, graded
from privfit.experiments.claims.evidence import (
    Evidence,
    NotRun,
    Task,
    clearly,
    named,
    number,
    over,
    over_epsilons,
    task_name,
)
from privfit.experiments.claims.labelled import labelled
from privfit.experiments.designs import DATASETS, EXPERIMENTS, FOLDS

METRICS = ("accuracy", "objective")
Curve = dict[float, float]


def curve(
    evidence: Evidence, figure: str, task: Task, algorithm: str, epsilon: float, metric: str = "accuracy"
) -> Curve:
    """Return the means over the parameter's values."""
    values = EXPERIMENTS[figure].values
    return {value: evidence.mean(metric, figure, task, algorithm, epsilon, value) for value in values}


def best_of(means: Curve, metric: str) -> float:
    """Return the value at which a curve is best."""
    return (max if metric == "accuracy" else min)(means, key=means.__getitem__)


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Judge how far the means over a parameter's values lie apart, in each panel, for each metric.

    At every epsilon the spread is at most the limit of its metric ("within"), or more than that ("beyond");
    or it is less at the largest epsilon than at the smallest ("smaller at the end"). With `values`, only
    those count. With `from_the_best`, the spread is how far any of them lies from the best value of the whole
    grid. Algorithms that are not `counted` are shown.

    Folds differ, so that means over different ones cannot be compared: without the same folds at every value
    and epsilon of a panel, one division of the table at least, the claim is undecided.
    """

    figures: tuple[str, ...]
    counted: tuple[str, ...]
    limits: Mapping[str, float]
    rule: str
    values: tuple[float, ...] = ()
    from_the_best: bool = False

    def __call__(self, evidence: Evidence) -> Finding:
        """Measure the spreads."""
        lines: list[list[str]] = []
        cases: dict[str, list[bool]] = {metric: [] for metric in self.limits}
        uneven: dict[str, None] = {}
        for metric, limit in self.limits.items():
            for figure in self.figures:
                experiment = EXPERIMENTS[figure]
                for task, algorithm in product(evidence.tasks(figure), experiment.algorithms):
                    if not evidence.has(figure, task, algorithm):
                        if algorithm in self.counted:
                            raise NotRun(f"{algorithm} in {figure}.csv")
                        continue
                    spreads = [
                        self._spread(curve(evidence, figure, task, algorithm, epsilon, metric), metric)
                        for epsilon in experiment.epsilons
                    ]
                    what = [metric, str(experiment.parameter), task_name(task), named(algorithm)]
                    lines.append([*what, *over(spreads, number)])
                    if algorithm in self.counted:
                        cases[metric] += self._judge(spreads, limit)
                        if not _on_the_same_folds(evidence, figure, task, algorithm):
                            uneven[f"{named(algorithm)} on {DATASETS[task[0]]}"] = None
        labels = ["of {}", "over {},", "{},", "{}"]
        head = over_epsilons(EXPERIMENTS[self.figures[0]].epsilons)
        finding = by_metric(cases, labelled("spread of means", labels, head, *lines), self.figures[0])
        if not uneven:
            return finding
        why = f"Not fitted on the same folds, {FOLDS} or more, at every value: {', '.join(uneven)}."
        return Finding(Verdict.UNDECIDED, f"{why}\n\n{finding.evidence}")

    def _judge(self, spreads: list[float], limit: float) -> list[bool]:
        if self.rule == "smaller at the end":
            return [spreads[-1] < spreads[0]]
        assert self.rule in ("within", "beyond")
        return [(spread <= limit) == (self.rule == "within") for spread in spreads]

    def _spread(self, means: Curve, metric: str) -> float:
        some = [mean for value, mean in means.items() if not self.values or value in self.values]
        if self.from_the_best:
            best = means[best_of(means, metric)]
            return max(abs(mean - best) for mean in some)
        return max(some) - min(some)


def _on_the_same_folds(evidence: Evidence, figure: str, task: Task, algorithm: str) -> bool:
    """Say whether all settings of a panel have the same folds, and those of a whole division."""
    experiment = EXPERIMENTS[figure]
    settings = product(experiment.epsilons, experiment.values)
    folds = {frozenset(evidence.fits(figure, task, algorithm, *setting)) for setting in settings}
    return len(folds) == 1 and len(folds.pop()) >= FOLDS


@dataclass(frozen=True, kw_only=True)
class Ends:
    """Judge whether the smallest and the largest value of the grid are worse than one in between.

    That one is `reference` or, without it, the best of those in between. What `can` be so need be so at one
    epsilon only; what is so, at each.
    """

    figure: str
    epsilons: tuple[float, ...]
    can: bool
    reference: float | None = None
    algorithms: tuple[str, ...] = ("dpagd", "dpagd-capped")  # the first decides

    def __call__(self, evidence: Evidence) -> Finding:
        """Compare the ends."""
        (task,) = evidence.tasks(self.figure)
        low, *between, high = EXPERIMENTS[self.figure].values
        lines: list[list[str]] = []
        cases: dict[str, list[bool]] = {}
        for metric, algorithm in product(METRICS, self.algorithms):
            if not evidence.has(self.figure, task, algorithm):
                continue
            worse: dict[float, list[bool]] = {low: [], high: []}
            for epsilon in self.epsilons:
                means = curve(evidence, self.figure, task, algorithm, epsilon, metric)
                middle = {value: means[value] for value in between}
                reference = best_of(middle, metric) if self.reference is None else self.reference
                words = []
                for end in (low, high):
                    pair = ((algorithm, epsilon, end), (algorithm, epsilon, reference))
                    gap = evidence.gap(metric, self.figure, task, *pair)
                    sign = clearly(gap) if metric == "accuracy" else -clearly(gap)
                    worse[end].append(sign < 0)
                    words.append(f"{number(means[end])} ({('worse', 'as good', 'better')[sign + 1]})")
                there = f"{number(means[reference])} (at {reference:g})"
                lines.append([metric, named(algorithm), f"{epsilon:g}", *words, there])
            if algorithm == self.algorithms[0]:
                each = [case for end in worse.values() for case in end]
                cases[metric] = [any(end) for end in worse.values()] if self.can else each
        head = [f"at {low:g}", f"at {high:g}", "compared with"]
        text = labelled("", ["{},", "{},", "ε {}"], head, *lines)
        return by_metric(cases, text, self.figure)


def by_metric(cases: dict[str, list[bool]], text: str, figure: str) -> Finding:
    """Grade the cases of both measures together, and count those of each."""
    every = [case for some in cases.values() for case in some]
    if not every:
        raise NotRun(f"{figure}.csv")
    counts = ", ".join(f"by {metric} {sum(some)} of {len(some)}" for metric, some in cases.items())
    return Finding(graded(sum(every), len(every)), f"Cases: {counts}.\n\n{text}")
