"""Parts of the documents that are made from the rows: blocks between two comments, filled by a command."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from privfit.experiments.cells import (
    DATASETS,
    EPSILONS,
    EXPERIMENTS,
    FOLDS,
    WATERFALL,
    Experiment,
)
from privfit.experiments.claims.claim import CLAIMS, Claim
from privfit.experiments.claims.deviations import deviations_table
from privfit.experiments.claims.evidence import Evidence, NotRun, named, number, over, table
from privfit.experiments.claims.ours import HERE
from privfit.experiments.claims.parameters import figure_table
from privfit.experiments.curves import no_step

WIDTH = 99  # of a line of prose
_BLOCK = re.compile(r"<!-- begin: ([\w -]+) -->\n.*?<!-- end -->", re.DOTALL)


def fill(page: str, evidence: Evidence) -> str:
    """Make every block of a page anew."""

    def made(match: re.Match[str]) -> str:
        return f"<!-- begin: {match[1]} -->\n{block(match[1], evidence)}\n<!-- end -->"

    return _BLOCK.sub(made, page)


def without_blocks(page: str) -> str:
    """Return what of a page somebody wrote."""
    return _BLOCK.sub("", page)


def block(name: str, evidence: Evidence) -> str:
    """Make one block: one of those below, what is behind a claim or a parameter's figure, or means."""
    kind, _, key = name.partition(" ")
    if kind == "claim":
        return wrapped(verdict_and_evidence(CLAIMS[key], evidence))
    if kind in ("means", "changes"):
        experiment, metric = key.split()
        try:
            return (means if kind == "means" else changes)(evidence, experiment, metric)
        except NotRun as missing:
            return f"Not run yet: {missing}."
    if kind == "parameter":
        tables = (figure_table(evidence, key, metric) for metric in ("accuracy", "objective"))
        return "\n\n".join(tables)
    return wrapped(BLOCKS[name](evidence))


def verdict_and_evidence(claim: Claim, evidence: Evidence) -> str:
    """Write what the rows say of a claim."""
    finding = claim.decide(evidence)
    return f"**{finding.verdict.capitalize()}** if that means: {claim.holds_if}.\n\n{finding.evidence}"


def verdicts(evidence: Evidence) -> str:
    """List the verdicts on the paper's claims, and on ours."""
    lines = (
        [f"[{key}](claims.md#{key})", claim.where, claim.says, f"**{claim.decide(evidence).verdict}**"]
        for key, claim in CLAIMS.items()
    )
    return table(["claim", "where", "restated", "verdict"], *sorted(lines, key=lambda line: line[1] == HERE))


def runs(evidence: Evidence) -> str:
    """List what was run."""
    lines = [line for name, one in EXPERIMENTS.items() if (line := _run(name, one, evidence)) is not None]
    head = ["file", "what", "tables (training records)", "repetitions", "fits", "not run"]
    return table(head, *lines)


def _run(name: str, experiment: Experiment, evidence: Evidence) -> list[str] | None:
    settings = {setting: fits for setting, fits in evidence.rows.items() if setting[0] == name}
    if not settings:
        return None
    records: dict[str, int] = {}
    repetitions: dict[str, int] = {}
    for (_, dataset, _, algorithm, _, _), fits in settings.items():
        records[dataset] = max(outcome.records for outcome in fits.values())
        repetitions[algorithm] = max(repetitions.get(algorithm, 0), 1 + max(fold[0] for fold in fits))
    most = max(repetitions.values())
    fewer = [f"{named(a)} {count}" for a, count in repetitions.items() if count < most]
    datasets = dict.fromkeys(dataset for dataset, _ in experiment.tasks)
    return [
        f"[{name}.csv](../results/{name}.csv)",
        experiment.title,
        ", ".join(f"{DATASETS[name]} ({records[name]:,})" for name in datasets if name in records),
        f"{most} x {FOLDS}-fold" + (f" ({', '.join(fewer)})" if fewer else ""),
        f"{sum(map(len, settings.values())):,}",
        "; ".join(_not_run(experiment, {setting[1:] for setting in settings})),
    ]


