"""Private scores: estimates with intervals."""

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
        A 95% confidence interval for the exact score on these records, including the error from bins.
    noise : float
        Half-width of the interval for the noise alone.
    binning : float
        Largest possible error from bins: the order of scores within a bin, or their place in it, is unknown.
        0 if the score depends on predicted labels only.
    population : pair of float
        A 95% confidence interval for the score in the population from which the records were drawn
        independently. It includes noise, bins and sampling error.
    price : str
        The price of this score, as epsilon at delta and rho; "" for the scores of an evaluation, which have
        one price together.
    known : bool
        False if the interval holds all possible values. The value then means nothing.
    """

    value: float
    interval: Interval
    noise: float
    binning: float
    population: Interval
    price: str = ""
    known: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the score in a form that JSON can hold.

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
            return f"unknown, because the noise is too large: in [{low:.3f}, {high:.3f}]{price}"
        return f"{self.value:.3f} in [{low:.3f}, {high:.3f}] (noise ±{self.noise:.3f}{bins}){price}"

    def __float__(self) -> float:
        return self.value


def score(middle: Ratio, least: Ratio, most: Ratio, within: Interval, population: Interval) -> Score:
    """Return a score for which bins allow values from `least` to `most`; its range is `within`."""
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
    """Return the part of an interval that lies inside another one."""
    bottom, top = within
    return float(np.clip(low, bottom, top)), float(np.clip(high, bottom, top))


@dataclass(frozen=True, eq=False)
class ConfusionMatrix:
    """The number of records with each true and each predicted label.

    Attributes
    ----------
    labels : tuple
        The labels of rows (true) and columns (predicted).
    counts : array of shape (n_classes, n_classes)
        Estimates, which noise may make negative; sums of weights if records have weights.
    low, high : arrays of the same shape
        95% confidence intervals for each exact count.
    noise : float
        The largest half-width of these intervals.
    price : str
        The price of this matrix, as epsilon at delta and rho; "" for that of an evaluation, whose scores have
        one price together.
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
        """Return the matrix in a form that JSON can hold.

        Returns
        -------
        matrix : dict
            The attributes by name.
        """
        arrays = {name: getattr(self, name).tolist() for name in ("counts", "low", "high")}
        return {"labels": list(self.labels), **arrays, "noise": self.noise}


@dataclass(frozen=True, eq=False)
class ClassScores:
    """A share for each class, each with its own 95% confidence interval.

    Attributes
    ----------
    labels : tuple
        The classes.
    values : array of shape (n_classes,)
        Estimates.
    low, high : arrays of the same shape
        95% confidence intervals for each exact share.
    """

    labels: tuple[Any, ...]
    values: Vector
    low: Vector
    high: Vector

    def to_dict(self) -> dict[str, Any]:
        """Return the shares in a form that JSON can hold.

        Returns
        -------
        shares : dict
            The attributes by name.
        """
        arrays = {name: getattr(self, name).tolist() for name in ("values", "low", "high")}
        return {"labels": list(self.labels), **arrays}


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve in which each point has its own 95% confidence interval.

    Attributes
    ----------
    columns : dict of arrays
        One entry for each point. ROC curve: threshold, fpr, fpr_low, fpr_high, tpr, tpr_low, tpr_high.
        Calibration curve: lowest, highest (the public bounds of a group of predicted probabilities),
        predicted (an estimate of their mean), observed, observed_low, observed_high (the share of the second
        label), records. If the noise is too large, a value is NaN, or its interval is [0, 1].
    price : str
        The price of this curve, as epsilon at delta and rho; "" for that of an evaluation, whose scores have
        one price together.
    """

    columns: dict[str, Vector]
    price: str = ""

    def __getitem__(self, name: str) -> Vector:
        return self.columns[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the curve in a form that JSON can hold.

        Returns
        -------
        curve : dict
            Lists by name; NaN is None, and an infinite threshold a very large one.
        """
        return {
            name: [None if math.isnan(entry) else float(np.nan_to_num(entry)) for entry in column]
            for name, column in self.columns.items()
        }
