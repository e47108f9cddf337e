"""Parts of the documents that are made from the rows: blocks between two comments, filled by a command."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from privfit.experiments.claims.claim import Claim, Finding, Verdict
from privfit.experiments.claims.deviations import deviations_table
from privfit.experiments.claims.evidence import Evidence, NotRun, clearly, named, number, table
from privfit.experiments.claims.plan import left_to_run
from privfit.experiments.claims.register import CLAIMS
from privfit.experiments.curves import how_often, no_step
from privfit.experiments.designs import (
    DATASETS,
    EXPERIMENTS,
    WATERFALL,
    Experiment,
)
from privfit.experiments.table2 import table2_as_markdown

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
    """Make a block: one of those below, a claim, its verdict in a line, or the stages of a waterfall."""
    kind, _, key = name.partition(" ")
    if kind == "claim":
        claim = CLAIMS[key]
        return wrapped(f"*{claim.where}.* {claim.says}\n\n{verdict_and_evidence(claim, evidence)}")
    if kind == "verdict":
        return in_a_line(key, evidence)
    try:
        if kind in MADE_OF_STAGES:
            experiment, metric = key.split()
            return MADE_OF_STAGES[kind](evidence, experiment, metric)
        return wrapped(BLOCKS[name](evidence))
    except NotRun as missing:
        return f"Not run yet: {missing}."


def verdict_and_evidence(claim: Claim, evidence: Evidence) -> str:
    """Write what the rows say of a claim."""
    finding = claim.decide(evidence)
    said = f"**{finding.verdict.capitalize()}.** Rule: {claim.holds_if}."
    if finding.outdated:
        part = outdated_part(finding)
        said += f" Outdated: {finding.outdated:,} of {finding.rows:,} rows ({part})."
    return f"{said}\n\n{finding.evidence}"


def verdicts(evidence: Evidence) -> str:
    """List the claims by their verdicts."""
    found: dict[str, list[str]] = {verdict: [] for verdict in Verdict}
    for key, claim in CLAIMS.items():
        found[claim.decide(evidence).verdict].append(f"[{key}](#{key})")
    lines = [
        f"- **{verdict.capitalize()}** ({len(keys)}): {', '.join(keys)}."
        for verdict, keys in found.items()
        if keys
    ]
    return "\n".join(map(_item, lines))


def outdated_part(finding: Finding) -> str:
    """Say which part of the rows behind a verdict is outdated; nothing if none is or there are none."""
    if not finding.outdated:
        return ""
    return "all" if finding.outdated == finding.rows else f"{finding.outdated / finding.rows:.0%}"


def outdated(evidence: Evidence) -> str:
    """Say how many of all rows are outdated, and what that means."""
    counts = evidence.outdated
    if counts is None:
        return "How many rows are outdated is not known: `privfit reproduce summary` finds out."
    rows, old = sum(map(len, evidence.rows.values())), sum(counts.values())
    if not old:
        return f"All {rows:,} rows come from this version."
    return (
        f"**{old:,} of the {rows:,} rows ({old / rows:.0%}) are outdated**: they are not known to come from "
        "this version of their algorithm. Verdicts that rest on such rows say so."
    )


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
    for (_, dataset, *_), fits in settings.items():
        records[dataset] = max(records.get(dataset, 0), *(outcome.records for outcome in fits.values()))
    datasets = dict.fromkeys(dataset for dataset, _ in experiment.tasks)
    return [
        f"[{name}.csv](../results/{name}.csv)",
        experiment.title,
        ", ".join(f"{DATASETS[name]} ({records[name]:,})" for name in datasets if name in records),
        how_often((setting[3], setting[1], len(fits)) for setting, fits in settings.items()),
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
        lines.append([WATERFALL[after], *(f"{number(gap.mean)}±{number(gap.error)}" for gap in gaps)])
    return table(["", *(f"{DATASETS[task[0]]} {epsilon:g}" for task, epsilon in settings)], *lines)


def clear_changes(evidence: Evidence, experiment: str, metric: str) -> str:
    """Count in how many panels each stage of a waterfall is clearly better or worse than the one before."""
    settings, lines = _settings(evidence, experiment), []
    for before, after in pairwise(WATERFALL):
        signs = [
            clearly(evidence.gap(metric, experiment, task, (after, epsilon, None), (before, epsilon, None)))
            * (1 if metric == "accuracy" else -1)
            for task, epsilon in settings
        ]
        lines.append([WATERFALL[after], *(str(signs.count(sign)) for sign in (1, -1, 0))])
    return table([metric, "clearly better", "clearly worse", "not clear"], *lines)


MADE_OF_STAGES: dict[str, Callable[[Evidence, str, str], str]] = {
    "means": means,
    "changes": changes,
    "clear-changes": clear_changes,
}


def in_short(evidence: Evidence) -> str:
    """List the verdicts that say most about the paper."""
    return "\n".join(in_a_line(key, evidence) for key in IN_SHORT)


def in_a_line(key: str, evidence: Evidence) -> str:
    """Write a claim with its verdict and what was counted, as an item of a list."""
    claim = CLAIMS[key]
    finding = claim.decide(evidence)
    first = finding.evidence.partition("\n\n")[0]
    counted = f" {first}" if first.startswith(("Cases", "Panels", "True of")) else ""
    part = outdated_part(finding)
    old = f" Outdated rows: {part}." if part else ""
    line = f"- *{claim.says}* **{finding.verdict.capitalize()}.**{counted}{old} [{key}](claims.md#{key})"
    return _item(line)


def _item(line: str) -> str:
    """Break the lines of an item of a list."""
    return textwrap.fill(line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def table_2(evidence: Evidence) -> str:
    """Show the sizes of the data sets beside those that the paper prints."""
    if not (evidence.out / "table2.csv").exists():
        raise NotRun("table2.csv")
    return table2_as_markdown(evidence.out)


def _settings(evidence: Evidence, experiment: str) -> list[tuple[tuple[str, str], float]]:
    found = {setting[4] for setting in evidence.rows if setting[0] == experiment}
    epsilons = [epsilon for epsilon in EXPERIMENTS[experiment].epsilons if epsilon in found]
    return [(task, epsilon) for task in evidence.tasks(experiment) for epsilon in epsilons]


# The claims that the page on the reproduction begins with.
IN_SHORT = (
    "competitive-logistic",
    "competitive-svm",
    "smallest-epsilon",
    "faulty-selection",
    "rejected-directions",
    "table1-descent",
    "moments-price",
    "moments-small-epsilon",
    "step-range",
    "plain-descent",
    "default-solver",
)
BLOCKS: dict[str, Callable[[Evidence], str]] = {
    "outdated": outdated,
    "in short": in_short,
    "table 2": table_2,
    "runs": runs,
    "deviations": deviations_table,
    "left to run": left_to_run,
}


def wrapped(text: str) -> str:
    """Break lines of prose; tables and lists stay as they are."""
    return "\n\n".join(
        part
        if part.startswith(("|", "- "))
        else textwrap.fill(part, WIDTH, break_long_words=False, break_on_hyphens=False)
        for part in text.split("\n\n")
    )
