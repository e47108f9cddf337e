"""Copy rows from another directory of results, if this version of their algorithm made them."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

from rich.console import Console

from privfit.experiments.designs import EXPERIMENTS, Cell
from privfit.experiments.fingerprints import fingerprint
from privfit.experiments.fit import Outcome
from privfit.experiments.provenance import Kind, read, record, unfit
from privfit.experiments.results import Results

# After a hundred steps, another rounding of sums changes results by 1e-7; another algorithm changes them
# more.
TOLERANCE = 1e-6
# These algorithms minimise the hinge, which has kinks. L-BFGS then ends at a point that depends on the
# processor's last bits. On two machines, objectives differed by up to .0014 of their size, and accuracies by
# three records.
KINKED, KINKED_TOLERANCE = ("nonprivate", "authors-objpert-NOT-PRIVATE"), 0.005


def adopt(out: Path, *, source: Path, seed: int, console: Console) -> None:
    """Copy the rows that only the other directory has, with the record of their runs.

    A row is copied if it has the fingerprint of this version of its algorithm, and if all rows of its kind in
    this directory have it, too. No row is computed again, because a few rows that agree say nothing about the
    others.

    Raises
    ------
    ValueError
        If some rows were not copied. All others are.
    """
    runs = [run for run in read(source) if run.seed == seed]
    outdated, refused = unfit(out, seed), dict[Kind, int]()
    for name in EXPERIMENTS:
        mine, theirs = (Results(path / f"{name}.csv", seed) for path in (out, source))
        finished = mine.finished()
        new: defaultdict[Kind, dict[Cell, Outcome]] = defaultdict(dict)
        for cell, outcome in theirs.finished().items():
            if cell not in finished:
                new[cell.experiment, cell.algorithm][cell] = outcome
        for kind, rows in new.items():
            digits = fingerprint(kind[1])
            ours = {cell: row for cell, row in rows.items() if row.fingerprint == digits}
            if kind in outdated or len(ours) < len(rows):
                refused[kind] = len(rows) - (0 if kind in outdated else len(ours))
            if kind in outdated or not ours:
                continue
            for run in runs:
                if run.kinds().get(kind) == digits:
                    record(out, run.of(kind))
            with mine.appending():
                for cell, outcome in ours.items():
                    mine.append(cell, outcome)
            console.print(f"Taken over: {len(ours)} rows of {kind[1]} in {name}.csv")
    if refused:
        names = ", ".join(f"{count} of {kind[1]} in {kind[0]}.csv" for kind, count in refused.items())
        raise ValueError(
            f"Rows that another version made, or that would stand beside such rows, were not taken: {names}; "
            "run them again with --replace. All others were taken."
        )


def agree(cell: Cell, here: Outcome, there: Outcome) -> bool:
    """Return whether two outcomes are those of the same fit, apart from its time and its machine."""
    kinked = cell.loss == "hinge" and cell.algorithm in KINKED
    tolerance = KINKED_TOLERANCE if kinked else TOLERANCE
    return (
        here.records == there.records
        and (here.steps == there.steps or kinked)
        and math.isclose(here.accuracy, there.accuracy, rel_tol=tolerance, abs_tol=tolerance)
        and math.isclose(here.objective, there.objective, rel_tol=tolerance, abs_tol=tolerance)
    )
