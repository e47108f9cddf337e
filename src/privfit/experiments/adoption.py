"""Rows that no record speaks of: recompute one of each kind, and record those that come out the same."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from privfit.experiments.cells import EXPERIMENTS, Cell, stream
from privfit.experiments.fingerprints import fingerprint
from privfit.experiments.fit import Outcome, fit_cell
from privfit.experiments.provenance import Kind, read, record, this_run, unfit
from privfit.experiments.results import Results
from privfit.experiments.run import describe

# A hundred steps turn another rounding of sums into 1e-7; another algorithm is off by more.
TOLERANCE = 1e-6
# These minimise the hinge, which has kinks, and end where L-BFGS gives up; the processor's last bits decide
# where. On two machines objectives differed by up to .0014 of themselves, and accuracies by three records.
KINKED, KINKED_TOLERANCE = ("nonprivate", "authors-objpert-NOT-PRIVATE"), 0.005
UNKNOWN_CLOCK = "wall time or CPU time; the rows were adopted"


def adopt(out: Path, *, seed: int, console: Console, source: Path | None = None) -> None:
    """Record rows whose record is missing or of another version, if this version computes them again.

    Of each kind one row at the smallest epsilon, one at the largest and one more are computed again. With a
    `source`, rows that another directory has and this one has not are taken over first, with the record of
    their runs; without one of this version they are checked in the same way.

    Raises
    ------
    ValueError
        If there are rows that this version does not compute. All others are taken and recorded.
    """
    strange = [] if source is None else _take_over(out, source, seed, console)
    for kind in unfit(out, seed):
        if _is_ours(kind, Results(out / f"{kind[0]}.csv", seed).finished(), seed, console):
            record(out, this_run([kind], seed, UNKNOWN_CLOCK))
        else:
            strange.append(kind)
    if strange:
        names = ", ".join(f"{algorithm} in {experiment}.csv" for experiment, algorithm in strange)
        raise ValueError(
            f"This version computes other rows than there are of {names}; run them again with --replace. "
            "Everything else is recorded."
        )


def agree(cell: Cell, here: Outcome, there: Outcome) -> bool:
    """Say whether two outcomes are those of the same fit, whatever time it took and wherever it ran."""
    kinked = cell.loss == "hinge" and cell.algorithm in KINKED
    tolerance = KINKED_TOLERANCE if kinked else TOLERANCE
    return (
        here.records == there.records
        and (here.steps == there.steps or kinked)
        and math.isclose(here.accuracy, there.accuracy, rel_tol=tolerance, abs_tol=tolerance)
        and math.isclose(here.objective, there.objective, rel_tol=tolerance, abs_tol=tolerance)
    )


def _take_over(out: Path, source: Path, seed: int, console: Console) -> list[Kind]:
    """Append what only the other directory has, and return the kinds of rows that were not taken."""
    runs = [run for run in read(source) if run.seed == seed]
    outdated, refused = unfit(out, seed), []
    for name in EXPERIMENTS:
        mine, theirs = (Results(path / f"{name}.csv", seed) for path in (out, source))
        finished = mine.finished()
        new: defaultdict[Kind, dict[Cell, Outcome]] = defaultdict(dict)
        for cell, outcome in theirs.finished().items():
            if cell not in finished:
                new[cell.experiment, cell.algorithm][cell] = outcome
        for kind, rows in new.items():
            records = [run.of(kind) for run in runs if run.kinds().get(kind) == fingerprint(kind[1])]
            if kind in outdated or not (records or _is_ours(kind, rows, seed, console)):
                refused.append(kind)
                continue
            for run in records or [this_run([kind], seed, UNKNOWN_CLOCK)]:
                record(out, run)
            with mine.appending():
                for cell, outcome in rows.items():
                    mine.append(cell, outcome)
            console.print(f"Taken over: {len(rows)} rows of {kind[1]} in {name}.csv")
    return refused


def _is_ours(kind: Kind, rows: Mapping[Cell, Outcome], seed: int, console: Console) -> bool:
    """Compute a few rows of this kind again."""
    cells = sorted(cell for cell in rows if (cell.experiment, cell.algorithm) == kind)
    rng = stream(seed, "adopt", *kind)
    ends = min(cell.epsilon for cell in cells), max(cell.epsilon for cell in cells)
    choices = [cells, *([cell for cell in cells if cell.epsilon == end] for end in set(ends))]
    for cell in {among[rng.integers(len(among))] for among in choices if ends[0] < ends[1] or among is cells}:
        if not agree(cell, fit_cell(cell, seed), rows[cell]):
            console.print(f"NOT THE SAME: {describe(cell)} (of {len(cells)} rows)")
            return False
    console.print(f"Same: {kind[1]} in {kind[0]}.csv (of {len(cells)} rows)")
    return True
