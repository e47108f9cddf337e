"""Curves compared with plain columns and with DP-EBM: held-out AUC on Adult, Bank and tables with numbers.

Adult and Bank with the schemas of `privfit.datasets`; of the dense development tables in
PRIVFIT_DATA/tables those with a column of numbers and at most 128 columns, all numbers declared to be in
[0, 1]. delta = 1e-6 and the number of records is declared. 80/20 splits with fixed seeds, the same for all:
20 where there are fewer than 10,000 records, otherwise 5, and 5 for DP-EBM, which is told types and bounds
of the columns. A third of the tables with numbers, by a hash of their names, was set aside before the basis
and the rule for the number of edges were chosen.

Rows are kept in curves.csv, so that a run continues where the last one stopped. `--again plain curves`
replaces the rows of another commit, and `--report` prints a summary of the file.
"""

import argparse
import csv
import functools
import hashlib
import itertools
import os
import subprocess
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import rivals
from comparison.tables import SEED, WITH_SCHEMA, Table, table
from sklearn.metrics import log_loss, roc_auc_score

from privfit import DPLogisticRegression

PATH = Path(__file__).with_suffix(".csv")
DELTA = 1e-6
EPSILONS = (0.1, 0.5, 1.0, 4.0)
MOST_COLUMNS, MANY_RECORDS = 128, 10_000
SPLITS, FEW_SPLITS = 20, 5
EBM = "DP-EBM"
PRIVATE = {"plain": None, "curves": True}  # and the setting of curves
OPEN = {"plain, not private": None, "curves, not private": True}
LEARNERS = (EBM, *PRIVATE, *OPEN)
LOST = 0.003  # the largest loss of AUC in a cell


class Cell(NamedTuple):
    """A fit; epsilon is infinite for learners without privacy."""

    table: str
    learner: str
    epsilon: float
    split: int


class Row(NamedTuple):
    """A measurement, with its commit or version, and the number of edges of a curve, 0 without curves."""

    version: str
    auc: float
    log_loss: float
    edges: int
    seconds: float


FIELDS = (*Cell._fields, *Row._fields)


@functools.cache
def records() -> dict[str, int]:
    """Return how many records Adult, Bank and the tables with numbers have."""
    paths = sorted((Path(os.environ["PRIVFIT_DATA"]) / "tables").glob("*.npz"))
    dense = [path.stem for path in paths if not path.stem.endswith((".raw", ".sp"))]
    found = {name: len(table(name).y) for name in WITH_SCHEMA}
    for name, path in zip(dense, (path for path in paths if path.stem in dense), strict=True):
        with np.load(path) as parts:
            numbers = not np.isin(parts["X"], (0.0, 1.0)).all() and parts["X"].shape[1] <= MOST_COLUMNS
            found |= {name: len(parts["y"])} if numbers else {}
    return found


