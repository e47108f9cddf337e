"""Finished cells on disk, one complete line of CSV for each."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from privfit.experiments.designs import Cell
from privfit.experiments.fit import Outcome

COLUMNS = (*Cell._fields, "seed", *Outcome._fields)
EARLIER_COLUMNS = COLUMNS[: COLUMNS.index("alpha")]  # before rows had counts and a fingerprint


_COUNTS = ("choices", "rejected", "stalled", "descents", "rejected_descents")


class Results:
    """The finished cells of one experiment.

    Each row is appended at once and forced to the disk. It counts if its line has an end. So a killed process
    leaves at most a part of a line, which the next run removes before it appends. If a cell is run again, it
    gets another row. The last row counts, and earlier ones are removed when the file is closed.
    """

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.seed = path, seed

    def finished(self) -> dict[Cell, Outcome]:
        """Return the finished cells of this seed."""
        lines = self._whole().decode().splitlines()
        if lines and tuple(next(csv.reader(lines[:1]))) not in (COLUMNS, EARLIER_COLUMNS):
            raise ValueError(f"{self.path} has other columns than this version writes; move it away.")
        rows = {}
        for number, row in enumerate(csv.DictReader(lines), start=2):
            try:
                cell, seed, outcome = _parse(row)
            except (TypeError, ValueError):
                raise ValueError(f"Line {number} of {self.path} is damaged; delete that line.") from None
            if seed == self.seed:
                rows[cell] = outcome
        return rows

    @contextmanager
    def appending(self) -> Iterator[None]:
        """Open the file at the end of its last whole line, with the columns of this version.

        When it is closed, each cell has one row.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = self._whole().decode().splitlines(keepends=True)
        if lines and tuple(next(csv.reader(lines[:1]))) == EARLIER_COLUMNS:
            self._rewrite(lines)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            whole = len(self._whole())
            os.ftruncate(self._file, whole)
            if not whole:
                self._write(COLUMNS)
            yield
        finally:
            os.close(self._file)
            self._keep_the_last_of_each_cell()

    def append(self, cell: Cell, outcome: Outcome) -> None:
        """Add a finished cell, durably."""
        self._write((*cell, self.seed, *outcome))

    def _keep_the_last_of_each_cell(self) -> None:
        lines = self._whole().decode().splitlines(keepends=True)
        last = {_parse(row)[:2]: line for line, row in zip(lines[1:], csv.DictReader(lines), strict=True)}
        if len(last) < len(lines) - 1:
            self._rewrite([*lines[:1], *last.values()])

    def _rewrite(self, lines: list[str]) -> None:
        """Replace the file by these lines, the heading first, with all columns of this version."""
        new = self.path.with_suffix(".new")
        with new.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(csv.DictReader(lines))
        new.replace(self.path)

    def _whole(self) -> bytes:
        content = self.path.read_bytes() if self.path.exists() else b""
        return content[: content.rfind(b"\n") + 1]

    def _write(self, row: tuple[object, ...]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(row)
        line = text.getvalue().encode()
        if os.write(self._file, line) != len(line):
            raise OSError(f"{self.path} could not be written to the end of a line; is the disk full?")
        os.fsync(self._file)


def _parse(row: dict[str, str]) -> tuple[Cell, int, Outcome]:
    """Read one line; values that an earlier version, or an algorithm, does not have are None."""
    cell = Cell(
        row["experiment"],
        row["dataset"],
        row["loss"],
        row["algorithm"],
        float(row["epsilon"]),
        float(row["value"]) if row["value"] else None,
        int(row["repetition"]),
        int(row["fold"]),
    )
    counts = {name: int(row[name]) for name in _COUNTS if row.get(name)}
    alpha, share = row.get("alpha"), row.get("selection_share")
    outcome = Outcome(
        float(row["accuracy"]),
        float(row["objective"]),
        float(row["seconds"]),
        int(row["steps"]),
        int(row["records"]),
        float(alpha) if alpha else None,
        **counts,
        selection_share=float(share) if share else None,
        fingerprint=row.get("fingerprint") or "",
    )
    return cell, int(row["seed"]), outcome
