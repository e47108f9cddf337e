"""Intervals around objective perturbation (Wang, Kifer & Lee 2019), on cells of the base design.

The loss is perturbed by a random linear term and regularised, as the proof of claim O1 in docs/privacy.md
requires, and minimised exactly. The interval is around the minimiser, with the plug-in covariance H^-1 (V +
sigma^2 I) H^-1. The baseline gets numbers for free that it would have to pay for: the exact H and V at its
weights, and the exact .9 quantile of the records' lengths. Longer records count less, as in privfit. The
perturbation gets all of epsilon and delta, or half of them, as if the rest paid for H and V. The regulariser
moves the minimiser, so coverage is counted twice: for the minimiser in the population with the same
regulariser, and for the coefficients with which the labels were drawn.

`python benchmarks/interval_baseline.py` writes interval_baseline.csv; `--table` prints it as Markdown.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import interval_designs as designs
import numpy as np
from interval_rows import Cell, verdicts
from interval_rows import read as read_intervals
from intervals import DELTA, POPULATION, SEED, Sums, commit, exact, variances
from scipy import special

from privfit.losses.logistic import LOGISTIC
from privfit.solvers.objective_perturbation import noise_scale, ridge_and_rest

PATH = Path(__file__).with_name("interval_baseline.csv")
CELLS = (Cell("base", 2_000, 6, 4.0), Cell("base", 20_000, 6, 0.5), Cell("base", 20_000, 6, 1.0))
REPETITIONS, CURVATURE_SHARE, LONG_RECORDS = 200, 0.2, 0.1
SHARES = (1.0, 0.5)  # shares of epsilon and delta for the perturbation; the rest would pay for H and V
FIELDS = (
    "n",
    "p",
    "epsilon",
    "share",
    "version",
    "repetitions",
    "of_minimiser",
    "of_coefficients",
    "beside_open",
)


def sums(
    sample: designs.Sample, v: np.ndarray, radius: float, targets: np.ndarray, ridge: float, tilt: np.ndarray
) -> Sums:
    """Return curvature, spread and gradient of the perturbed objective of rows of length at most 1."""
    d = len(v)
    found = exact(sample, v / radius, np.eye(d) / radius, 1.0, targets)
    return Sums(found.curvature + ridge * np.eye(d), found.spread, found.gradient + ridge * v + tilt)


def minimised(start: np.ndarray, *objective: Any) -> np.ndarray:
    """Minimise by Newton's method, from weights near the minimum."""
    v = start
    for _ in range(50):
        found = sums(objective[0], v, *objective[1:])
        step = np.linalg.solve(found.curvature, found.gradient)
        v = v - step / max(1.0, float(np.linalg.norm(step)))
        if np.linalg.norm(step) < 1e-9:
            return v
    raise RuntimeError("Newton's method did not converge")


def measured(cell: Cell, share: float) -> dict[str, object]:
    """Count how often the intervals of all repetitions hold the effects."""
    truth = designs.coefficients(cell.design, cell.p)
    d, quantile = len(truth), special.ndtri(0.975)
    population = designs.draw(cell.design, POPULATION, cell.p, np.random.default_rng(SEED))
    radius = float(np.quantile(np.linalg.norm(population.columns, axis=1), 1.0 - LONG_RECORDS))
    ridge, rest = ridge_and_rest(LOGISTIC, share * cell.epsilon, 0.0, CURVATURE_SHARE)
    sigma = noise_scale(1.0, rest, share * DELTA)
    alike = ridge * POPULATION / cell.n
    target = minimised(radius * truth, population, radius, population.chances, alike, np.zeros(d))
    of_minimiser, of_coefficients, beside_open = np.zeros(d, int), np.zeros(d, int), 0.0
    for repetition in range(REPETITIONS):
        rng = np.random.default_rng([SEED, cell.n, int(10 * cell.epsilon), repetition])
        sample = designs.draw(cell.design, cell.n, cell.p, rng)
        tilt = sigma * rng.normal(size=d)
        v = minimised(target, sample, radius, sample.y, ridge, tilt)
        found = sums(sample, v, radius, sample.y, ridge, tilt)
        errors = np.sqrt(variances(found, np.eye(d) / radius, sigma**2 * np.eye(d)))
        openly = exact(sample, truth, np.eye(d), np.inf, sample.y)
        of_minimiser += np.abs(v - target) / radius <= quantile * errors
        of_coefficients += np.abs(v / radius - truth) <= quantile * errors
        beside_open += float((errors / np.sqrt(variances(openly, np.eye(d), np.zeros((d, d))))).sum())
    counts = (" ".join(map(str, each)) for each in (of_minimiser, of_coefficients))
    told = (cell.n, cell.p, f"{cell.epsilon:g}", share, commit(), REPETITIONS, *counts, f"{beside_open:.2f}")
    return dict(zip(FIELDS, told, strict=True))


def read() -> list[dict[str, str]]:
    with PATH.open(newline="") as file:
        return list(csv.DictReader(file))


def table() -> Iterator[str]:
    """Yield the lines of a Markdown table, with the intervals of privfit beside the baseline's."""
    yield (
        "| n | p | ε | for the perturbation | fits | 95%: its minimiser | 95%: the coefficients "
        "| width / open | privfit: width / open |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    ours = verdicts(read_intervals())
    for row in read():
        cell = Cell("base", int(row["n"]), int(row["p"]), float(row["epsilon"]))
        minimiser, coefficients = (
            np.array(row[name].split(), int) for name in ("of_minimiser", "of_coefficients")
        )
        answers = int(row["repetitions"]) * len(minimiser)
        shares = (f"{each.sum() / answers:.3f}".lstrip("0") for each in (minimiser, coefficients))
        told = [f"{cell.n:,}", str(cell.p), f"{cell.epsilon:g}", f"{float(row['share']):.0%}"]
        told += [row["repetitions"], *shares, f"{float(row['beside_open']) / answers:.2f}"]
        yield "| " + " | ".join([*told, f"{ours[cell].beside_open:.2f}"]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true")
    if not parser.parse_args().table:
        rows = [measured(cell, share) for cell in CELLS for share in SHARES]
        with PATH.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    print(*table(), sep="\n")


if __name__ == "__main__":
    main()
