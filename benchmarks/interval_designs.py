"""Simulated tables whose effects are known, for `intervals.py`.

Columns are correlated, and the scores of the records have a standard deviation of about 1.5. In all designs
but "misspecified" the model is correct, so effects are the coefficients with which the labels were drawn.
With three classes these are the differences from the first class, class by class. Numbers are the scores and
normal noise, heavy numbers the scores and noise with three degrees of freedom, and counts have means of
e^score. Their declared bounds are so wide that hardly any target is beyond them. "Undeclared" is the base
design without declared bounds and without a declared number of records, and with alpha > 0.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from privfit.schema import Categorical, Label, Numeric, Schema

SPREAD, OFFSET = 1.5, -0.5  # the standard deviation of the scores, and the intercept
BOUND = 5.0  # the bound of columns of numbers; those with heavy tails have 10
ROWS_PER_PERSON = 2
# numbers of levels of the categories, by the number of effects of the table
LEVELS = {6: (2, 4), 30: (2, 4, 5, 5, 6, 8)}
PLAIN = ("base", "misspecified", "heavy tails", "weighted", "persons")
MIXED, CLASSES = "mixed", "three classes"
NUMBERS, HEAVY_NUMBERS, COUNTS, UNDECLARED = "numbers", "heavy numbers", "counts", "undeclared"
DESIGNS = (*PLAIN, MIXED, CLASSES, NUMBERS, HEAVY_NUMBERS, COUNTS, UNDECLARED)
# standard deviation of the logarithms of the means, and their intercept
SPREAD_OF_COUNTS, OFFSET_OF_COUNTS = 0.4, 0.5
TARGET_BOUNDS = {NUMBERS: (-8.0, 8.0), HEAVY_NUMBERS: (-20.0, 20.0), COUNTS: (0.0, 20.0)}
ALPHA = 0.02  # in the design in which nothing is declared


@dataclass(frozen=True, eq=False)
class Sample:
    """Records of a design.

    Parameters
    ----------
    columns : array of shape (n, d)
        The columns to which weights belong, with an indicator for every level and a last column of ones.
    chances : array of shape (n,), or (n, 3) with three classes
        The probability of the label 1, or of each class; for numbers and counts the mean.
    y : array of shape (n,)
        Labels 0 and 1, classes from 0 on, numbers or counts.
    weights : array of shape (n,) or None
        How much each record counts, at most 1.
    people : array of shape (n,) or None
        The person of each record; people have `ROWS_PER_PERSON` records.
    codes : tuple of arrays
        The level of each category of each record.
    """

    columns: np.ndarray
    chances: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None = None
    people: np.ndarray | None = None
    codes: tuple[np.ndarray, ...] = ()


def bound(design: str) -> float:
    """Return the declared bound of all columns of numbers."""
    return 1.0 if design == MIXED else 2.0 * BOUND if design == "heavy tails" else BOUND


@functools.cache
def coefficients(design: str, p: int) -> np.ndarray:
    """Return the coefficients of all columns, 0 for reference levels, the intercept's last."""
    rng = np.random.default_rng([p, 2026])
    if design == CLASSES:
        found = np.column_stack([rng.normal(size=(2, p)), np.zeros(2)])
        scores = _columns(design, 100_000, p, rng)[0] @ found.T
        found *= SPREAD / scores.std(axis=0)[:, None]
        found[:, -1] = OFFSET - SPREAD * scores.mean(axis=0) / scores.std(axis=0)
        return found.ravel()
    if design != MIXED:
        found = np.append(rng.normal(size=p), 0.0)
    else:
        found = rng.normal(size=sum(LEVELS[p]) + _numbers(p) + 1)
        found[: _numbers(p)] *= 6.0  # numbers have a small range, so their coefficients are larger
        found[[columns[0] for columns in blocks(p)]] = found[-1] = 0.0
    scores = _columns(design, 100_000, p, rng)[0] @ found
    spread, offset = (SPREAD_OF_COUNTS, OFFSET_OF_COUNTS) if design == COUNTS else (SPREAD, OFFSET)
    found *= spread / scores.std()
    found[-1] = offset - (spread / scores.std()) * scores.mean()
    return found


def blocks(p: int) -> list[np.ndarray]:
    """Return the columns of each category of a mixed table."""
    ends = _numbers(p) + np.cumsum((0, *LEVELS[p]))
    return [np.arange(first, last) for first, last in itertools.pairwise(ends)]


def schema(p: int) -> Schema:
    """Return the public facts of a mixed table."""
    numbers = [Numeric(f"x{j}", 0.0, 1.0) for j in range(_numbers(p))]
    categories = [
        Categorical(f"c{k}", [f"level {i}" for i in range(levels)], missing="refuse")
        for k, levels in enumerate(LEVELS[p])
    ]
    return Schema([*numbers, *categories], label=Label("y", ("0", "1"), positive="1"))


