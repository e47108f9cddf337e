"""Do the intervals of `inference=True` hold what they say? Fits of simulated tables with known effects.

A base design of 27 cells (records x columns x epsilon), and at epsilon 1 one cell each with mixed columns, a
wrong model, heavy tails, weights and people with two records; delta = 1e-6, bounds and number of records
declared, seeded noise with a seed for each repetition. Counted is how often an interval holds the effect,
given that it was answered, for each effect. What is estimated is the coefficient that the labels were drawn
with; if the model is wrong, the weights that are best for the population when long records count as little
as they did in the fit. Widths stand beside those with exact H and V and the same noise, and beside those of
the sandwich without privacy. Naive intervals are those of the same fits without the part that is noise.

Rows are kept in intervals.csv, one for each batch of repetitions, so that a run goes on where the last one
stopped; `--again` replaces the rows of other commits. `--table` prints what the file says, as Markdown.
`--halves` and `--predictions` are about real tables, see `interval_tables.py`.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import functools
import itertools
import subprocess
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import interval_designs as designs
import numpy as np
from scipy import special

from privfit import DPLogisticRegression
from privfit.accounting import Gaussian

PATH = Path(__file__).with_suffix(".csv")
DELTA, SEED = 1e-6, 20261118
MANY_RECORDS = 200_000
SIZES, COLUMNS, EPSILONS = (2_000, 20_000, MANY_RECORDS), (6, 30, 100), (0.5, 1.0, 4.0)
REPETITIONS, FEW = 1_000, 100  # in a cell; with many records few
BATCH = {2_000: 250, 20_000: 100, MANY_RECORDS: 25}
POPULATION = 100_000  # records of which the estimand of a wrong model is computed
LEVELS = {0.95: (0.93, 0.98), 0.90: (0.88, 0.95)}  # and the coverage that is asked for
ENOUGH_REACH = 70.0  # times d^1.5 / lambda: from there on few effects may be refused
MOST_REFUSED, WIDEST = 0.1, 1.2
JUDGED = 50  # answers of one effect from which on its coverage is judged by itself


class Cell(NamedTuple):
    """What is fitted."""

    design: str
    n: int
    p: int
    epsilon: float


class Row(NamedTuple):
    """What a batch of repetitions found, of which commit; counts are of each effect, the intercept last."""

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

    def __add__(self, other: Row) -> Row:  # type: ignore[override]
        """Add up counts and sums; what is about a fit alone is kept."""
        first, last = self._asdict(), other._asdict()
        kept = ("version", "date", "reach")
        return Row(**{name: value if name in kept else value + last[name] for name, value in first.items()})


FIELDS = (*Cell._fields, "batch", *Row._fields)
Rows = dict[tuple[Cell, int], Row]


def cells() -> list[Cell]:
    """Return all cells."""
    base = [Cell("base", *size) for size in itertools.product(SIZES, COLUMNS, EPSILONS)]
    others = [
        Cell(design, n, p, 1.0)
        for design, n, p in itertools.product(designs.DESIGNS, SIZES[:2], COLUMNS[:2])
        if design != "base"
    ]
    return base + others


def batches(chosen: list[Cell]) -> list[tuple[Cell, int]]:
    """Return the batches of some cells, the cheapest and most telling first, so that all begin early."""
    found = [
        (cell, batch)
        for cell in chosen
        for batch in range((FEW if cell.n == MANY_RECORDS else REPETITIONS) // BATCH[cell.n])
    ]
    return sorted(found, key=lambda each: (each[1] // 2, each[0].n * each[0].p > 600_000, each[1]))


def reach(cell: Cell) -> float:
    """Return n sqrt(2 rho), with people instead of records where there are such."""
    rho = Gaussian.of(epsilon=cell.epsilon, delta=DELTA).rho
    people = cell.n / (designs.ROWS_PER_PERSON if cell.design == "persons" else 1)
    return people * float(np.sqrt(2.0 * rho))


# -- one fit


def fitted(cell: Cell, sample: designs.Sample, seed: int) -> DPLogisticRegression:
    settings: dict[str, Any] = {"n_records": cell.n, "noise": "seeded", "random_state": seed}
    rows: Any = sample.columns[:, :-1]
    labels: Any = sample.y
    if cell.design == designs.MIXED:
        settings["schema"] = designs.schema(cell.p)
        rows, labels = designs.frame(sample, cell.p), labels.astype(str).astype(object)
    else:
        bound = designs.bound(cell.design)
        settings |= {"feature_bounds": (-bound, bound), "classes": (0, 1)}
    if sample.weights is not None:
        settings["max_weight"] = 1.0
    if sample.people is not None:
        settings["rows_per_person"] = designs.ROWS_PER_PERSON
    model = DPLogisticRegression(cell.epsilon, DELTA, inference=True, **settings)
    return model.fit(rows, labels, sample.weights, groups=sample.people)


class Sums(NamedTuple):
    """Exact H, V and gradient at given weights, in the directions that a fit is free to choose."""

    curvature: np.ndarray
    spread: np.ndarray
    gradient: np.ndarray


def exact(
    sample: designs.Sample, w: np.ndarray, directions: np.ndarray, radius: float, targets: np.ndarray
) -> Sums:
    """Compute the sums of a fit without noise; no record counts less if the radius is infinite."""
    rows = sample.columns @ directions
    shares = np.minimum(1.0, radius**2 / np.maximum((rows * rows).sum(axis=1), 1e-300))
    if sample.weights is not None:
        shares = shares * sample.weights
    chances = special.expit(sample.columns @ w)
    scores = (shares * (chances - targets))[:, None] * rows
    if sample.people is not None:  # the scores of a person add up before they are squared
        scores = scores.reshape(-1, designs.ROWS_PER_PERSON, rows.shape[1]).sum(axis=1)
    curvature = (rows * (shares * chances * (1.0 - chances))[:, None]).T @ rows
    return Sums(curvature, scores.T @ scores, scores.sum(axis=0))


def radius_of(model: DPLogisticRegression, rows_per_person: int = 1) -> float:
    """Return the length beyond which records counted less, from the price of V and its noise."""
    rho = model.privacy_.spending["squared scores for the effects"]
    return float(np.sqrt(model.inference_.sigma_spread * np.sqrt(2.0 * rho))) / rows_per_person


@functools.lru_cache(maxsize=1)
def population(cell: Cell) -> designs.Sample:
    """Return records without the noise of labels: a chance stands for each."""
    return designs.draw(cell.design, POPULATION, cell.p, np.random.default_rng(SEED))


def estimand(cell: Cell, found: Any, radius: float) -> np.ndarray:
    """Return what a fit estimates: the coefficients or, of a wrong model, its own weighted projection."""
    w = designs.coefficients(cell.design, cell.p)
    if cell.design != "misspecified":
        return w
    people = population(cell)
    for _ in range(4):  # Newton's steps; the fourth is below 1e-6
        sums = exact(people, w, found.directions, radius, people.chances)
        w = w - found.directions @ np.linalg.solve(sums.curvature, sums.gradient)
    return w


def variances(sums: Sums, effects: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return the variances of effects, a column of directions each, by a sandwich with the noise in V."""
    v = np.linalg.solve(sums.curvature, effects)
    return np.einsum("ik,ij,jk->k", v, sums.spread + noise, v)