def is_aside(name: str) -> bool:
    """Return whether a table was set aside."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    return name not in WITH_SCHEMA and int(digest, 16) % 3 == 0


def cells(learners: list[str], chosen: list[str]) -> Iterator[Cell]:
    """Yield the first splits of all tables, then the others, so that an unfinished file is of all tables."""
    for splits in (range(FEW_SPLITS), range(FEW_SPLITS, SPLITS)):
        for name, split, learner in itertools.product(chosen, splits, learners):
            few = learner == EBM or records()[name] >= MANY_RECORDS
            if split < FEW_SPLITS or not few:
                for epsilon in (np.inf,) if learner in OPEN else EPSILONS:
                    yield Cell(name, learner, epsilon, split)


def commit() -> str:
    asked = ["git", "-C", str(PATH.parent), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def measure(cell: Cell) -> Row:
    """Fit a cell."""
    warnings.simplefilter("ignore")
    data = table(cell.table)
    train, test = data.split(cell.split)
    started, edges, version = time.perf_counter(), 0, commit()
    if cell.learner == EBM:
        job = rivals.Job(
            X_train=data.columns[train],
            y_train=data.y[train],
            X_new=data.columns[test],
            epsilon=cell.epsilon,
            delta=DELTA,
            feature_bounds=(data.low, data.high),
            nominal=data.nominal,
            n_classes=2,
            seed=SEED + cell.split,
        )
        answer = rivals.fit("interpret/classifier", job, timeout=1200.0)
        positive, seconds, version = answer.probabilities[:, 1], answer.seconds, "interpret-core"
    else:
        model = fitted(data, train, cell)
        seconds = time.perf_counter() - started
        scores = model.decision_function({name: cells[test] for name, cells in data.frame.items()})
        positive = 1.0 / (1.0 + np.exp(-scores))
        edges = max(_edges(column) for column in model.schema_.features)
    y = data.y[test]
    loss = log_loss(y, np.clip(positive, 1e-12, 1.0 - 1e-12))
    return Row(version, roc_auc_score(y, positive), loss, edges, seconds)


def _edges(column: object) -> int:
    curve = getattr(column, "curve", None)
    return len(curve) if curve else 0


def fitted(data: Table, train: np.ndarray, cell: Cell) -> DPLogisticRegression:
    label = data.schema.label
    rows = {name: values[train] for name, values in data.frame.items()}
    labels = np.array(label.classes, object)[data.y[train]]
    private = {} if cell.learner in OPEN else {"epsilon": cell.epsilon, "delta": DELTA}
    model = DPLogisticRegression(
        schema=data.schema,
        n_records=len(train),
        solver="nonprivate" if cell.learner in OPEN else "adaptive",
        curves=(PRIVATE | OPEN)[cell.learner],
        noise="seeded",
        random_state=SEED + cell.split,
        **private,
    )
    return model.fit(rows, labels)


# -- the file


def read() -> dict[Cell, Row]:
    if not PATH.exists():
        return {}
    with PATH.open(newline="") as file:
        return {
            Cell(line["table"], line["learner"], float(line["epsilon"]), int(line["split"])): Row(
                line["version"],
                float(line["auc"]),
                float(line["log_loss"]),
                int(line["edges"]),
                float(line["seconds"]),
            )
            for line in csv.DictReader(file)
        }


def write(rows: dict[Cell, Row]) -> None:
    with PATH.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for cell, row in sorted(rows.items()):
            numbers = f"{row.auc:.5f}", f"{row.log_loss:.5f}", row.edges, f"{row.seconds:.2f}"
            writer.writerow(
                [cell.table, cell.learner, f"{cell.epsilon:g}", cell.split, row.version, *numbers]
            )


# -- what it says


def report(rows: dict[Cell, Row]) -> None:
    """Print the means of every table, and whether the bars are met."""
    chosen = [name for name in records() if any(cell.table == name for cell in rows)]
    gains, leads = {}, {}
    print(f"{'table':<15}{'eps':>4}{'plain':>8}{'curves':>8}{'gain':>9}{'error':>8}{'edges':>6}{EBM:>8}")
    for name in chosen:
        for epsilon in EPSILONS:
            values = {
                learner: {
                    cell.split: row for cell, row in rows.items() if cell[:3] == (name, learner, epsilon)
                }
                for learner in (*PRIVATE, EBM)
            }
            both = sorted(values["plain"].keys() & values["curves"].keys())
            if not both:
                continue
            plain, curves = (np.array([values[one][k].auc for k in both]) for one in PRIVATE)
            gain, error = np.mean(curves - plain), np.std(curves - plain, ddof=1) / np.sqrt(len(both))
            gains[name, epsilon] = gain, error
            edges = np.mean([values["curves"][k].edges for k in both])
            shared = sorted(values["curves"].keys() & values[EBM].keys())
            ebm = np.mean([values[EBM][k].auc for k in shared]) if shared else np.nan
            if shared:
                leads[name, epsilon] = np.mean([values["curves"][k].auc for k in shared]) - ebm
            lost = "  LOST" if gain < -LOST and gain < -2.0 * error else ""
            print(
                f"{name + '*' * is_aside(name):<15}{epsilon:>4g}{plain.mean():>8.4f}{curves.mean():>8.4f}"
                f"{gain:>+9.4f}{error:>8.4f}{edges:>6.1f}{ebm:>8.4f}{lost}"
            )
    print("\n* set aside.  Not private, plain and curves:")
    for name in chosen:
        aucs = [
            [row.auc for cell, row in rows.items() if (cell.table, cell.learner) == (name, learner)]
            for learner in OPEN
        ]
        if all(aucs):
            print(f"{name:<15}{np.mean(aucs[0]):>8.4f}{np.mean(aucs[1]):>8.4f}")
    groups = {"all": lambda name: True, "set aside": is_aside, "the others": lambda name: not is_aside(name)}
    for title, belongs in groups.items():
        print(f"\nMeans over tables, {title}:")
        for epsilon in EPSILONS:
            gain = [g for (name, e), (g, _) in gains.items() if e == epsilon and belongs(name)]
            lead = [g for (name, e), g in leads.items() if e == epsilon and belongs(name)]
            if gain:
                over = f", above {EBM} {np.mean(lead):+.4f} ({len(lead)})" if lead else ""
                print(f"  eps {epsilon:<4g} above plain {np.mean(gain):+.4f} ({len(gain)} tables){over}")


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
    todo = [
        cell
        for cell in cells(options.learners, options.tables or list(records()))
        if cell.split < options.splits and (cell not in rows or cell in stale)
    ]
    if EBM in options.learners and (reason := rivals.missing("interpret/classifier")):
        print(f"skipped: {reason}")
        todo = [cell for cell in todo if cell.learner != EBM]
    for cell in todo:
        try:
            row = measure(cell)
        except rivals.RivalFailed as failure:
            print(f"{cell}: {failure}", flush=True)
            continue
        write(read() | {cell: row})
        print(*cell, f"{row.auc:.4f}", row.edges, f"{row.seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
