"""Measure the coverage of the intervals of `inference=True` on simulated tables with known effects.

A base design of 27 cells (records x columns x epsilon), at epsilon 1 one cell each with mixed columns, a
wrong model, heavy tails, weights and people with two records, two cells with three classes, three cells each
with numbers, numbers with heavy tails (Huber) and counts, and one in which nothing is declared and alpha > 0;
delta = 1e-6, otherwise bounds and number of records declared, seeded noise with a seed for each repetition.
For each effect, the script counts how often the interval holds the estimand, among the fits that answered.
The estimand is the coefficient with which the labels were drawn. If the model is wrong or alpha > 0, it is
the best weight for the population, in which long records count as little as in the fit. Widths are compared
with those for exact H and V and the same noise of the last step, and with those of the sandwich without
privacy. Naive intervals are those of the same fits without the noise part.

Rows are kept in intervals.csv, one for each batch of repetitions, so that a run continues where the last one
stopped. `--again` replaces the rows of other commits. `--table` prints the file as Markdown. `--halves` and
`--predictions` are about real tables, see `interval_tables.py`.
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

from privfit import DPHuberRegressor, DPLinearRegression, DPLogisticRegression, DPPoissonRegressor
from privfit.accounting import Gaussian
from privfit.estimators import effects
from privfit.losses.huber import HUBER, TAU
from privfit.losses.poisson import POISSON
from privfit.losses.squared import SQUARED
from privfit.solvers.last_steps import limits_of

DELTA, SEED = 1e-6, 20261118
MANY_RECORDS = 200_000
SIZES, COLUMNS, EPSILONS = (2_000, 20_000, MANY_RECORDS), (6, 30, 100), (0.5, 1.0, 4.0)
REPETITIONS, FEW = 1_000, 100  # repetitions in a cell; with many records there are few
BATCH = {2_000: 250, 20_000: 100, MANY_RECORDS: 25}
POPULATION = 100_000  # number of records from which the estimand of a wrong model is computed
REGRESSIONS = {
    designs.NUMBERS: (DPLinearRegression, SQUARED),
    designs.HEAVY_NUMBERS: (DPHuberRegressor, HUBER),
    designs.COUNTS: (DPPoissonRegressor, POISSON),
}


def cells() -> list[Cell]:
    """Return all cells."""
    base = [Cell("base", *size) for size in itertools.product(SIZES, COLUMNS, EPSILONS)]
    others = [
        Cell(design, n, p, 1.0)
        for design, n, p in itertools.product(designs.DESIGNS, SIZES[:2], COLUMNS[:2])
        if design in (*designs.PLAIN[1:], designs.MIXED)
    ]
    of_numbers = [
        Cell(design, n, 6, epsilon)
        for design in REGRESSIONS
        for n, epsilon in ((2_000, 4.0), (20_000, 1.0), (20_000, 4.0))
    ]
    of_classes = [Cell(designs.CLASSES, 20_000, 6, epsilon) for epsilon in EPSILONS[1:]]
    return base + others + of_classes + of_numbers + [Cell(designs.UNDECLARED, 20_000, 6, 1.0)]


def batches(chosen: list[Cell]) -> list[tuple[Cell, int]]:
    """Return the batches of some cells: the first of all cells, the cheapest before the others, and so on."""
    found = [
        (cell, batch)
        for cell in chosen
        for batch in range((FEW if cell.n == MANY_RECORDS else REPETITIONS) // BATCH[cell.n])
    ]
    return sorted(found, key=lambda each: (each[1], each[0].n * each[0].p))


def reach(cell: Cell) -> float:
    """Return n sqrt(2 rho), with the number of people instead of records if there are people."""
    rho = Gaussian.of(epsilon=cell.epsilon, delta=DELTA).rho
    people = cell.n / (designs.ROWS_PER_PERSON if cell.design == "persons" else 1)
    return people * float(np.sqrt(2.0 * rho))


# -- one fit


def fitted(cell: Cell, sample: designs.Sample, seed: int) -> Any:
    settings: dict[str, Any] = {"noise": "seeded", "random_state": seed, "inference": True}
    rows: Any = sample.columns[:, :-1]
    labels: Any = sample.y
    if cell.design == designs.UNDECLARED:
        settings |= {"classes": (0, 1), "alpha": designs.ALPHA}
        return DPLogisticRegression(cell.epsilon, DELTA, **settings).fit(rows, labels)
    settings["n_records"] = cell.n
    if cell.design in REGRESSIONS:
        bound = designs.bound(cell.design)
        settings |= {
            "feature_bounds": (-bound, bound),
            "target_bounds": designs.TARGET_BOUNDS[cell.design],
        }
        return REGRESSIONS[cell.design][0](cell.epsilon, DELTA, **settings).fit(rows, labels)
    if cell.design == designs.MIXED:
        settings["schema"] = designs.schema(cell.p)
        rows, labels = designs.frame(sample, cell.p), labels.astype(str).astype(object)
    else:
        bound = designs.bound(cell.design)
        classes = (0, 1, 2) if cell.design == designs.CLASSES else (0, 1)
        settings |= {"feature_bounds": (-bound, bound), "classes": classes}
    if sample.weights is not None:
        settings["max_weight"] = 1.0
    if sample.people is not None:
        settings["rows_per_person"] = designs.ROWS_PER_PERSON
    model = DPLogisticRegression(cell.epsilon, DELTA, **settings)
    return model.fit(rows, labels, sample.weights, groups=sample.people)


class Unit(NamedTuple):
    """The unit of the targets in a fit: their center, their scale, and the bounds of slopes and of means."""

    center: float = 0.0
    scale: float = 1.0
    slope: float = 1.0
    mean: float = np.inf


LABELS = Unit()


def fitted_with_unit(cell: Cell, sample: designs.Sample, seed: int) -> tuple[Any, Unit]:
    """Return a fit and the unit that it bought for numbers and counts, which models do not keep."""
    if cell.design not in REGRESSIONS:
        slope = np.sqrt(2.0) if cell.design == designs.CLASSES else 1.0  # the longest that a record can have
        return fitted(cell, sample, seed), LABELS._replace(slope=slope)
    found = list[Unit]()
    low, high = designs.TARGET_BOUNDS[cell.design]

    def noting(curator: Any, solution: Any, budget: float, categories: Any, ends: Any) -> Any:
        limits = limits_of(REGRESSIONS[cell.design][1], ends, solution.target_center, solution.target_scale)
        encoded = (high - low) / (ends[1] - ends[0])  # bounds are symmetric, or begin at 0
        center, scale = encoded * solution.target_center, encoded * solution.target_scale
        found.append(Unit(center, scale, limits.slope, limits.mean))
        return steps(curator, solution, budget, categories, ends)

    steps, effects.last_steps = effects.last_steps, noting
    try:
        return fitted(cell, sample, seed), found[0] if found else LABELS
    finally:
        effects.last_steps = steps


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


def derivatives(
    design: str, scores: np.ndarray, targets: np.ndarray, unit: Unit
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the slope, the second derivative and the predicted mean of each record in the unit of a fit."""
    if design in (designs.NUMBERS, designs.HEAVY_NUMBERS):
        means, seconds = (scores - unit.center) / unit.scale, np.ones(len(scores))
        slopes = (scores - targets) / unit.scale
        if design == designs.HEAVY_NUMBERS:
            seconds, slopes = (np.abs(slopes) < TAU).astype(float), np.clip(slopes, -TAU, TAU)
        return slopes, seconds, means
    if design == designs.COUNTS:
        means = np.exp(scores) / unit.scale
        return means - targets / unit.scale, means, means
    chances = special.expit(scores)
    return chances - targets, chances * (1.0 - chances), chances


