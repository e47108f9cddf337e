"""The tables of the comparison, each in a form for linear models and in one for additive models.

They were chosen by a rule before anything was run on them: Adult and Bank with their own columns; for every
kind in the list of dense development tables (PRIVFIT_DATA/tables) the real one with the most records and at
most 128 columns; of the tables with numbers and of those with many classes (PRIVFIT_DATA/tables3) the largest
ones. Sparse tables are left out, because the other libraries get dense arrays.
"""

from __future__ import annotations

import csv
import functools
import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from privfit.datasets import load_adult
from privfit.datasets.bank import BANK_SCHEMA, SOURCE
from privfit.datasets.dataset import encode, raw_columns
from privfit.datasets.sources import locate, reading
from privfit.schema import Boolean, Categorical, Label, NumberLabel, Numeric, Schema
from privfit.schema.column import Column

SEED = 20261120
HELD_OUT = 0.2
TWO_CLASSES, CLASSES, NUMBERS = "two classes", "several classes", "numbers"
WITH_SCHEMA = ("adult", "bank")
DEVELOPMENT = {
    "digits-odd": "pixels",
    "mushroom": "one-hot",
    "page-blocks": "numbers, some with heavy tails",
    "card-late": "numbers and rare 0/1 columns",
    "abalone19": "0.8% positives",
    "default": "3% positives",
    "compas": "mixed and small",
    "optdigits-odd": "numbers that go together",
}
OTHER_TARGETS = {"vocabulary": NUMBERS, "cps1988": NUMBERS, "optdigits": CLASSES}
NAMES = (*WITH_SCHEMA, *DEVELOPMENT, *OTHER_TARGETS)


