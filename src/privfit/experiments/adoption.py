"""Rows that no record speaks of: recompute one of each kind, and record those that come out the same."""

from __future__ import annotations

import math
from pathlib import Path

from rich.console import Console

from privfit.experiments.cells import stream
from privfit.experiments.fit import Outcome, fit_cell
from privfit.experiments.provenance import Kind, present, read, record, this_run
from privfit.experiments.results import Results
from privfit.experiments.run import describe

# A hundred steps turn another rounding of sums into 1e-7; another algorithm is off by more.
TOLERANCE = 1e-6
UNKNOWN_CLOCK = "wall time or CPU time; the rows were adopted"


def adopt(out: Path, *, seed: int, console: Console) -> None:
    """Record the rows that no run speaks of, if a random one of each kind is computed again to six digits.

    Raises
    ------
    ValueError
        If there are rows that this version does not compute. All others are recorded.
    """
    known = {kind for run in read(out) if run.seed == seed for kind in run.kinds()}
    strange = []
    for kind in present(out, seed):
        if kind in known:
            continue
        if _is_ours(out, kind, seed, console):
            record(out, this_run([kind], seed, UNKNOWN_CLOCK))
        else:
            strange.append(f"{kind[1]} in {kind[0]}.csv")
    if strange:
        raise ValueError(
            f"This version computes other rows than there are of {', '.join(strange)}; run them again with "
            "--replace. Everything else is recorded."
        )


def agree(here: Outcome, there: Outcome) -> bool:
    """Say whether two outcomes are those of the same fit, whatever time it took."""
    return (here.steps, here.records) == (there.steps, there.records) and all(
        math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        for a, b in ((here.accuracy, there.accuracy), (here.objective, there.objective))
    )


def _is_ours(out: Path, kind: Kind, seed: int, console: Console) -> bool:
    """Compute one row again."""
    rows = Results(out / f"{kind[0]}.csv", seed).finished()
    cells = [cell for cell in rows if (cell.experiment, cell.algorithm) == kind]
    cell = cells[stream(seed, "adopt", *kind).integers(len(cells))]
    same = agree(fit_cell(cell, seed), rows[cell])
    console.print(f"{'Same' if same else 'NOT THE SAME'}: {describe(cell)} (of {len(cells)} rows)")
    return same
