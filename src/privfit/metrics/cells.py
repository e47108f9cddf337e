"""Counts of labels and score bins, estimated from what was released, and intervals of scores made of them.

Every score is a ratio of two sums over cells, or of two sums over pairs of a record of each label. The noise
of the sums is Gaussian and known, so the interval of a ratio is Fieller's (1954): all values r for which
numerator - r * denominator may well be zero. It makes no approximation for sums over cells, and none that
matters for pairs; where the noise drowns the denominator, it says so by being everything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from privfit.curator import Measurement
from privfit.metrics.strategies import Strategy, Vector

LEVEL = 0.95
QUANTILE = float(ndtri((1.0 + LEVEL) / 2.0))

Interval = tuple[float, float]


@dataclass(frozen=True)
class Ratio:
    """An estimated ratio and the values it may have at the level of 95%; everything if nothing is known."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Cells:
    """Noisy counts of the cells, those of the first label before those of the second.

    Attributes
    ----------
    counts : array of shape (2 * n_bins,)
        Unbiased estimates, negative ones among them.
    covariance : array
        That of their noise.
    edges : array
        Edges between the bins.
    """

    counts: Vector
    covariance: Vector
    edges: Vector

    @classmethod
    def estimated(cls, released: Measurement, strategy: Strategy, n_records: int | None) -> Cells:
        """Return the estimates by least squares; where the number of records is public, they add up to it."""
        estimator, covariance = strategy.estimator
        counts, covariance = estimator @ released.value, released.sigma**2 * covariance
        if n_records is not None:
            with_total = covariance.sum(axis=1)
            correction = with_total / with_total.sum()
            counts = counts + correction * (n_records - counts.sum())
            covariance = covariance - np.outer(correction, with_total)
        return cls(counts, covariance, strategy.edges)

    def with_sampling(self) -> Cells:
        """Return the cells with the noise of having drawn the records at random from a population, too."""
        likely = np.maximum(self.counts, 0.0)
        total, noisy_total = self.counts.sum(), likely.sum()
        scale = max(total, 0.0) / noisy_total if noisy_total > 0.0 else 0.0
        return replace(self, covariance=self.covariance + np.diag(scale * likely))

    @property
    def n_bins(self) -> int:
        """Number of bins of the scores."""
        return len(self.counts) // 2

    def total(self, cells: Vector) -> Ratio:
        """Return a weighted sum of the counts with its interval."""
        value = float(cells @ self.counts)
        doubt = QUANTILE * math.sqrt(max(float(cells @ self.covariance @ cells), 0.0))
        return Ratio(value, value - doubt, value + doubt)

    def ratio(self, over: Vector, under: Vector) -> Ratio:
        """Return the ratio of two weighted sums of the counts."""
        return self._fieller(float(over @ self.counts), float(under @ self.counts), over, under)

    def pairs(self, wins: NDArray[np.float64]) -> Ratio:
        """Return the mean over pairs of records of either label.

        `wins` has a row for the bin of the second label's record and a column for that of the first one's.
        """
        first, second = self.counts[: self.n_bins], self.counts[self.n_bins :]
        # counts that are made to add up have noises that depend on each other, and products of them a mean
        together = self.covariance[self.n_bins :, : self.n_bins]
        won = float(second @ wins @ first - np.sum(wins * together))
        met = float(second.sum() * first.sum() - together.sum())
        of_wins = np.concatenate([second @ wins, wins @ first])
        of_meetings = np.repeat([second.sum(), first.sum()], self.n_bins)
        return self._fieller(won, met, of_wins, of_meetings)

    def _fieller(self, over: float, under: float, over_slope: Vector, under_slope: Vector) -> Ratio:
        """Return the ratio, given how the noise of the counts moves its two parts."""
        slopes = np.stack([over_slope, under_slope])
        (of_over, of_both), (_, of_under) = (QUANTILE**2 * (slopes @ self.covariance @ slopes.T)).tolist()
        squared = under**2 - of_under
        if under <= 0.0 or squared <= 0.0:
            return Ratio(math.nan if under <= 0.0 else over / under, -math.inf, math.inf)
        middle = (over * under - of_both) / squared
        doubt = math.sqrt(max(middle**2 - (over**2 - of_over) / squared, 0.0))
        return Ratio(over / under, middle - doubt, middle + doubt)
