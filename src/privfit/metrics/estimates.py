"""Estimates of sums over records from a release, and intervals for scores, which are ratios of sums.

The noise of the sums is Gaussian with known covariance, so the interval of a ratio is Fieller's (1954): all
values r for which numerator - r * denominator = 0 is not rejected. It is exact for ratios of weighted sums,
and accurate enough for ratios of products. If the noise is too large, it holds all possible values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import ndtri

from privfit.curator import Measurement
from privfit.metrics.strategies import Strategy, Vector

LEVEL = 0.95
QUANTILE = float(ndtri((1.0 + LEVEL) / 2.0))

Interval = tuple[float, float]


@dataclass(frozen=True)
class Ratio:
    """An estimated ratio and its 95% interval, which is unbounded if nothing is known."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Estimates:
    """Noisy counts of cells, and after them sums of numbers between -1 and 1.

    Attributes
    ----------
    counts : array
        Unbiased estimates, in the units of the weights; those of cells may be negative.
    covariance : array
        That of their noise.
    unit : float
        The most that one person can add: the largest weight of a record (1 without weights) times the number
        of records of a person.
    n_cells : int
        The number of cells.
    edges : array
        Edges between the bins of scores, if cells are such bins.
    """

    counts: Vector
    covariance: Vector
    unit: float
    n_cells: int
    edges: Vector

    @classmethod
    def estimated(
        cls,
        released: Measurement,
        strategy: Strategy,
        n_records: int | None = None,
        max_weight: float = 1.0,
        per_person: int = 1,
    ) -> Self:
        """Return the estimates by least squares; cells add up to the number of records if that is public."""
        estimator, covariance = strategy.estimator
        counts, covariance = estimator @ released.value, released.sigma**2 * covariance
        n_cells = len(strategy.shares)
        if n_records is not None:
            with_total = covariance[:, :n_cells].sum(axis=1)
            correction = with_total / with_total[:n_cells].sum()
            counts = counts + correction * (n_records - counts[:n_cells].sum())
            covariance = covariance - np.outer(correction, with_total)
        unit = max_weight * per_person
        return cls(max_weight * counts, max_weight**2 * covariance, unit, n_cells, strategy.edges)

    @property
    def everybody(self) -> Vector:
        """The coefficients of the counts that give the number of records, or the sum of their weights."""
        return (np.arange(len(self.counts)) < self.n_cells).astype(np.float64)

    def with_sampling(self) -> Self:
        """Return the same with sampling error: the records were drawn at random from a population.

        The sampling variance of a count is the sum of squares of what people add, at most `unit` times the
        count.
        """
        likely = np.maximum(self.counts, 0.0) * self.everybody
        total, noisy_total = float(self.everybody @ self.counts), float(likely.sum())
        scale = max(total, 0.0) / noisy_total if noisy_total > 0.0 else 0.0
        return replace(self, covariance=self.covariance + np.diag(self.unit * scale * likely))

    def total(self, weights: Vector) -> Ratio:
        """Return a weighted sum of the counts with its interval."""
        value = float(weights @ self.counts)
        doubt = QUANTILE * math.sqrt(max(float(weights @ self.covariance @ weights), 0.0))
        return Ratio(value, value - doubt, value + doubt)

    def ratio(self, over: Vector, under: Vector) -> Ratio:
        """Return the ratio of two weighted sums of the counts."""
        return self.fieller(float(over @ self.counts), float(under @ self.counts), over, under)

    def of_number(self, number: int, within: Interval) -> Vector:
        """Return the coefficients that give the sum of a number whose range is `within`."""
        low, high = within
        weights: Vector = 0.5 * (low + high) * self.everybody
        weights[self.n_cells + number] = 0.5 * (high - low)
        return weights

    def mean(self, number: int, within: Interval, *, sampled: bool = False) -> Ratio:
        """Return the mean of a number in `within`: of these records, or with `sampled` of the population.

        A number between a and b with mean m has a variance of at most (m - a) (b - m). The sum of squares of
        what people add is at most `unit` times the sum of what they add.
        """
        over, under = self.of_number(number, within), self.everybody
        further: Vector | float = 0.0
        if sampled:
            low, high = within
            n = max(float(under @ self.counts), 0.0)
            summed = float(np.clip(over @ self.counts, low * n, high * n))
            squares = (low + high) * summed - low * high * n
            further = self.unit * np.array([[squares, summed], [summed, n]])
        return self.fieller(float(over @ self.counts), float(under @ self.counts), over, under, further)

    def fieller(
        self,
        over: float,
        under: float,
        over_slope: Vector,
        under_slope: Vector,
        further: Vector | float = 0.0,
    ) -> Ratio:
        """Return the ratio with Fieller's interval, given how numerator and denominator depend on the counts.

        `further` is the covariance of additional errors of the two parts.
        """
        over, under, slopes = float(over), float(under), np.stack([over_slope, under_slope])
        covariance = QUANTILE**2 * (slopes @ self.covariance @ slopes.T + further)
        (of_over, of_both), (_, of_under) = covariance.tolist()
        squared = under**2 - of_under
        if under <= 0.0 or squared <= 0.0:
            return Ratio(math.nan if under <= 0.0 else over / under, -math.inf, math.inf)
        middle = (over * under - of_both) / squared
        doubt = math.sqrt(max(middle**2 - (over**2 - of_over) / squared, 0.0))
        return Ratio(over / under, middle - doubt, middle + doubt)