@dataclass(frozen=True)
class Table:
    """A table whose public facts are known.

    Parameters
    ----------
    name, kind
        Its name, and whether its target has two classes, several or is a number.
    matrix
        The rows for linear models: numbers scaled to [0, 1] by their declared bounds, and an indicator for
        each category.
    independent
        The columns of this matrix without the last category of each column, which the others determine.
    columns
        The rows for additive models: a number or the code of a category in each column.
    nominal, low, high
        Which of the columns hold codes, and the declared bounds of each.
    frame, schema
        The rows for privfit.
    y
        Classes 0 to K - 1, or numbers.
    target_bounds
        The declared bounds of numbers.
    """

    name: str
    kind: str
    matrix: np.ndarray
    independent: np.ndarray
    columns: np.ndarray
    nominal: tuple[int, ...]
    low: np.ndarray
    high: np.ndarray
    frame: dict[str, np.ndarray]
    schema: Schema
    y: np.ndarray
    target_bounds: tuple[float, float] | None = None

    @property
    def n_classes(self) -> int | None:
        """How many classes there are, or None for numbers."""
        return None if self.kind == NUMBERS else int(self.y.max()) + 1

    @functools.cached_property
    def row_norm(self) -> float:
        """The largest norm of the table's rows, rounded up to a tenth and taken as public."""
        return math.ceil(10.0 * float(np.linalg.norm(self.matrix, axis=1).max())) / 10.0

    def split(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the training and of the held-out records of a split."""
        order = np.random.default_rng([SEED, number]).permutation(len(self.y))
        return tuple(np.split(order, [int((1.0 - HELD_OUT) * len(self.y))]))


@functools.lru_cache(maxsize=1)
def table(name: str) -> Table:
    """Load a table; only the last table is kept in memory."""
    return _with_schema(name) if name in WITH_SCHEMA else _of_numbers(name)


def missing(name: str) -> str | None:
    """Return why a table cannot be loaded here, or None if it can; Bank is downloaded."""
    if name in WITH_SCHEMA or "PRIVFIT_DATA" in os.environ:
        return None
    return "PRIVFIT_DATA does not name the folder of the development tables"


def _with_schema(name: str) -> Table:
    if name == "adult":
        bunch = load_adult()
        frame, labels, schema = bunch.frame, np.asarray(bunch.target), bunch.schema
    else:
        schema = BANK_SCHEMA
        with reading(locate(SOURCE, None)) as file:
            rows = list(csv.reader(file.readlines(), delimiter=";"))[1:]
        frame, labels = raw_columns(rows, schema)
    columns, nominal, bounds = [], [], []
    for position, fact in enumerate(schema.columns):
        values = frame[fact.name]
        if isinstance(fact, Categorical):
            nominal.append(position)
            # cells that are not a declared category are one more category
            codes = {category: code for code, category in enumerate(fact.categories)}
            values = np.array([codes.get(value, len(codes)) for value in values], float)
            bounds.append((0.0, float(len(codes))))
        else:
            bounds.append((fact.low, fact.high))
        columns.append(values)
    low, high = np.array(bounds, float).T
    return Table(
        name=name,
        kind=TWO_CLASSES,
        matrix=encode(frame, schema).toarray(),
        independent=np.arange(len(schema.feature_names)),
        columns=np.column_stack(columns),
        nominal=tuple(nominal),
        low=low,
        high=high,
        frame=frame,
        schema=schema,
        y=(labels == schema.label.classes[1]).astype(int),
    )


def _of_numbers(name: str) -> Table:
    folder = Path(os.environ["PRIVFIT_DATA"])
    kind, target_bounds = TWO_CLASSES, None
    with np.load(folder / ("tables3" if name in OTHER_TARGETS else "tables") / f"{name}.npz") as parts:
        X, y = parts["X"], parts["y"]
        if name not in OTHER_TARGETS:
            y = (y > 0).astype(int)
        else:
            kind = OTHER_TARGETS[name]
            low, high = parts["low"].astype(float), parts["high"].astype(float)
            X = ((X - low) / np.where(high > low, high - low, 1.0)).astype(np.float32)
            if kind == NUMBERS:
                target_bounds = (float(parts["y_low"]), float(parts["y_high"]))
                y = y.astype(float)
            else:
                y = np.unique(y, return_inverse=True)[1]
    groups = _categories(X)
    columns = np.column_stack(
        [X[:, group].argmax(axis=1) if len(group) > 1 else X[:, group[0]] for group in groups]
    ).astype(float)
    is_code = [len(group) > 1 or bool(np.isin(X[:, group[0]], (0.0, 1.0)).all()) for group in groups]
    names = [f"column {group[0]}" for group in groups]
    facts: list[Column] = []
    frame = {}
    for position, (name_, group) in enumerate(zip(names, groups, strict=True)):
        if len(group) > 1:
            codes = [str(code) for code in range(len(group))]
            facts.append(Categorical(name_, codes))
            frame[name_] = np.array(codes, object)[columns[:, position].astype(int)]
        else:
            facts.append(Boolean(name_) if is_code[position] else Numeric(name_, 0, 1))
            frame[name_] = columns[:, position]
    classes = tuple(range(int(y.max()) + 1))
    label = NumberLabel("target", *target_bounds) if target_bounds else Label("target", classes)
    return Table(
        name=name,
        kind=kind,
        matrix=X,
        independent=np.array([j for group in groups for j in (group[:-1] or group)]),
        columns=columns,
        nominal=tuple(np.flatnonzero(is_code).tolist()),
        low=np.zeros(len(groups)),
        high=np.array([max(len(group) - 1.0, 1.0) for group in groups]),
        frame=frame,
        schema=Schema(columns=tuple(facts), label=label),
        y=y,
        target_bounds=target_bounds,
    )


def _categories(X: np.ndarray) -> list[list[int]]:
    """Return groups of columns: neighbouring indicators, one of which is 1 in each row, or a single column.

    Additive models get such indicators as one column of categories.
    """
    groups: list[list[int]] = []
    start, width = 0, X.shape[1]
    while start < width:
        total, stop = np.zeros(len(X)), start
        while stop < width and np.isin(X[:, stop], (0.0, 1.0)).all() and total.max() <= 1.0:
            total, stop = total + X[:, stop], stop + 1
            if (total == 1.0).all():
                break
        found = stop if (total == 1.0).all() else start + 1
        groups.append(list(range(start, found)))
        start = found
    return groups
