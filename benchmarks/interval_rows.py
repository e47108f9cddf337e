"""The file with the counts of `intervals.py`, and a check of the counts against the bars."""

from __future__ import annotations

import csv
import functools
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import interval_designs as designs
import numpy as np

PATH = Path(__file__).with_name("intervals.csv")
LEVELS = {0.95: (0.93, 0.98), 0.90: (0.88, 0.95)}  # for each level, the required range of coverage
ENOUGH_REACH = 70.0  # in units of d^1.5 / lambda: from this reach on, only few effects may be refused
MOST_REFUSED, WIDEST = 0.1, 1.2
# coverage (and width) of an effect, or of a cell, is judged if there are at least so many answers
JUDGED = 50
# if a larger share of effects is refused, a cell's answers are pooled with those of other cells
SURVIVORS = 0.95


class Cell(NamedTuple):
    """What is fitted."""

    design: str
    n: int
    p: int
    epsilon: float


class Row(NamedTuple):
    """The counts of a batch of repetitions and their commit: one for each effect, the intercept last."""

    version: str
    date: str
    repetitions: int
    reach: float
    answered: np.ndarray
    within_95: np.ndarray
    within_90: np.ndarray
    naive_95: np.ndarray
    beside_exact: float  # sums of widths over the answered
    beside_open: float
    seconds: float

    def __add__(self, other: Row) -> Row:  # type: ignore[override]  # rows add up; tuples would be joined
        """Add up counts and sums; fields about a single fit are kept."""
        first, last = self._asdict(), other._asdict()
        kept = ("version", "date", "reach")
        return Row(**{name: value if name in kept else value + last[name] for name, value in first.items()})


FIELDS = (*Cell._fields, "batch", *Row._fields)
Rows = dict[tuple[Cell, int], Row]


# -- the file


def read(path: Path = PATH) -> Rows:
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return dict(_parsed(line) for line in csv.DictReader(file))


def _parsed(line: dict[str, str]) -> tuple[tuple[Cell, int], Row]:
    cell = Cell(line["design"], int(line["n"]), int(line["p"]), float(line["epsilon"]))
    counts = (np.array(line[name].split(), dtype=int) for name in Row._fields[4:8])
    numbers = (float(line[name]) for name in Row._fields[8:])
    row = Row(
        line["version"], line["date"], int(line["repetitions"]), float(line["reach"]), *counts, *numbers
    )
    return (cell, int(line["batch"])), row


def write(rows: Rows, path: Path = PATH) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for (cell, batch), row in sorted(rows.items(), key=lambda item: item[0]):
            counts = (" ".join(map(str, each)) for each in row[4:8])
            numbers = (f"{value:.2f}" for value in row[8:])
            told = (row.version, row.date, row.repetitions, f"{row.reach:.1f}", *counts, *numbers)
            writer.writerow([cell.design, cell.n, cell.p, f"{cell.epsilon:g}", batch, *told])


# -- what it says


class Verdict(NamedTuple):
    """Coverage by level, pooled and for the effects that are farthest from it, and the other bars."""

    repetitions: int
    answers: int
    refused: float
    must_answer: bool
    pooled: dict[float, float]
    least: dict[float, float]
    most: dict[float, float]
    naive: float
    beside_exact: float
    beside_open: float
    failed: tuple[str, ...]


def verdicts(rows: Rows) -> dict[Cell, Verdict]:
    """Compare every cell with the bars."""
    return {cell: verdict(cell, row) for cell, row in _together(rows).items()}


def _together(rows: Rows) -> dict[Cell, Row]:
    """Add up the batches of every cell."""
    together: dict[Cell, Row] = {}
    for (cell, _), row in sorted(rows.items(), key=lambda item: item[0]):
        together[cell] = together[cell] + row if cell in together else row
    return together


def verdict(cell: Cell, row: Row) -> Verdict:
    """Compare one cell with the bars: coverage within two standard errors, refusals, width."""
    answers, asked = int(row.answered.sum()), _asked(row)
    needed = ENOUGH_REACH * len(row.answered) ** 1.5 / least_eigenvalue(cell.design, cell.p)
    must, refused, failed = row.reach >= needed, 1.0 - answers / asked, []
    pooled, least, most = {}, {}, {}
    judged = row.answered >= JUDGED
    for level, within in ((0.95, row.within_95), (0.90, row.within_90)):
        pooled[level] = within.sum() / answers if answers else np.nan
        single = within[judged] / row.answered[judged]
        least[level], most[level] = (single.min(), single.max()) if judged.any() else (np.nan, np.nan)
        # effects of one fit are not independent of one another: as if each fit had one answer only
        fits = min(row.repetitions, answers)
        failed += _misses(f"{level:.0%}", LEVELS[level], pooled[level], fits) if answers >= JUDGED else []
        worst = row.answered[judged].min() if judged.any() else 0
        for which, value in (("least", least[level]), ("most", most[level])):
            failed += _misses(f"{level:.0%}, {which}", LEVELS[level], value, worst) if worst else []
    exactly, openly = ((total / answers if answers else np.nan) for total in row[8:10])
    if must and refused > MOST_REFUSED:
        failed.append("refusals")
    if answers >= JUDGED and exactly > WIDEST:
        failed.append("width")
    naive = row.naive_95.sum() / answers if answers else np.nan
    widths = exactly, openly
    return Verdict(
        row.repetitions, answers, refused, must, pooled, least, most, naive, *widths, tuple(failed)
    )


