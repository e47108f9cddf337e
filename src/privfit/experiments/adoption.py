"""Rows that no record speaks of: recompute one of each kind, and record those that come out the same."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from privfit.experiments.cells import EXPERIMENTS, Cell, stream
from privfit.experiments.fit import Outcome, fit_cell
from privfit.experiments.provenance import Kind, present, read, record, this_run
from privfit.experiments.results import Results
from privfit.experiments.run import describe

# A hundred steps turn another rounding of sums into 1e-7; another algorithm is off by more.
TOLERANCE = 1e-6
UNKNOWN_CLOCK = "wall time or CPU time; the rows were adopted"


def adopt(out: Path, *, seed: int, console: Console, source: Path | None = None) -> None:
    """Record the rows that no run speaks of, if a random one of each kind is computed again to six digits.

    With a `source`, rows that another directory has and this one has not are taken over first, with the
    record of their runs; without a record they are checked in the same way.

    Raises
    ------
    ValueError
        If there are rows that this version does not compute. All others are taken and recorded.
    """
    strange = [] if source is None else _take_over(out, source, seed, console)
    known = {kind for run in read(out) if run.seed == seed for kind in run.kinds()}
    for kind in present(out, seed):
        if kind not in known:
            rows = Results(out / f"{kind[0]}.csv", seed).finished()
            if _is_ours(kind, rows, seed, console):
                record(out, this_run([kind], seed, UNKNOWN_CLOCK))
            else:
                strange.append(kind)
    if strange:
        names = ", ".join(f"{algorithm} in {experiment}.csv" for experiment, algorithm in strange)
        raise ValueError(
            f"This version computes other rows than there are of {names}; run them again with --replace. "
            "Everything else is recorded."
        )


def agree(here: Outcome, there: Outcome) -> bool:
    """Say whether two outcomes are those of the same fit, whatever time it took."""
    return (here.steps, here.records) == (there.steps, there.records) and all(
        math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        for a, b in ((here.accuracy, there.accuracy), (here.objective, there.objective))
    )


def _take_over(out: Path, source: Path, seed: int, console: Console) -> list[Kind]:
    """Append what only the other directory has, and return the kinds of rows that were not taken."""
    runs = [run for run in read(source) if run.seed == seed]
    recorded = {kind: digits for run in runs for kind, digits in run.kinds().items()}
    here = {kind: digits for run in read(out) if run.seed == seed for kind, digits in run.kinds().items()}
    refused = []
    for name in EXPERIMENTS:
        mine, theirs = (Results(path / f"{name}.csv", seed) for path in (out, source))
        finished = mine.finished()
        new: defaultdict[Kind, dict[Cell, Outcome]] = defaultdict(dict)
        for cell, outcome in theirs.finished().items():
            if cell not in finished:
                new[cell.experiment, cell.algorithm][cell] = outcome
        for kind, rows in new.items():
            digits = recorded.get(kind) or (
                this_run([kind], seed).fingerprints[kind[1]] if _is_ours(kind, rows, seed, console) else None
            )
            if digits is None or digits != here.get(kind, digits):
                refused.append(kind)
                continue
            if kind not in recorded:
                record(out, this_run([kind], seed, UNKNOWN_CLOCK))
            for run in runs:
                if kind in run.kinds():
                    record(out, run.of(kind))
            with mine.appending():
                for cell, outcome in rows.items():
                    mine.append(cell, outcome)
            console.print(f"Taken over: {len(rows)} rows of {kind[1]} in {name}.csv")
    return refused


def _is_ours(kind: Kind, rows: Mapping[Cell, Outcome], seed: int, console: Console) -> bool:
    """Compute one row of this kind again."""
    cells = [cell for cell in rows if (cell.experiment, cell.algorithm) == kind]
    cell = cells[stream(seed, "adopt", *kind).integers(len(cells))]
    same = agree(fit_cell(cell, seed), rows[cell])
    console.print(f"{'Same' if same else 'NOT THE SAME'}: {describe(cell)} (of {len(cells)} rows)")
    return same