def exact(
    sample: designs.Sample,
    w: np.ndarray,
    directions: np.ndarray,
    radius: float,
    targets: np.ndarray,
    design: str = "base",
    unit: Unit = LABELS,
) -> Sums:
    """Compute the sums of a fit without noise; no record counts less if the radius is infinite."""
    of_weights = 1.0 if design == designs.COUNTS else unit.scale
    rows = sample.columns @ directions / of_weights
    shares = np.minimum(1.0, radius**2 / np.maximum((rows * rows).sum(axis=1), 1e-300))
    if sample.weights is not None:
        shares = shares * sample.weights
    slopes, seconds, means = derivatives(design, sample.columns @ w, targets, unit)
    if np.isfinite(radius):
        shares = shares * np.minimum(1.0, unit.mean / np.maximum(np.abs(means), 1e-300))
    scores = (shares * slopes)[:, None] * rows
    if sample.people is not None:  # the scores of a person add up before they are squared
        scores = scores.reshape(-1, designs.ROWS_PER_PERSON, rows.shape[1]).sum(axis=1)
    alpha = designs.ALPHA * len(rows) if design == designs.UNDECLARED else 0.0
    curvature = (rows * (shares * seconds)[:, None]).T @ rows + alpha * directions.T @ directions
    return Sums(curvature, scores.T @ scores, scores.sum(axis=0) + alpha * directions.T @ w)


def exact_of_classes(
    sample: designs.Sample, w: np.ndarray, directions: np.ndarray, radius: float, targets: np.ndarray
) -> Sums:
    """Compute the same for three classes, whose weights are differences from the first class, by class."""
    of_classes = directions.reshape(2, -1, directions.shape[1])
    # a row of a difference of classes has the length sqrt(2) in the basis of the classes
    lengths = ((sample.columns @ of_classes[0]) ** 2).sum(axis=1) / 2.0
    shares = np.minimum(1.0, radius**2 / np.maximum(lengths, 1e-300))
    against_the_first = np.column_stack([np.zeros(len(shares)), sample.columns @ w.reshape(2, -1).T])
    chances = special.softmax(against_the_first, axis=1)[:, 1:]
    slopes = chances - (targets[:, None] == np.array([1, 2]))
    scores = sum((shares * slopes[:, k])[:, None] * sample.columns @ of_classes[k] for k in range(2))
    curvature = np.zeros((directions.shape[1],) * 2)
    for k, m in itertools.product(range(2), repeat=2):
        seconds = shares * chances[:, k] * ((k == m) - chances[:, m])
        curvature += of_classes[k].T @ ((sample.columns.T * seconds) @ sample.columns) @ of_classes[m]
    return Sums(curvature, scores.T @ scores, scores.sum(axis=0))


