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
import datetime
import functools
import itertools
import subprocess
import time
import warnings
from typing import Any, NamedTuple

import interval_designs as designs
import numpy as np
from interval_rows import LEVELS, PATH, Cell, Row, read, table, write
from scipy import special

from privfit import DPLogisticRegression
from privfit.accounting import Gaussian

DELTA, SEED = 1e-6, 20261118
MANY_RECORDS = 200_000
SIZES, COLUMNS, EPSILONS = (2_000, 20_000, MANY_RECORDS), (6, 30, 100), (0.5, 1.0, 4.0)
REPETITIONS, FEW = 1_000, 100  # in a cell; with many records few
BATCH = {2_000: 250, 20_000: 100, MANY_RECORDS: 25}
POPULATION = 100_000  # records of which the estimand of a wrong model is computed


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
    """Return the batches of some cells: the first of all cells, the cheapest before the others, and so on."""
    found = [
        (cell, batch)
        for cell in chosen
        for batch in range((FEW if cell.n == MANY_RECORDS else REPETITIONS) // BATCH[cell.n])
    ]
    return sorted(found, key=lambda each: (each[1], each[0].n * each[0].p))


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


def is_refused(cell: Cell) -> bool:
    """Return whether fits are refused before a charge, because nearly no effect would be answered."""
    try:
        fitted(cell, designs.draw(cell.design, cell.n, cell.p, np.random.default_rng(SEED)), 0)
    except ValueError as error:
        if "too small for standard errors" in str(error):
            return True
        raise
    return False


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
    return projected(cell, unweighted(cell), found.directions, radius, 3)


@functools.lru_cache(maxsize=1)
def unweighted(cell: Cell) -> np.ndarray:
    """Return the best weights for the population, in which all count alike: close to any other projection."""
    w = designs.coefficients(cell.design, cell.p)
    return projected(cell, w, np.eye(len(w)), np.inf, 6)


def projected(cell: Cell, w: np.ndarray, directions: np.ndarray, radius: float, steps: int) -> np.ndarray:
    """Return where Newton's steps on the population lead to."""
    people = population(cell)
    for _ in range(steps):
        sums = exact(people, w, directions, radius, people.chances)
        w = w - directions @ np.linalg.solve(sums.curvature, sums.gradient)
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
    before = found.corrected + found.directions @ u  # where H and V were asked
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
    first, size = batch * BATCH[cell.n], BATCH[cell.n]
    found = [] if is_refused(cell) else [measured(cell, first + k) for k in range(size)]
    nothing = (np.zeros(len(list(designs.free(cell.design, cell.p)))),) * 6
    *counts, exactly, openly = (np.sum(each, axis=0) for each in zip(*(*found, nothing), strict=True))
    return Row(
        commit(),
        datetime.date.today().isoformat(),
        size,
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
