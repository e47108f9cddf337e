"""What a directory of results holds, as one page of Markdown: what was run, how, and what came out."""

from __future__ import annotations

import math
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

import privfit
from privfit.experiments.cells import (
    ALGORITHMS,
    DATASETS,
    EXPERIMENTS,
    FAULTY,
    FOLDS,
    MODELS,
    Cell,
    Experiment,
)
from privfit.experiments.curves import METRICS, Estimate, Metric, curves, label
from privfit.experiments.fit import BATCH, Outcome
from privfit.experiments.results import Results
from privfit.experiments.table1 import EPSILON, Iteration, read_table1

_TERMS = f"""
- **Noise is seeded** so that every number can be made again. A model that is published needs unseeded noise.
- **Declared public, as in the paper:** the number of training records, the labels, and the bounds that the
  features were rescaled by.
- **Promise:** (epsilon, delta) for one record added or removed; delta = 1e-8, and 1e-12 for KDDCup99.
- **Objective** is the mean training loss, neither clipped nor regularised. **Accuracy** is on the fold held
  out. ± is the standard error over all folds and repetitions; since training folds overlap, it is a little
  too small. Panels end at an objective of 1 (SVM: 1.5), above which even the zero model, at 0.69 (1), is
  better; the tables have the rest.
- **Settings** are the defaults of this package, the same for every data set and epsilon, without a
  regulariser unless a proof needs one. They are not innocent of these data: the constants of the default
  solver were chosen on Adult, BANK and IPUMS-BR, two of them on KDDCup99 (docs/research.md), those of some
  baselines by trying values on Adult, and nothing was paid for that, so comparisons on these tables favour
  them. The paper tuned its regulariser, and OutPert's iterations and steps, on the data in the same way.
- **KDDCup99** is the official 10% file. As in the paper DP-AGD works on fresh random batches of about
  {BATCH:,} records, and PrivGene on a random subset of that size, one for the whole search; neither claims
  amplification. The paper leaves OutPert out, for its full batches; here they are affordable.
- **DP-AGD selects its steps privately here.** The published curves come from code whose selection is worth
  20 times the epsilon it pays for (erratum E4). "{ALGORITHMS[FAULTY]}" shows
  what that bought, everything else being equal; no solver of this package does it.
"""


def summarise(out: Path, seed: int) -> str:
    """Describe all that the directory holds."""
    parts = [
        "# The paper's experiments, run again",
        "",
        *_provenance(seed),
        "",
        "## Terms",
        _TERMS.strip(),
        "",
    ]
    if (out / "table1.csv").exists():
        parts += _table1(read_table1(out))
    for experiment in EXPERIMENTS.values():
        rows = Results(out / f"{experiment.name}.csv", seed).finished()
        if rows:
            parts += _experiment(experiment, rows)
    return "\n".join(parts) + "\n"


def _provenance(seed: int) -> Iterator[str]:
    yield (
        f"Made by `privfit reproduce` {privfit.__version__} with seed {seed}, "
        f"Python {platform.python_version()}, NumPy {np.__version__}. Each row of a CSV file is one fit."
    )


def _experiment(experiment: Experiment, rows: Mapping[Cell, Outcome]) -> Iterator[str]:
    repeats = 1 + max(cell.repetition for cell in rows)
    yield f"## {experiment.title}"
    yield ""
    minutes = sum(row.seconds for row in rows.values()) / 60
    yield (
        f"{len(rows):,} fits, {repeats} x {FOLDS}-fold, {minutes:,.0f} minutes of fitting on one core. "
        f"All fits: [{experiment.name}.csv]({experiment.name}.csv)."
    )
    yield from _missing(experiment, rows, repeats)
    yield ""
    yield f"![{experiment.title}]({experiment.name}.png)"
    yield ""
    for task in experiment.tasks:
        records = {row.records for cell, row in rows.items() if (cell.dataset, cell.loss) == task}
        for metric in METRICS if records else ():
            yield f"**{DATASETS[task[0]]}, {MODELS[task[1]]}, {metric}** ({max(records):,} training records)"
            yield ""
            yield from _table(experiment, rows, task, metric)
            yield ""


def _missing(experiment: Experiment, rows: Mapping[Cell, Outcome], repeats: int) -> Iterator[str]:
    """Say what a complete run would hold and this one does not."""
    present = {cell.dataset for cell in rows}
    for dataset in dict.fromkeys(dataset for dataset, _ in experiment.tasks):
        if dataset not in present:
            yield f"There were no {DATASETS[dataset]} data where this was run."
    missing = Counter(
        ALGORITHMS[cell.algorithm]
        for cell in experiment.cells(repeats)
        if cell.dataset in present and cell not in rows
    )
    if missing:
        fits = ", ".join(f"{count} of {algorithm}" for algorithm, count in missing.items())
        yield f"Fits that failed or were not run: {fits}."


def _table(
    experiment: Experiment, rows: Mapping[Cell, Outcome], task: tuple[str, str], metric: Metric
) -> Iterator[str]:
    xs = experiment.values or experiment.epsilons
    yield f"| {experiment.parameter or 'epsilon'} | " + " | ".join(f"{x:g}" for x in xs) + " |"
    yield "|---" * (len(xs) + 1) + "|"
    for line, curve in curves(experiment, rows, task, metric).items():
        cells = (_text(curve.get(math.inf, curve.get(x))) for x in xs)
        yield f"| {label(line)} | " + " | ".join(cells) + " |"


def _text(estimate: Estimate | None) -> str:
    if estimate is None:
        return ""
    return f"{estimate.mean:.4f}" + (f" ± {estimate.error:.4f}" if math.isfinite(estimate.error) else "")


def _table1(iterations: Sequence[Iteration]) -> Iterator[str]:
    last = iterations[-1]
    yield "## Table 1: the gradient drowns and the objective falls"
    yield ""
    yield (
        f"One run of DP-AGD on all of Adult, epsilon = {EPSILON:g}; norms are per record. The true gradient "
        "and the objective are NOT PRIVATE: a diagnostic from inside, which no fit releases. All iterations: "
        "[table1.csv](table1.csv)."
    )
    yield ""
    yield "| t | true gradient | noisy gradient | expected noise | objective |"
    yield "|---|---|---|---|---|"
    for row in (*iterations[:11], *([last] if len(iterations) > 11 else ())):
        yield f"| {row.t} | " + " | ".join(f"{number:.5f}" for number in row[1:]) + " |"
    yield ""