def radius_of(model: Any, slope: float, rows_per_person: int = 1) -> float:
    """Return the length beyond which records counted less, from the price of V and its noise."""
    rho = model.privacy_.spending["squared scores for the effects"]
    return float(np.sqrt(model.inference_.sigma_spread * np.sqrt(2.0 * rho))) / (slope * rows_per_person)


@functools.lru_cache(maxsize=1)
def population(cell: Cell) -> designs.Sample:
    """Return records whose labels are replaced by their probabilities, without the noise of labels."""
    return designs.draw(cell.design, POPULATION, cell.p, np.random.default_rng(SEED))


def estimand(cell: Cell, found: Any, radius: float) -> np.ndarray:
    """Return what a fit estimates: the coefficients or, if they are not the best, its own projection."""
    w = designs.coefficients(cell.design, cell.p)
    if cell.design not in ("misspecified", designs.UNDECLARED):
        return w
    return projected(cell, unweighted(cell), found.directions, radius, 3)


@functools.lru_cache(maxsize=1)
def unweighted(cell: Cell) -> np.ndarray:
    """Return the best weights for the population, in which all count alike: close to any other projection."""
    w = designs.coefficients(cell.design, cell.p)
    return projected(cell, w, np.eye(len(w)), np.inf, 6)


def projected(cell: Cell, w: np.ndarray, directions: np.ndarray, radius: float, steps: int) -> np.ndarray:
    """Return the weights to which Newton's steps on the population lead."""
    people = population(cell)
    for _ in range(steps):
        sums = exact(people, w, directions, radius, people.chances, cell.design)
        w = w - directions @ np.linalg.solve(sums.curvature, sums.gradient)
    return w


def variances(sums: Sums, effects: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return the variances of effects, a column of directions each, by a sandwich with the noise in V."""
    v = np.linalg.solve(sums.curvature, effects)
    return np.einsum("ik,ij,jk->k", v, sums.spread + noise, v)


def measured(cell: Cell, repetition: int) -> tuple[np.ndarray, ...]:
    """Fit one table; return the counts for each effect, and the widths with those of the two references."""
    key = [SEED, designs.DESIGNS.index(cell.design), cell.n, cell.p, int(10 * cell.epsilon), repetition]
    sample = designs.draw(cell.design, cell.n, cell.p, np.random.default_rng(key))
    model, unit = fitted_with_unit(cell, sample, repetition)
    found = model.inference_
    chosen = np.array(list(designs.free(cell.design, cell.p)))
    all_effects = found.effects
    judged = [all_effects[j] for j in chosen]
    radius = radius_of(model, unit.slope, 1 if sample.people is None else designs.ROWS_PER_PERSON)
    truth = estimand(cell, found, radius)[chosen]
    answered = np.array([effect.refused is None for effect in judged])
    held = {}
    for level in LEVELS:
        low, high = np.array([effect.interval(level) for effect in judged]).T
        held[level] = answered & (low <= truth) & (truth <= high)
        if level == 0.95:
            width = high - low
    centre, naive = np.array([(effect.estimate, effect.sampling) for effect in judged]).T
    naive_held = answered & (np.abs(centre - truth) <= special.ndtri(0.975) * naive)

    u, half = found.step, 0.5 * found.sigma_curvature**2
    noise = (found.sigma_gradient**2 + half * (u @ u)) * np.eye(len(u)) + half * np.outer(u, u)
    before = found.corrected + found.directions @ u  # the weights at which H and V were measured
    along = found.directions[chosen].T
    sums: Any = functools.partial(exact, design=cell.design, unit=unit)
    if cell.design == designs.CLASSES:
        sums = exact_of_classes
    best = variances(sums(sample, before, found.directions, radius, sample.y), along, noise)
    alone = variances(sums(sample, before, found.directions, np.inf, sample.y), along, 0.0 * noise)
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


@functools.cache  # the commit of the code that runs, even if something is committed meanwhile
def commit() -> str:
    asked = ["git", "-C", str(PATH.parent), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=designs.DESIGNS, default=designs.DESIGNS)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--columns", nargs="+", type=int, default=COLUMNS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--batches", type=int, help="only so many batches of each cell")
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
        if cell.design in options.only
        and cell.n in options.sizes
        and cell.p in options.columns
        and cell.epsilon in options.epsilons
    ]
    here = commit()
    for cell, batch in batches(wanted):
        if options.batches is not None and batch >= options.batches:
            continue
        rows = read()
        if (cell, batch) in rows and not (options.again and rows[cell, batch].version != here):
            continue
        row = measure(cell, batch)
        write(read() | {(cell, batch): row})
        shares = f"{row.within_95.sum()}/{row.answered.sum()} of {row.repetitions * len(row.answered)}"
        print(*cell, batch, shares, f"{row.seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