def frame(sample: Sample, p: int) -> dict[str, np.ndarray]:
    """Return the raw columns of a mixed table."""
    found = {f"x{j}": sample.columns[:, j] for j in range(_numbers(p))}
    names = np.array([f"level {i}" for i in range(max(LEVELS[p]))], dtype=object)
    return found | {f"c{k}": names[codes] for k, codes in enumerate(sample.codes)}


def draw(design: str, n: int, p: int, rng: np.random.Generator) -> Sample:
    """Draw records of a design."""
    rows = n // ROWS_PER_PERSON if design == "persons" else n
    columns, codes = _columns(design, rows, p, rng)
    weights = people = None
    if design == "persons":  # a person's records have similar features and correlated labels
        people = np.repeat(np.arange(rows), ROWS_PER_PERSON)
        columns = columns[people]
        columns[:, :p] = np.clip(
            0.9 * columns[:, :p] + np.sqrt(0.19) * rng.normal(size=(n, p)), -BOUND, BOUND
        )
        shared, own = rng.normal(size=rows)[people], rng.normal(size=n)
        chance = special.ndtr(np.sqrt(0.6) * shared + np.sqrt(0.4) * own)
    else:
        chance = rng.random(n)
    if design == CLASSES:
        scores = columns @ coefficients(design, p).reshape(2, -1).T
        chances = special.softmax(np.column_stack([np.zeros(n), scores]), axis=1)
        return Sample(columns, chances, (chance[:, None] > np.cumsum(chances, axis=1)[:, :2]).sum(axis=1))
    scores = columns @ coefficients(design, p)
    if design == "misspecified":
        scores += 0.6 * (columns[:, 0] ** 2 - 1.0) + 0.5 * columns[:, 1] * columns[:, 2]
    if design in (NUMBERS, HEAVY_NUMBERS):
        noise = special.ndtri(chance) if design == NUMBERS else special.stdtrit(3, chance)
        return Sample(columns, scores, scores + noise)
    if design == COUNTS:
        return Sample(columns, np.exp(scores), rng.poisson(np.exp(scores)))
    chances = special.expit(scores)
    if design == "weighted":
        weights = np.clip(np.exp(-0.7 + 0.4 * columns[:, 0] + 0.4 * rng.normal(size=n)), 0.0, 1.0)
    return Sample(columns, chances, (chance < chances).astype(int), weights, people, codes)


def _numbers(p: int) -> int:
    """Return the number of columns of numbers in a mixed table."""
    return p - sum(levels - 1 for levels in LEVELS[p])


def _columns(design: str, n: int, p: int, rng: np.random.Generator) -> tuple[np.ndarray, tuple]:
    """Draw all columns, the column of ones last, and the levels of the categories."""
    if design != MIXED:
        features = _hanging_together(n, p, rng)
        if design == "heavy tails":  # t with 4 degrees of freedom
            features *= np.sqrt(2.0 / rng.chisquare(4, size=(n, 1)))
        np.clip(features, -bound(design), bound(design), out=features)
        return np.column_stack([features, np.ones(n)]), ()
    hidden = _hanging_together(n, _numbers(p) + len(LEVELS[p]), rng)
    numbers = np.clip(0.5 + hidden[:, : _numbers(p)] / 8.0, 0.0, 1.0)
    codes = tuple(_levels(hidden[:, _numbers(p) + k], levels) for k, levels in enumerate(LEVELS[p]))
    indicators = [np.eye(levels)[code] for levels, code in zip(LEVELS[p], codes, strict=True)]
    return np.column_stack([numbers, *indicators, np.ones(n)]), codes


def _hanging_together(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Draw normal columns, each correlated with the one before it by one half."""
    features = rng.normal(size=(n, p))
    for j in range(1, p):
        features[:, j] = 0.5 * features[:, j - 1] + np.sqrt(0.75) * features[:, j]
    return features


def _levels(hidden: np.ndarray, levels: int) -> np.ndarray:
    """Divide a column into levels, each with about two thirds of the records of the level before it."""
    shares = 0.65 ** np.arange(levels)
    return np.searchsorted(np.cumsum(shares / shares.sum())[:-1], special.ndtr(hidden))


def least_eigenvalue(design: str, p: int) -> float:
    """Return the least eigenvalue of the correlation matrix of the contrasts."""
    columns = draw(design, 100_000, p, np.random.default_rng(1)).columns[:, :-1]
    references = [columns[0] for columns in blocks(p)] if design == MIXED else []
    correlations = np.corrcoef(np.delete(columns, references, axis=1), rowvar=False)
    return float(np.linalg.eigvalsh(correlations)[0])


def free(design: str, p: int) -> Iterator[int]:
    """Yield the numbers of the effects: all columns but those of reference levels."""
    references = {int(columns[0]) for columns in blocks(p)} if design == MIXED else set()
    return (j for j in range(len(coefficients(design, p))) if j not in references)
