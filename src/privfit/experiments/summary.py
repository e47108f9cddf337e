"""A page of Markdown about a directory of results: the runs, their settings and the results."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from privfit.experiments.curves import (
    METRICS,
    Curve,
    Estimate,
    Line,
    curves,
    label,
    notes,
    read_references,
    references,
    repetitions,
)
from privfit.experiments.designs import (
    ALGORITHMS,
    DATASETS,
    EXPERIMENTS,
    MODELS,
    Cell,
    Experiment,
)
from privfit.experiments.fingerprints import RECORDS, fingerprint
from privfit.experiments.fit import BATCH, Outcome
from privfit.experiments.provenance import Run, present, read, unfit
from privfit.experiments.results import Results
from privfit.experiments.table1 import EPSILON, Draws, read_table1
from privfit.experiments.table2 import table2_as_markdown

_TERMS = f"""
- **Noise is seeded** so that every number can be made again. A model that is published needs
  unseeded noise.
- **Declared public, as in the paper:** the number of training records, the labels, and the bounds
  that the features were rescaled by.
- **Promise:** (epsilon, delta) for one record added or removed; delta = 1e-8, and 1e-12 for
  KDDCup99.
- **Objective** is the mean training loss, neither clipped nor regularised. **Accuracy** is on the
  fold held out. ± is the standard error over all folds and repetitions; since training folds
  overlap, it is a little too small.
- **Seconds** in the CSV files are those of one core, of the processor and not of the clock on the
  wall, unless the record of the run says otherwise.
- **Settings** are the defaults of this package, the same for every data set and epsilon, without a
  regulariser unless a proof needs one. They are not innocent of these data: the constants of the
  default solver were chosen on Adult, BANK and IPUMS-BR, two of them on KDDCup99
  (docs/research.md), those of some baselines by trying values on Adult, and nothing was paid for
  that, so comparisons on these tables favour them. The paper tuned its regulariser, and OutPert's
  iterations and steps, on the data in the same way.
- **KDDCup99** is the full file if it is at hand, and the official 10% file otherwise; the tables
  say how many records there were. As in the paper DP-AGD works on fresh random batches of about
  {BATCH:,} records, and PrivGene on a random subset of that size, one for the whole search;
  neither claims amplification. OutPert is left out, as in the paper.
- **DP-AGD selects its steps privately here.** The published curves come from code whose selection
  is worth 20 times the epsilon it pays for (erratum E4). The curve marked NOT PRIVATE shows what
  that bought, everything else being equal; no solver of this package does it.
