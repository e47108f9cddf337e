"""Finished cells on disk: one line of CSV each, whole or not there at all."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from privfit.experiments.cells import Cell
from privfit.experiments.fit import Outcome

COLUMNS = (*Cell._fields, "seed", *Outcome._fields)


class Results:
    """The finished cells of one experiment.

    A row is one append that is forced to the disk, and counts once its line has an end. A kill can therefore
    leave at most a piece of a line behind, which the next run cuts off before it appends.
    """

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.seed = path, seed

    def finished(self) -> dict[Cell, Outcome]:
        """Return what is finished under this seed."""
        lines = self._whole().decode().splitlines()
        if lines and tuple(next(csv.reader(lines[:1]))) != COLUMNS:
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
        """Open the file at the end of its last whole line."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            whole = len(self._whole())
            os.ftruncate(self._file, whole)
            if not whole:
                self._write(COLUMNS)
            yield
        finally:
            os.close(self._file)

    def append(self, cell: Cell, outcome: Outcome) -> None:
        """Add a finished cell, durably."""
        self._write((*cell, self.seed, *outcome))

    def drop(self, unwanted: Callable[[Cell], bool]) -> None:
        """Take rows of this seed out of the file."""
        lines = self._whole().decode().splitlines(keepends=True)
        kept = lines[:1]
        for line, row in zip(lines[1:], csv.DictReader(lines), strict=True):
            cell, seed, _ = _parse(row)
            if seed != self.seed or not unwanted(cell):
                kept.append(line)
        new = self.path.with_suffix(".new")
        new.write_text("".join(kept), encoding="utf-8")
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
    text = {name: row[name] for name in COLUMNS}
    cell = Cell(
        text["experiment"],
        text["dataset"],
        text["loss"],
        text["algorithm"],
        float(text["epsilon"]),
        float(text["value"]) if text["value"] else None,
        int(text["repetition"]),
        int(text["fold"]),
    )
    outcome = Outcome(
        float(text["accuracy"]),
        float(text["objective"]),
        float(text["seconds"]),
        int(text["steps"]),
        int(text["records"]),
    )
    return cell, int(text["seed"]), outcome
