"""The values of every learner in every cell, read from the rows, and comparisons of two learners."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from comparison import measures
from comparison.learners import CURVES, EBM, LOGISTIC, OURS
from comparison.rows import Cell, Row
from comparison.tables import NAMES, OTHER_TARGETS

EPSILONS = ("0.1", "0.5", "1", "4")
FIXED, REST_OF_GRID, BEST = "Opacus", "Opacus, grid", "Opacus, best of grid"
RIVALS = ("DP-EBM", "diffprivlib", FIXED, BEST)
PRIVATE = (OURS, CURVES, *RIVALS)
OPEN = (LOGISTIC, EBM)
TWO_CLASSES = tuple(name for name in NAMES if name not in OTHER_TARGETS)
LOWER_IS_BETTER = ("log_loss", "calibration_error", "seconds")
MEASURES = (*measures.NAMES, "seconds")
MEANT = 0.003  # smaller differences count as equal

Values = Mapping[int, float]  # by split


class Place(NamedTuple):
    """A cell of the page; epsilon is empty for learners without privacy."""

    table: str
    epsilon: str
    learner: str
    measure: str


def mean(values: Iterable[float]) -> float:
    """Return the mean over splits."""
    return float(np.mean(list(values)))


@dataclass(frozen=True)
class Lead:
    """The difference between two learners on the splits that both have; positive if the first is better."""

    difference: float
    error: float

    @property
    def verdict(self) -> int:
        """1 for better, -1 for worse by more than MEANT and two standard errors, otherwise 0."""
        if abs(self.difference) <= max(MEANT, 2.0 * self.error):
            return 0
        return 1 if self.difference > 0.0 else -1


class Results:
    """The values of all cells, with the best of Opacus' settings for every number as one more learner."""

    def __init__(self, rows: Mapping[Cell, Row]) -> None:
        by_setting: dict[Place, dict[str, dict[int, float]]] = {}
        for cell, row in rows.items():
            for measure in MEASURES:
                value = getattr(row, measure)
                if value is not None:
                    learner = FIXED if cell.learner == REST_OF_GRID else cell.learner
                    place = Place(cell.table, cell.epsilon, learner, measure)
                    by_setting.setdefault(place, {}).setdefault(cell.setting, {})[cell.split] = value
        fixed = {cell.setting for cell in rows if cell.learner == FIXED}
        self._values: dict[Place, Values] = {}
        for place, settings in by_setting.items():
            if place.learner != FIXED:
                (self._values[place],) = settings.values()
                continue
            for setting in fixed & settings.keys():
                self._values[place] = settings[setting]
            if place.measure != "seconds" and settings.keys() - fixed:
                shared = set.intersection(*(set(values) for values in settings.values()))
                tried = [{split: values[split] for split in shared} for values in settings.values()]
                pick = min if place.measure in LOWER_IS_BETTER else max
                best = pick(tried, key=lambda values: mean(values.values()))
                self._values[place._replace(learner=BEST)] = best

    def values(self, place: Place) -> Values:
        """Return the values of a cell by split, perhaps none; learners without privacy have no epsilon."""
        if place.learner in OPEN:
            place = place._replace(epsilon="")
        return self._values.get(place, {})

    def mean(self, place: Place) -> float | None:
        """Return the mean of a cell over its splits; for seconds, the median."""
        values = self.values(place)
        if not values:
            return None
        if place.measure == "seconds":
            return float(np.median(list(values.values())))
        return mean(values.values())

    def lead(self, place: Place, other: str) -> Lead | None:
        """Return the lead of a learner over another one, or None if one of them was not run."""
        ours, theirs = self.values(place), self.values(place._replace(learner=other))
        shared = sorted(ours.keys() & theirs.keys())
        if not shared:
            return None
        sign = -1.0 if place.measure in LOWER_IS_BETTER else 1.0
        leads = [sign * (ours[split] - theirs[split]) for split in shared]
        error = float(np.std(leads, ddof=1)) / math.sqrt(len(leads)) if len(leads) > 1 else math.inf
        return Lead(mean(leads), error)

    def leads(self, learner: str, other: str, measure: str) -> dict[tuple[str, str], Lead]:
        """Return the leads of a learner over another one for every table and epsilon that both have."""
        found = {}
        for table in NAMES:
            for epsilon in EPSILONS:
                lead = self.lead(Place(table, epsilon, learner, measure), other)
                if lead is not None:
                    found[table, epsilon] = lead
        return found


def main_measure(table: str) -> str:
    """Return the main score of a table: AUC for two classes, and accuracy or R² for other targets."""
    return "auc" if table in TWO_CLASSES else "score"
