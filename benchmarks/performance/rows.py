"""The file of rows, one for each measured number, so that a run continues where it stopped."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

PATH = Path(__file__).parents[1] / "performance.csv"


class Place(NamedTuple):
    """The name of a measurement: a quantity of one case of a section."""

    section: str
    case: str
    quantity: str


class Row(NamedTuple):
    """The number, and the commit of the library that it was measured with."""

    value: float
    version: str


FIELDS = (*Place._fields, *Row._fields)


def read(path: Path = PATH) -> dict[Place, Row]:
    """Return all rows of a file, or none if there is no such file."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {
            Place(line["section"], line["case"], line["quantity"]): Row(float(line["value"]), line["version"])
            for line in csv.DictReader(file)
        }


def write(rows: Iterable[tuple[Place, Row]], path: Path = PATH) -> None:
    """Write a whole file."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows((*place, f"{row.value:.5g}", row.version) for place, row in rows)


class Results:
    """The numbers of all sections."""

    def __init__(self, rows: Mapping[Place, Row]) -> None:
        self.rows = rows

    def cases(self, section: str) -> list[str]:
        """Return the cases of a section, in the order of the file."""
        return list(dict.fromkeys(place.case for place in self.rows if place.section == section))

    def value(self, section: str, case: str, quantity: str) -> float | None:
        """Return a number, None if it was not measured."""
        row = self.rows.get(Place(section, case, quantity))
        return None if row is None else row.value

    def ratio(self, section: str, case: str, above: str, below: str) -> float | None:
        """Return one quantity of a case divided by another one, None unless both were measured."""
        first, second = (self.value(section, case, quantity) for quantity in (above, below))
        return None if first is None or second is None else first / second
