"""Queries that compare algorithms, panel by panel and epsilon by epsilon, on the same folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from privfit.experiments.claims.claim import Finding, Verdict, counted, graded
from privfit.experiments.claims.evidence import (
    Evidence,
    NotRun,
    Task,
    clearly,
    named,
    number,
    over_epsilons,
    paired,
    table,
    task_name,
)
from privfit.experiments.claims.labelled import labelled, most_common
from privfit.experiments.curves import Estimate
from privfit.experiments.designs import EPSILONS, EXPERIMENTS


class Setting(NamedTuple):
    """Whose rows: an experiment, an algorithm and the value of the parameter that is varied, if one is."""

    experiment: str
    algorithm: str
    value: float | None = None


class Comparison(NamedTuple):
    """One comparison: its metric, panel and epsilon, who is judged, and against whom."""

    metric: str
    task: Task
    epsilon: float
    mine: Setting
    others: list[Setting]

    def lead(self, evidence: Evidence, other: Setting) -> Estimate:
        """Return how much better mine is, fold by fold; a smaller objective is better."""
        fits = (
            evidence.fits(s.experiment, self.task, s.algorithm, self.epsilon, s.value)
            for s in (self.mine, other)
        )
        gap = paired(self.metric, *fits)
        return gap if self.metric == "accuracy" else Estimate(-gap.mean, gap.error, gap.fits)

    def mean(self, evidence: Evidence, setting: Setting) -> float:
        """Return the mean of one of the two."""
        return evidence.mean(
            self.metric, setting.experiment, self.task, setting.algorithm, self.epsilon, setting.value
        )

    def best(self, evidence: Evidence) -> Setting:
        """Return the other one with the best mean."""
        sign = 1 if self.metric == "accuracy" else -1
        return max(self.others, key=lambda other: sign * self.mean(evidence, other))


class Pair(NamedTuple):
    """Who is judged against whom; with `elsewhere`, against every value of that experiment's parameter."""

    mine: str
    others: tuple[str, ...]
    counted: bool = True
    elsewhere: str | None = None


class Lead(NamedTuple):
    """How far one is ahead of the best of the others, and who that is if there are several."""

    gap: Estimate
    rival: str

    def text(self, usual: str) -> str:
        """Write it, with the rival's name unless it is the usual one."""
        error = f"{number(self.gap.mean)}±{number(self.gap.error)}"
        return f"{error} ({self.rival})" if self.rival != usual else error