def measured(cell: Cell, repetition: int) -> tuple[np.ndarray, ...]:
    """Fit one table; return for each effect what is counted, and the widths beside the two others."""
    key = [SEED, designs.DESIGNS.index(cell.design), cell.n, cell.p, int(10 * cell.epsilon), repetition]
    sample = designs.draw(cell.design, cell.n, cell.p, np.random.default_rng(key))
    model = fitted(cell, sample, repetition)
    found = model.inference_
    chosen = np.array(list(designs.free(cell.design, cell.p)))
    effects = [found.effects[j] for j in chosen]
    radius = radius_of(model, 1 if sample.people is None else designs.ROWS_PER_PERSON)
    truth = estimand(cell, found, radius)[chosen]
    answered = np.array([effect.refused is None for effect in effects])
    held = {}
    for level in LEVELS:
        low, high = np.array([effect.interval(level) for effect in effects]).T
        held[level] = answered & (low <= truth) & (truth <= high)
        if level == 0.95:
            width = high - low
    centre, naive = np.array([(effect.estimate, effect.sampling) for effect in effects]).T
    naive_held = answered & (np.abs(centre - truth) <= special.ndtri(0.975) * naive)

    u, half = found.step, 0.5 * found.sigma_curvature**2
    noise = (found.sigma_gradient**2 + half * (u @ u)) * np.eye(len(u)) + half * np.outer(u, u)
    before = found.estimate + found.directions @ u  # where H and V were asked
    along = found.directions[chosen].T
    best = variances(exact(sample, before, found.directions, radius, sample.y), along, noise)
    alone = variances(exact(sample, before, found.directions, np.inf, sample.y), along, 0.0 * noise)
    ratios = [
        np.where(answered, width / (2.0 * special.ndtri(0.975) * np.sqrt(other)), 0.0)
        for other in (best, alone)
    ]
    return answered, held[0.95], held[0.90], naive_held, *ratios


