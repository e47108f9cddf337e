"""Run the fits that have no row yet, then make the page and the pictures; `make compare` calls this.

Every fit is a row of benchmarks/compare.csv with the version of its library. `--again privfit` runs privfit's
rows again, with and without curves. Libraries that are not installed are skipped, and the reason is printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import rivals

from comparison import page, pictures, rows, tables
from comparison.learners import LEARNERS, Learner, fits
from comparison.results import Results


def cells(learner: Learner, name: str, splits: int) -> list[rows.Cell]:
    """Return all fits of a learner on a table."""
    return [
        rows.Cell(name, learner.name, setting, epsilon, split)
        for split in range(min(splits, learner.splits))
        for epsilon in ([f"{each:g}" for each in learner.epsilons] or [""])
        for setting in learner.settings
    ]


def run(learner: Learner, name: str, splits: int, path: Path) -> None:
    """Run the fits of a learner on a table that have no row yet."""
    known = rows.read(path)
    missing = [cell for cell in cells(learner, name, splits) if cell not in known]
    if not missing:
        return
    table = tables.table(name)
    if not learner.takes(table.kind):
        return
    version = learner.version()
    try:
        with fits(learner, table) as fit:
            for cell in missing:
                measured = fit(float(cell.epsilon or "nan"), cell.setting, cell.split)
                row = rows.Row(version, **({n: None for n in rows.NAMES} | measured))
                rows.append(cell, row, path)
                print(*cell, f"{row.score:.4f}", f"{row.seconds:.1f} s", sep="  ", flush=True)
    except rivals.RivalFailed as failure:
        print(f"{name}: {failure}", file=sys.stderr, flush=True)


def in_order(known: Mapping[rows.Cell, rows.Row]) -> dict[rows.Cell, rows.Row]:
    """Return all rows by table, learner, setting, epsilon and split, so that files can be compared."""
    names = [learner.name for learner in LEARNERS]

    def key(cell: rows.Cell) -> tuple[object, ...]:
        place = tables.NAMES.index(cell.table), names.index(cell.learner)
        return *place, cell.setting, float(cell.epsilon or 0.0), cell.split

    return {cell: known[cell] for cell in sorted(known, key=key)}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="comparison", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [learner.name for learner in LEARNERS]
    parser.add_argument("--tables", nargs="+", choices=tables.NAMES, default=tables.NAMES)
    parser.add_argument("--learners", nargs="+", choices=names, default=names)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--again", nargs="+", default=[], help="drop rows whose learner begins with this")
    parser.add_argument("--csv", type=Path, default=rows.PATH)
    options = parser.parse_args()
    if options.again:
        kept = rows.read(options.csv).items()
        rows.write(
            [(c, row) for c, row in kept if not c.learner.startswith(tuple(options.again))], options.csv
        )
    for learner in LEARNERS:
        if learner.name not in options.learners:
            continue
        for name in [each for each in options.tables if each in learner.tables]:
            if reason := tables.missing(name):
                print(f"{name} is skipped: {reason}", file=sys.stderr)
            else:
                run(learner, name, options.splits, options.csv)
    known = in_order(rows.read(options.csv))
    rows.write(known.items(), options.csv)
    if options.csv == rows.PATH:
        results = Results(known)
        page.PAGE.write_text(page.filled(page.PAGE.read_text(), results))
        pictures.draw(results)


if __name__ == "__main__":
    main()
