"""The gain of tuning: a search compared with the untuned default at the same total privacy budget.

The dense development tables of PRIVFIT_DATA/tables that have columns of numbers, at most 20,000 records and
at most 60 columns, with schemas that declare all numbers to be in [0, 1]; the number of records is declared,
too. delta = 1e-6, with 80/20 splits from fixed seeds, which are the same for all learners. The shares of the
search were chosen on other splits. The scores are log loss and AUC on the held-out fifth.

A search pays for its fits, its scores and its refit. `default` spends all of the privacy budget
on one fit with the default settings, and `curves` on one fit with curves.

Rows are kept in tuning.csv, so that a run continues where the last one stopped. `--again NAME` replaces rows
of another commit, and `--report` prints a summary of the file.
"""

import argparse
import csv
import itertools
import os
import subprocess
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from comparison.tables import SEED, table
from sklearn.metrics import log_loss, roc_auc_score

from privfit import DPLogisticRegression, DPSearchCV

PATH = Path(__file__).with_suffix(".csv")
DELTA = 1e-6
EPSILONS = (0.5, 1.0, 4.0)
FIRST_SPLIT, SPLITS = 100, 4
MOST_COLUMNS, MOST_RECORDS = 60, 20_000
ONE_FIT: dict[str, dict[str, Any]] = {"default": {}, "curves": {"curves": True}}
ALPHAS = {"alpha": [0.0, 0.001, 0.01]}
SEARCHES: dict[str, tuple[dict[str, list[Any]], bool]] = {  # what is tried, and whether it is refitted
    "alpha searched": (ALPHAS, True),
    "alpha searched, no refit": (ALPHAS, False),
    "solver searched": ({"solver": ["adaptive", "newton"]}, True),
    "curves searched": ({"curves": [None, True]}, True),
}
LEARNERS = (*ONE_FIT, *SEARCHES)


class Cell(NamedTuple):
    """What is fitted."""

    table: str
    learner: str
    epsilon: float
    split: int


class Row(NamedTuple):
    """What was measured, of which commit, which setting was chosen (its number), and processor seconds."""

    version: str
    log_loss: float
    auc: float
    chosen: int
    seconds: float


def names() -> list[str]:
    """Return the tables that the rule above names."""
    found = []
    for path in sorted((Path(os.environ["PRIVFIT_DATA"]) / "tables").glob("*.npz")):
        if path.stem.endswith((".raw", ".sp")):
            continue
        with np.load(path) as parts:
            records, columns = parts["X"].shape
            if records <= MOST_RECORDS and columns <= MOST_COLUMNS and not np.isin(parts["X"], (0, 1)).all():
                found.append(path.stem)
    return found


def cells(learners: list[str], chosen: list[str], splits: int) -> Iterator[Cell]:
    """Yield the first split of all tables, then the others, so that an unfinished file is of all tables."""
    for split, name, learner, epsilon in itertools.product(
        range(FIRST_SPLIT, FIRST_SPLIT + splits), chosen, learners, EPSILONS
    ):
        yield Cell(name, learner, epsilon, split)


def commit() -> str:
    asked = ["git", "-C", str(PATH.parent), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def measure(cell: Cell) -> Row:
    """Fit a cell."""
    warnings.simplefilter("ignore")
    data = table(cell.table)
    train, test = data.split(cell.split)
    rows, labels = {name: values[train] for name, values in data.frame.items()}, data.y[train]
    public = {"schema": data.schema, "n_records": len(train)}
    private = {"delta": DELTA, "noise": "seeded", "random_state": SEED + cell.split}
    started, chosen = time.process_time(), 0
    if cell.learner in ONE_FIT:
        model = DPLogisticRegression(cell.epsilon, **public, **private, **ONE_FIT[cell.learner])
        model.fit(rows, labels)
    else:
        grid, refit = SEARCHES[cell.learner]
        search = DPSearchCV(DPLogisticRegression(**public), grid, cell.epsilon, refit=refit, **private)
        search.fit(rows, labels)
        model, chosen = search.best_estimator_, search.best_index_
    seconds = time.process_time() - started
    probabilities = model.predict_proba({name: values[test] for name, values in data.frame.items()})[:, 1]
    y = data.y[test]
    loss = log_loss(y, np.clip(probabilities, 1e-12, 1.0 - 1e-12))
    return Row(commit(), loss, roc_auc_score(y, probabilities), chosen, seconds)


# -- the file


def read() -> dict[Cell, Row]:
    if not PATH.exists():
        return {}
    with PATH.open(newline="") as file:
        return {
            Cell(line["table"], line["learner"], float(line["epsilon"]), int(line["split"])): Row(
                line["version"],
                float(line["log_loss"]),
                float(line["auc"]),
                int(line["chosen"]),
                float(line["seconds"]),
            )
            for line in csv.DictReader(file)
        }


def write(rows: dict[Cell, Row]) -> None:
    with PATH.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*Cell._fields, *Row._fields))
        for cell, row in sorted(rows.items()):
            numbers = f"{row.log_loss:.5f}", f"{row.auc:.5f}", row.chosen, f"{row.seconds:.2f}"
            writer.writerow(
                [cell.table, cell.learner, f"{cell.epsilon:g}", cell.split, row.version, *numbers]
            )


# -- what it says


def compared(rows: dict[Cell, Row], learner: str, epsilon: float, score: str) -> dict[str, float]:
    """Return, for each table, the mean difference between a learner and the default over the splits."""
    found: dict[str, list[float]] = {}
    for cell, row in rows.items():
        default = rows.get(cell._replace(learner="default"))
        if cell.learner == learner and cell.epsilon == epsilon and default is not None:
            found.setdefault(cell.table, []).append(getattr(row, score) - getattr(default, score))
    return {name: float(np.mean(differences)) for name, differences in found.items()}


def report(rows: dict[Cell, Row]) -> None:
    """Print for each learner how much its log loss is above that of the default, and its AUC."""
    heads = f"{'log loss':>10}{'error':>8}{'AUC':>9}{'error':>8}{'better':>8}"
    print(f"{'learner':<26}{'eps':>5}{'tables':>8}{heads}")
    for learner, epsilon in itertools.product(LEARNERS, EPSILONS):
        losses, aucs = (
            list(compared(rows, learner, epsilon, score).values()) for score in ("log_loss", "auc")
        )
        if learner == "default" or len(losses) < 2:
            continue
        errors = [np.std(values, ddof=1) / np.sqrt(len(values)) for values in (losses, aucs)]
        better = sum(loss < 0.0 for loss in losses)
        print(
            f"{learner:<26}{epsilon:>5g}{len(losses):>8}{np.mean(losses):>+10.4f}{errors[0]:>8.4f}"
            f"{np.mean(aucs):>+9.4f}{errors[1]:>8.4f}{better:>8}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=None)
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=LEARNERS)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument(
        "--again", nargs="+", default=[], choices=LEARNERS, help="replace other commits' rows"
    )
    parser.add_argument("--report", action="store_true", help="print what the file says, and fit nothing")
    options = parser.parse_args()
    rows = read()
    if options.report:
        report(rows)
        return
    now = commit()
    stale = {cell for cell, row in rows.items() if cell.learner in options.again and row.version != now}
    for cell in cells(options.learners, options.tables or names(), options.splits):
        if cell in rows and cell not in stale:
            continue
        row = measure(cell)
        write(read() | {cell: row})
        print(*cell, f"{row.log_loss:.4f}", f"{row.auc:.4f}", row.chosen, f"{row.seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