def _not_run(
    experiment: Experiment, present: set[tuple[str, str, str, float, float | None]]
) -> Iterator[str]:
    """Name the data sets, algorithms and epsilons of which nothing was run, and count what else is not."""
    missing = [cell[1:6] for cell in experiment.cells(1) if cell.fold == 0 and cell[1:6] not in present]
    kinds: tuple[tuple[int, Callable[[Any], str]], ...] = (
        (0, DATASETS.__getitem__),
        (2, named),
        (3, lambda epsilon: f"{epsilon:g}"),
    )
    for place, text in kinds:
        found = {setting[place] for setting in present}
        whole = dict.fromkeys(setting[place] for setting in missing if setting[place] not in found)
        missing = [setting for setting in missing if setting[place] not in whole]
        if whole:
            yield ("ε " if place == 3 else "") + ", ".join(map(text, whole))
    for algorithm, count in Counter(setting[2] for setting in missing).items():
        yield f"settings of {named(algorithm)}: {count}"


def means(evidence: Evidence, experiment: str, metric: str) -> str:
    """Compare the algorithms of an experiment at all epsilons of which there are rows."""
    one, settings = EXPERIMENTS[experiment], _settings(evidence, experiment)
    lines = [
        [
            WATERFALL[algorithm] if one.waterfall and algorithm in WATERFALL else named(algorithm),
            *(
                number(evidence.mean(metric, experiment, task, algorithm, epsilon))
                + _idle(evidence, experiment, task, algorithm, epsilon)
                for task, epsilon in settings
            ),
        ]
        for algorithm in one.algorithms
    ]
    return table(["", *(f"{DATASETS[task[0]]} {epsilon:g}" for task, epsilon in settings)], *lines)


def _idle(evidence: Evidence, experiment: str, task: tuple[str, str], algorithm: str, epsilon: float) -> str:
    fits = evidence.fits(experiment, task, algorithm, epsilon)
    return " (no step)" if no_step(algorithm, fits.values()) else ""


def changes(evidence: Evidence, experiment: str, metric: str) -> str:
    """Say what each stage of a waterfall changes of the one before, with standard errors."""
    settings, lines = _settings(evidence, experiment), []
    for before, after in pairwise(WATERFALL):
        gaps = [
            evidence.gap(metric, experiment, task, (after, epsilon, None), (before, epsilon, None))
            for task, epsilon in settings
        ]
        lines.append([WATERFALL[after], *(f"{number(gap.mean)} ± {number(gap.error)}" for gap in gaps)])
    return table(["", *(f"{DATASETS[task[0]]} {epsilon:g}" for task, epsilon in settings)], *lines)


def _settings(evidence: Evidence, experiment: str) -> list[tuple[tuple[str, str], float]]:
    found = {setting[4] for setting in evidence.rows if setting[0] == experiment}
    epsilons = [epsilon for epsilon in EXPERIMENTS[experiment].epsilons if epsilon in found]
    return [(task, epsilon) for task in evidence.tasks(experiment) for epsilon in epsilons]


def solvers_on_adult(evidence: Evidence) -> str:
    """Compare every algorithm on Adult."""
    parts = []
    for experiment, loss in (("logistic", "logistic"), ("svm", "hinge")):
        for metric in ("accuracy", "objective"):
            lines = []
            for algorithm in EXPERIMENTS[experiment].algorithms:
                if evidence.has(experiment, ("adult", loss), algorithm) and "NOT" not in algorithm:
                    means = (
                        f"{evidence.mean(metric, experiment, ('adult', loss), algorithm, epsilon):.4f}"
                        + _idle(evidence, experiment, ("adult", loss), algorithm, epsilon)
                        for epsilon in EPSILONS  # at each of which a reference is the same
                    )
                    lines.append([f"`{algorithm}`", *means])
            if not lines:
                raise NotRun(f"{experiment}.csv")
            parts.append(f"**{loss}, {metric}**\n\n" + table(["", *over(EPSILONS, str)], *lines))
    return "\n\n".join(parts)


BLOCKS: dict[str, Callable[[Evidence], str]] = {
    "verdicts": verdicts,
    "runs": runs,
    "deviations": deviations_table,
    "every solver on adult": solvers_on_adult,
}


def wrapped(text: str) -> str:
    """Break lines of prose; tables and lists stay as they are."""
    return "\n\n".join(
        part
        if part.startswith(("|", "- "))
        else textwrap.fill(part, WIDTH, break_long_words=False, break_on_hyphens=False)
        for part in text.split("\n\n")
    )