# What may be asked of a comparison, by the words of the register.
RULES = ("ahead", "not ahead", "near", "closes half")
COUNTED: dict[str, Callable[[Task], bool]] = {
    "every panel": lambda task: True,
    "logistic regression": lambda task: task[1] == "logistic",
    "logistic regression but BANK": lambda task: task[1] == "logistic" and task[0] != "bank",
}


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Count the comparisons of some experiments for which a rule is true.

    The rules: "ahead" is clearly better than each of the others, "not ahead" clearly better than none,
    "near" has a mean at most `limit` worse than the best of them, and "closes half" is clearly ahead of the
    other by half of the other's distance to the best of `target` or more. Panels that are not `counted`, and
    pairs that are not, are shown. With `enough`, a panel is one case, which holds if the rule is true at so
    many epsilons; otherwise each epsilon of a panel is a case. With `all_rivals`, a verdict for the claim
    waits for the rows of all others; one against it stands without them. With `table_of`, the table of
    another claim has the same numbers, and none is written.
    """

    experiments: tuple[str, ...]
    pairs: tuple[Pair, ...]
    rule: str
    limit: float = 0.0
    target: tuple[str, ...] = ()
    metric: str = "accuracy"
    epsilons: tuple[float, ...] = EPSILONS
    counted: str = "every panel"
    enough: int | None = None
    all_rivals: bool = False
    table_of: str | None = None

    def __post_init__(self) -> None:
        assert self.rule in RULES

    def _holds(self, evidence: Evidence, comparison: Comparison) -> bool:
        if self.rule == "near":
            return comparison.lead(evidence, comparison.best(evidence)).mean >= -self.limit
        clear = [clearly(comparison.lead(evidence, other)) > 0 for other in comparison.others]
        if self.rule == "not ahead":
            return not any(clear)
        if self.rule == "ahead":
            return all(clear)
        (other,), experiment = comparison.others, comparison.mine.experiment
        found = [name for name in self.target if evidence.has(experiment, comparison.task, name)]
        distant = comparison._replace(mine=other, others=[Setting(experiment, name) for name in found])
        distance = -distant.lead(evidence, distant.best(evidence)).mean
        return all(clear) and 2 * comparison.lead(evidence, other).mean >= distance

    def __call__(self, evidence: Evidence) -> Finding:
        """Compare."""
        shown: list[tuple[list[str], list[Lead]]] = []
        cases: list[bool] = []
        missing: dict[str, None] = {}
        for experiment in self.experiments:
            for task in self._tasks(evidence, experiment):
                for pair in self.pairs:
                    absent, others = self._others(evidence, experiment, task, pair)
                    if not others or not evidence.has(experiment, task, pair.mine):
                        continue
                    comparisons = [
                        Comparison(self.metric, task, epsilon, Setting(experiment, pair.mine), others)
                        for epsilon in self.epsilons
                    ]
                    leads = [_lead(evidence, comparison) for comparison in comparisons]
                    rival = named(others[0].algorithm) if len(pair.others) == 1 else "the best"
                    shown.append(([task_name(task), named(pair.mine), rival], leads))
                    if pair.counted and COUNTED[self.counted](task):
                        missing |= dict.fromkeys(absent)
                        held = [self._holds(evidence, comparison) for comparison in comparisons]
                        cases += held if self.enough is None else [sum(held) >= self.enough]
        if not cases:
            raise NotRun(", ".join(f"{experiment}.csv" for experiment in self.experiments))
        if self.table_of is None:
            text = self._table(shown)
        else:
            text = f"The table of [{self.table_of}](claims.md#{self.table_of}) has the numbers."
        finding = counted(cases, "Cases" if self.enough is None else "Panels", text)
        if not missing or not self.all_rivals:
            return finding
        names = ", ".join(map(named, missing))
        if finding.verdict is not Verdict.FAILS:
            raise NotRun(f"{names} in {self.experiments[0]}.csv")
        return Finding(finding.verdict, f"{finding.evidence}\n\nWithout {names}, which was not run yet.")

    def _table(self, shown: list[tuple[list[str], list[Lead]]]) -> str:
        rivals = [lead.rival for _, leads in shown for lead in leads if lead.rival]
        usual = most_common(rivals) if rivals else ""
        title = f"lead in {self.metric}"
        if self.metric == "objective":
            title += " (the sign is turned, because less is better)"
        labels = ["{}:", "{}", "over {}" + (f" ({usual} if none is named)" if usual else "")]
        lines = ([*names, *(lead.text(usual) for lead in leads)] for names, leads in shown)
        return labelled(title, labels, over_epsilons(self.epsilons), *lines)

    def _tasks(self, evidence: Evidence, experiment: str) -> list[Task]:
        """Return the panels of an experiment; where others decide as well, one may be missing altogether."""
        try:
            return evidence.tasks(experiment)
        except NotRun:
            if self.all_rivals:
                raise
            return []

    @staticmethod
    def _others(
        evidence: Evidence, experiment: str, task: Task, pair: Pair
    ) -> tuple[list[str], list[Setting]]:
        """Return which of the others were not run, and the settings of those that were."""
        if pair.elsewhere is not None:
            values = EXPERIMENTS[pair.elsewhere].values
            return [], [Setting(pair.elsewhere, name, value) for name in pair.others for value in values]
        shown = [name for name in pair.others if name in EXPERIMENTS[experiment].algorithms]
        found = [name for name in shown if evidence.has(experiment, task, name)]
        return [name for name in shown if name not in found], [Setting(experiment, name) for name in found]


def _lead(evidence: Evidence, comparison: Comparison) -> Lead:
    best = comparison.best(evidence)
    if len(comparison.others) == 1:
        rival = ""
    else:
        rival = named(best.algorithm) if best.value is None else f"{best.value:g}"
    return Lead(comparison.lead(evidence, best), rival)


@dataclass(frozen=True, kw_only=True)
class AlongEpsilon:
    """Say how one algorithm's mean changes with epsilon in one panel.

    Without `example`, each step from one epsilon to the next is a case: does the metric fall? With an
    example, a pair of epsilons, there are two cases: it falls clearly, by more than `least`, in some step,
    and in the example.
    """

    experiment: str
    task: Task
    algorithms: tuple[str, ...]  # the first decides
    metric: str
    example: tuple[float, float] | None = None
    least: float = 0.0

    def __call__(self, evidence: Evidence) -> Finding:
        """Follow the curve."""
        mine, lines = self.algorithms[0], []
        references = ("nonprivate", "majority")
        for name in (*self.algorithms, *references):
            if evidence.has(self.experiment, self.task, name):
                means = [
                    evidence.mean(self.metric, self.experiment, self.task, name, epsilon)
                    for epsilon in EPSILONS
                ]
                lines.append([named(name), *map(number, means)])
        pairs = [*pairwise(EPSILONS), *([self.example] if self.example else [])]
        gaps = {
            (less, more): evidence.gap(
                self.metric, self.experiment, self.task, (mine, more, None), (mine, less, None)
            )
            for less, more in pairs
        }
        if self.example is None:
            held = [gap.mean < 0.0 for gap in gaps.values()]
        else:
            *steps, example = (gap.mean < -self.least and clearly(gap) < 0 for gap in gaps.values())
            held = [any(steps), example]
        changes = table(
            [f"{self.metric} of {named(mine)}", *(f"from {less:g} to {more:g}" for less, more in gaps)],
            ["changes by", *(f"{number(gap.mean)}±{number(gap.error)}" for gap in gaps.values())],
        )
        text = f"{table([f'{self.metric}', *over_epsilons()], *lines)}\n\n{changes}"
        return Finding(graded(sum(held), len(held)), text)
