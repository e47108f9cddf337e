"""A private score: what it is estimated to be, and what is known of how far off that is."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privfit.metrics.estimates import Interval, Ratio
from privfit.metrics.strategies import Vector


@dataclass(frozen=True)
class Score:
    """A score of a model on held-out records.

    Attributes
    ----------
    value : float
        The estimate.
    interval : pair of float
        Where the exact score on these records is, with a confidence of 95%; bins are allowed for.
    noise : float
        Half-width of what the noise alone leaves open.
    binning : float
        Half-width of what bins leave open, at worst: how scores in one bin are ordered, or where in it they
        lie. 0 where only predicted labels count.
    population : pair of float
        Where the score in the population is, with a confidence of 95%, if the records were drawn from it
        independently: noise, bins and sampling.
    price : str
        What this score alone cost, as epsilon at delta and rho; "" for one of the scores of an evaluation,
        which has the price of them all.
    known : bool
        Whether anything is known: False if the interval is all that is possible. The value is then in its
        middle, or what noise made of it, and says nothing.
    """

    value: float
    interval: Interval
    noise: float
    binning: float
    population: Interval
    price: str = ""
    known: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the score as what JSON can hold.

        Returns
        -------
        score : dict
            The attributes by name; price if there is one, and known if it is False.
        """
        held = asdict(self)
        if not self.price:
            del held["price"]
        if self.known:
            del held["known"]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in held.items()}

    def __str__(self) -> str:
        low, high = self.interval
        bins = f", bins ±{self.binning:.3f}" if self.binning >= 5e-4 else ""
        price = f"; price: {self.price}" if self.price else ""
        if not self.known:
            return f"nothing is known at this budget: it may be all of [{low:.3f}, {high:.3f}]{price}"
        return f"{self.value:.3f} in [{low:.3f}, {high:.3f}] (noise ±{self.noise:.3f}{bins}){price}"

    def __float__(self) -> float:
        return self.value


def score(middle: Ratio, least: Ratio, most: Ratio, within: Interval, population: Interval) -> Score:
    """Return the score of which bins allow values from `least` to `most`, all of which lie `within`."""
    bottom, top = within
    value = (bottom + top) / 2.0 if math.isnan(middle.value) else middle.value
    interval = clipped(min(least.low, middle.low), max(most.high, middle.high), within)
    return Score(
        float(np.clip(value, *within)),
        interval,
        min((middle.high - middle.low) / 2.0, (top - bottom) / 2.0),
        max(0.0, (most.value - least.value) / 2.0) if math.isfinite(middle.high) else 0.0,
        population,
        known=interval != (float(bottom), float(top)),
    )


def clipped(low: float, high: float, within: Interval) -> Interval:
    """Return an interval's part inside another one."""
    bottom, top = within
    return float(np.clip(low, bottom, top)), float(np.clip(high, bottom, top))


@dataclass(frozen=True, eq=False)
class ConfusionMatrix:
    """How many records of each label were predicted to have each label.

    Attributes
    ----------
    labels : tuple
        The labels of rows (true) and columns (predicted).
    counts : array of shape (n_classes, n_classes)
        Estimates, which noise may make negative; sums of weights if records have weights.
    low, high : arrays of the same shape
        Where each exact count is, with a confidence of 95%.
    noise : float
        Half-width of these intervals, the largest of all.
    price : str
        What this matrix alone cost, as epsilon at delta and rho; "" for that of an evaluation,
        which has the price of them all.
    """

    labels: tuple[Any, ...]
    counts: Vector
    low: Vector
    high: Vector
    price: str = ""

    @property
    def noise(self) -> float:
        """Half-width of the intervals."""
        return float(np.max(self.high - self.low)) / 2.0

    def to_dict(self) -> dict[str, Any]:
        """Return the matrix as what JSON can hold.

        Returns
        -------
        matrix : dict
            The attributes by name.
        """
        arrays = {name: getattr(self, name).tolist() for name in ("counts", "low", "high")}
        return {"labels": list(self.labels), **arrays, "noise": self.noise}


@dataclass(frozen=True, eq=False)
class ClassScores:
    """A share for each class, with an interval of 95% for each by itself.

    Attributes
    ----------
    labels : tuple
        The classes.
    values : array of shape (n_classes,)
        Estimates.
    low, high : arrays of the same shape
        Where each exact share is, with a confidence of 95%.
    """

    labels: tuple[Any, ...]
    values: Vector
    low: Vector
    high: Vector

    def to_dict(self) -> dict[str, Any]:
        """Return the shares as what JSON can hold.

        Returns
        -------
        shares : dict
            The attributes by name.
        """
        arrays = {name: getattr(self, name).tolist() for name in ("values", "low", "high")}
        return {"labels": list(self.labels), **arrays}


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve with an interval of 95% at each of its points, for each point by itself.

    Attributes
    ----------
    columns : dict of arrays
        One entry for each point. ROC curve: threshold, fpr, fpr_low, fpr_high, tpr, tpr_low, tpr_high.
        Calibration curve: lowest, highest (the public bounds of a group of predicted probabilities),
        predicted (an estimate of their mean), observed, observed_low, observed_high (the share of the second
        label), records. What noise hides is NaN, or everything from 0 to 1.
    price : str
        What this curve alone cost, as epsilon at delta and rho; "" for that of an evaluation,
        which has the price of them all.
    """

    columns: dict[str, Vector]
    price: str = ""

    def __getitem__(self, name: str) -> Vector:
        return self.columns[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as what JSON can hold.

        Returns
        -------
        curve : dict
            Lists by name; NaN is None, and an infinite threshold a very large one.
        """
        return {
            name: [None if math.isnan(entry) else float(np.nan_to_num(entry)) for entry in column]
            for name, column in self.columns.items()
        }