def measure(cell: Cell, batch: int) -> Row:
    """Fit a batch of repetitions."""
    warnings.simplefilter("ignore")
    started = time.perf_counter()
    first = batch * BATCH[cell.n]
    found = [measured(cell, first + k) for k in range(BATCH[cell.n])]
    *counts, exactly, openly = (np.sum(each, axis=0) for each in zip(*found, strict=True))
    return Row(
        commit(),
        datetime.date.today().isoformat(),
        len(found),
        reach(cell),
        *(each.astype(int) for each in counts),
        float(exactly.sum()),
        float(openly.sum()),
        time.perf_counter() - started,
    )


@functools.cache  # of the code that runs, whatever is committed meanwhile
def commit() -> str:
    asked = ["git", "-C", str(PATH.parent), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


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
    """Coverage by level, pooled and of the effects that are farthest from it; and the rest of the bars."""

    repetitions: int
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
    """Add up the batches of every cell and hold them against the bars."""
    together: dict[Cell, Row] = {}
    for (cell, _), row in sorted(rows.items(), key=lambda item: item[0]):
        together[cell] = together[cell] + row if cell in together else row
    return {cell: verdict(cell, row) for cell, row in together.items()}


def verdict(cell: Cell, row: Row) -> Verdict:
    """Hold one cell against the bars: coverage within two standard errors, refusals, width."""
    answers, asked = int(row.answered.sum()), row.repetitions * len(row.answered)
    needed = ENOUGH_REACH * (cell.p + 1) ** 1.5 / least_eigenvalue(cell.design, cell.p)
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
    return Verdict(row.repetitions, refused, must, pooled, least, most, naive, exactly, openly, tuple(failed))


def _misses(name: str, bar: tuple[float, float], value: float, count: int) -> list[str]:
    """Return the bar's name if a share is more than two standard errors outside it."""
    errors = [2.0 * np.sqrt(end * (1.0 - end) / count) for end in bar]
    return [] if bar[0] - errors[0] <= value <= bar[1] + errors[1] else [name]


@functools.cache
def least_eigenvalue(design: str, p: int) -> float:
    return designs.least_eigenvalue(design, p)


def table(rows: Rows) -> Iterator[str]:
    """Yield the lines of a Markdown table with a row for each cell."""
    yield (
        "| design | n | p | ε | fits | refused | 95%: all (effects) | 90%: all (effects) | naive 95% "
        "| width / exact | width / open | misses |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    by_cell = verdicts(rows)
    for cell in sorted(by_cell, key=lambda cell: (designs.DESIGNS.index(cell.design), cell[1:])):
        found = by_cell[cell]
        answered = not np.isnan(found.pooled[0.95])
        shares = [
            f"{_share(found.pooled[level])} ({_share(found.least[level])} to {_share(found.most[level])})"
            if not np.isnan(found.least[level])
            else _share(found.pooled[level])
            for level in LEVELS
        ]
        refused = f"{found.refused:.0%}" + (" (bar: 10%)" if found.must_answer else "")
        widths = [f"{found.beside_exact:.2f}", f"{found.beside_open:.2f}"] if answered else ["", ""]
        cell_of = f"{cell.design} | {cell.n:,} | {cell.p} | {cell.epsilon:g}"
        told = [f"{found.repetitions:,}", refused, *shares, _share(found.naive), *widths]
        yield f"| {cell_of} | " + " | ".join([*told, "; ".join(found.failed)]) + " |"


def _share(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}".lstrip("0")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=designs.DESIGNS, default=designs.DESIGNS)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--columns", nargs="+", type=int, default=COLUMNS)
    parser.add_argument("--again", action="store_true", help="replace the rows of other commits")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--halves", action="store_true")
    parser.add_argument("--predictions", action="store_true")
    options = parser.parse_args()
    if options.halves or options.predictions:
        import interval_tables

        return interval_tables.main(halves=options.halves)
    if options.table:
        return print(*table(read()), sep="\n")
    wanted = [
        cell
        for cell in cells()
        if cell.design in options.only and cell.n in options.sizes and cell.p in options.columns
    ]
    here = commit()
    for cell, batch in batches(wanted):
        rows = read()
        if (cell, batch) in rows and not (options.again and rows[cell, batch].version != here):
            continue
        row = measure(cell, batch)
        write(read() | {(cell, batch): row})
        shares = f"{row.within_95.sum()}/{row.answered.sum()} of {row.repetitions * len(row.answered)}"
        print(*cell, batch, shares, f"{row.seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
