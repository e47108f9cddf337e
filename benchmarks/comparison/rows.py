"""The file of rows, one for each fit, so that a run continues where the last one stopped."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from comparison.measures import NAMES

PATH = Path(__file__).parents[1] / "compare.csv"


class Cell(NamedTuple):
    """A fit: a learner, a table, an epsilon, a setting and a split."""

    table: str
    learner: str
    setting: str
    epsilon: str
    split: int


class Row(NamedTuple):
    """The scores of a fit, and the version of the library; None for scores that do not apply."""

    version: str
    score: float
    auc: float | None
    log_loss: float | None
    calibration_error: float | None
    seconds: float


FIELDS = (*Cell._fields, *Row._fields)


def read(path: Path = PATH) -> dict[Cell, Row]:
    """Return all rows of a file, or none if there is no such file."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {
            Cell(line["table"], line["learner"], line["setting"], line["epsilon"], int(line["split"])): Row(
                line["version"],
                *(float(line[name]) if line[name] else None for name in (*NAMES, "seconds")),
            )
            for line in csv.DictReader(file)
        }


def write(rows: Iterable[tuple[Cell, Row]], path: Path = PATH) -> None:
    """Write a whole file."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows(_line(*row) for row in rows)


def append(cell: Cell, row: Row, path: Path = PATH) -> None:
    """Add one row."""
    if not path.exists():
        write((), path)
    with path.open("a", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(_line(cell, row))


def _line(cell: Cell, row: Row) -> list[object]:
    numbers = ["" if value is None else f"{value:.5f}" for value in row[1:-1]]
    return [*cell, row.version, *numbers, f"{row.seconds:.2f}"]