class Survivors(NamedTuple):
    """The answers of all cells in which nearly all effects are refused, pooled."""

    repetitions: int
    answers: int
    asked: int
    pooled: dict[float, float]
    naive: float
    beside_exact: float
    beside_open: float
    failed: tuple[str, ...]


def survivors(rows: Rows) -> Survivors:
    """Pool the few answers of cells in which at least `SURVIVORS` of the effects are refused.

    They are judged as if each fit had only one answer, because effects of one fit are not independent.
    """
    together = _together(rows).values()
    chosen = [row for row in together if row.answered.sum() <= (1.0 - SURVIVORS) * _asked(row)]
    answers = sum(int(row.answered.sum()) for row in chosen)
    fits = sum(min(row.repetitions, int(row.answered.sum())) for row in chosen)
    within = ((0.95, "within_95"), (0.90, "within_90"))
    pooled = {level: sum(getattr(row, name).sum() for row in chosen) / answers for level, name in within}
    naive = sum(row.naive_95.sum() for row in chosen) / answers
    exactly, openly = (sum(row[k] for row in chosen) / answers for k in (8, 9))
    failed = [
        miss for level in LEVELS for miss in _misses(f"{level:.0%}", LEVELS[level], pooled[level], fits)
    ]
    if exactly > WIDEST:
        failed.append("width")
    repetitions, asked = sum(row.repetitions for row in chosen), sum(map(_asked, chosen))
    return Survivors(repetitions, answers, asked, pooled, naive, exactly, openly, tuple(failed))


def _asked(row: Row) -> int:
    return row.repetitions * len(row.answered)


def _misses(name: str, bar: tuple[float, float], value: float, count: int) -> list[str]:
    """Return the bar's name if a share is more than two standard errors outside it."""
    errors = [2.0 * np.sqrt(end * (1.0 - end) / count) for end in bar]
    return [] if bar[0] - errors[0] <= value <= bar[1] + errors[1] else [name]


@functools.cache
def least_eigenvalue(design: str, p: int) -> float:
    return designs.least_eigenvalue(design, p)


def table(rows: Rows) -> Iterator[str]:
    """Yield the lines of a Markdown table with a row for each cell, and name those without an answer."""
    yield (
        "| design | n | p | ε | fits | refused | 95%: all (effects) | 90%: all (effects) | naive 95% "
        "| width / exact | width / open | misses |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    by_cell = verdicts(rows)
    in_order = sorted(by_cell, key=lambda cell: (designs.DESIGNS.index(cell.design), cell[1:]))
    unanswered = [cell for cell in in_order if np.isnan(by_cell[cell].pooled[0.95])]
    for cell in in_order:
        if cell in unanswered:
            continue
        found = by_cell[cell]
        shares = [
            f"{_share(found.pooled[level])} ({_share(found.least[level])} to {_share(found.most[level])})"
            if not np.isnan(found.least[level])
            else _share(found.pooled[level])
            for level in LEVELS
        ]
        refused = f"{found.refused:.0%}" + (" (bar: 10%)" if found.must_answer else "")
        widths = [f"{found.beside_exact:.2f}", f"{found.beside_open:.2f}"]
        cell_of = f"{cell.design} | {cell.n:,} | {cell.p} | {cell.epsilon:g}"
        told = [f"{found.repetitions:,}", refused, *shares, _share(found.naive), *widths]
        yield f"| {cell_of} | " + " | ".join([*told, "; ".join(found.failed)]) + " |"
    labels = {key: row for key, row in rows.items() if key[0].design not in designs.TARGET_BOUNDS}
    for name, of in (("survivors", rows), ("survivors with labels", labels)):
        few = survivors(of)
        told = [f"{few.repetitions:,}", f"{few.answers:,} of {few.asked:,} answered"]
        told += [*(_share(few.pooled[level]) for level in LEVELS), _share(few.naive)]
        told += [f"{few.beside_exact:.2f}", f"{few.beside_open:.2f}", "; ".join(few.failed)]
        yield f"| {name} |  |  |  | " + " | ".join(told) + " |"
    if unanswered:
        yield ""
        yield from textwrap.wrap(_without_an_answer({cell: by_cell[cell] for cell in unanswered}), 99)


def _without_an_answer(cells: dict[Cell, Verdict]) -> str:
    """Name the cells of which all effects are refused: design, records x columns, epsilons."""
    epsilons: dict[str, dict[str, list[str]]] = {}
    for cell in cells:
        sizes = epsilons.setdefault(cell.design, {})
        sizes.setdefault(f"{cell.n:,} x {cell.p}", []).append(f"{cell.epsilon:g}")
    named = []
    for design, sizes in epsilons.items():
        places = [f"{size} at ε {', '.join(at)}" for size, at in sizes.items()]
        named.append(f"{design} ({'; '.join(places)})")
    fits = {verdict.repetitions for verdict in cells.values()}
    return f"All effects of {min(fits):,} fits or more each are refused (100%) in {', '.join(named)}."


def _share(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}".lstrip("0")