"""


SMOKE = "A smoke test: one fit of everything on few records. Nothing on this page is a result."


def summarise(out: Path, seed: int, *, smoke: bool = False) -> str:
    """Describe all results in the directory; for a smoke test, without the version that made them."""
    parts = [
        "# The paper's experiments, run again",
        "",
        f"Made by `privfit reproduce` with seed {seed}. Each row of a CSV file is one fit.",
        "",
        *([SMOKE, ""] if smoke else _provenance(out, seed)),
        "## Terms",
        _TERMS.strip(),
        "",
    ]
    if (out / "table1.csv").exists():
        parts += _table1(read_table1(out))
    if (out / "table2.csv").exists():
        parts += ["## Table 2: the data sets", "", table2_as_markdown(out), ""]
    for experiment in EXPERIMENTS.values():
        rows = Results(out / f"{experiment.name}.csv", seed).finished()
        if rows:
            parts += _experiment(experiment, rows, read_references(experiment, out, seed))
    return "\n".join(parts) + "\n"


def _provenance(out: Path, seed: int) -> Iterator[str]:
    """Yield the origin of the rows, and the rows that this version would not reproduce."""
    yield "## Runs"
    for run in read(out):
        packages = ", ".join(f"{name} {version}" for name, version in run.versions.items())
        yield from _wrapped(
            f"- Commit {run.commit}, seed {run.seed}, {run.machine}; {packages}. Seconds are {run.clock}. "
            + "; ".join(f"{names}: {algorithms}" for algorithms, names in _grouped(run).items())
            + ".",
            indent="  ",
        )
    yield ""
    yield from _wrapped(
        "The versions of all packages of the last run are in [environment.txt](environment.txt). To tell "
        "when a solver has changed, each run keeps a hash of the rounded coefficients (of references, of "
        f"the mean loss) of a fixed, seeded fit to {RECORDS:,} records of Adult:"
    )
    yield ""
    kinds = present(out, seed)
    recorded: dict[str, dict[str, None]] = {}
    for run in read(out):
        for (_, algorithm), digits in run.kinds().items():
            recorded.setdefault(algorithm, {})[digits] = None
    yield "| algorithm | fit when this page was written | fit when the rows were made |"
    yield "|---|---|---|"
    for algorithm in dict.fromkeys(algorithm for _, algorithm in kinds):
        then = ", ".join(recorded.get(algorithm, {})) or "not recorded"
        yield f"| {algorithm} | {fingerprint(algorithm)} | {then} |"
    yield ""
    outdated = unfit(out, seed)
    if outdated:
        names = ", ".join(f"{algorithm} in {name}.csv" for name, algorithm in outdated)
        yield from _wrapped(f"**Outdated:** not known to come from this version are the rows of {names}.")
    else:
        yield "No row is outdated."
    yield ""


def _grouped(run: Run) -> dict[str, str]:
    """Group experiments with the same algorithms."""
    grouped: dict[str, str] = {}
    for name, algorithms in run.experiments.items():
        key = ", ".join(algorithms)
        grouped[key] = f"{grouped[key]}, {name}" if key in grouped else name
    return grouped


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, 99, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _experiment(
    experiment: Experiment, rows: Mapping[Cell, Outcome], compared: Mapping[Cell, Outcome]
) -> Iterator[str]:
    repeats = 1 + max(cell.repetition for cell in rows)
    yield f"## {experiment.title}"
    yield ""
    minutes = sum(row.seconds for row in rows.values()) / 60
    yield from _wrapped(
        " ".join(
            [
                f"{len(rows):,} fits, {repetitions(rows)}, {minutes:,.0f} minutes of fitting on one core.",
                f"All fits: [{experiment.name}.csv]({experiment.name}.csv).",
                *_missing(experiment, rows, repeats),
                *notes(experiment, rows),
            ]
        )
    )
    yield ""
    if experiment.has_figure:
        yield f"![{experiment.title}]({experiment.name}.png)"
        yield ""
    for task in experiment.tasks:
        records = {row.records for cell, row in rows.items() if (cell.dataset, cell.loss) == task}
        for metric in METRICS if records else ():
            yield f"**{DATASETS[task[0]]}, {MODELS[task[1]]}, {metric}** ({max(records):,} training records)"
            yield ""
            found = curves(experiment, rows, task, metric) | references(compared, task, metric)
            yield from _table(experiment, found)
            yield ""


def _missing(experiment: Experiment, rows: Mapping[Cell, Outcome], repeats: int) -> Iterator[str]:
    """Yield the parts of a complete run that are missing."""
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


def _table(experiment: Experiment, found: Mapping[Line, Curve]) -> Iterator[str]:
    xs = experiment.values or experiment.epsilons
    yield f"| {experiment.parameter or 'epsilon'} | " + " | ".join(f"{x:g}" for x in xs) + " |"
    yield "|---" * (len(xs) + 1) + "|"
    for line, curve in found.items():
        cells = (_text(curve.get(math.inf, curve.get(x))) for x in xs)
        yield f"| {label(line)} | " + " | ".join(cells) + " |"


def _text(estimate: Estimate | None) -> str:
    if estimate is None:
        return ""
    error = f" ± {estimate.error:.4f}" if math.isfinite(estimate.error) else ""
    return f"{estimate.mean:.4f}{error}{' (no step)' if estimate.no_step else ''}"


def _table1(draws: Draws) -> Iterator[str]:
    first = draws[0]
    yield "## Table 1: the gradient drowns and the objective falls"
    yield ""
    yield from _wrapped(
        f"DP-AGD on all of Adult, epsilon = {EPSILON:g}: the first of {len(draws)} runs; norms are per "
        "record. The true gradient and the objective are NOT PRIVATE: a diagnostic from inside, which no fit "
        "releases. All runs: [table1.csv](table1.csv)."
    )
    yield ""
    yield "| t | true gradient | noisy gradient | expected noise | objective |"
    yield "|---|---|---|---|---|"
    for row in (*first[:11], *first[11:][-1:]):
        yield f"| {row.t} | " + " | ".join(f"{number:.5f}" for number in row[1:]) + " |"
    yield ""
