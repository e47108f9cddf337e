"""Counts of two labels and score bins, and means over pairs of a record of each label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privfit.metrics.estimates import Estimates, Ratio


@dataclass(frozen=True, eq=False)
class BinCounts(Estimates):
    """Noisy counts of cells: first the cells of the first label, then those of the second."""

    @property
    def n_bins(self) -> int:
        """Number of bins of the scores."""
        return self.n_cells // 2

    def pairs(self, wins: NDArray[np.float64]) -> Ratio:
        """Return the mean over pairs of records of either label.

        `wins` has a row for each bin of the second label's record, and a column for each bin of the first
        label's.
        """
        first, second = self.counts[: self.n_bins], self.counts[self.n_bins :]
        # adjusted counts have correlated noise, so the expectation of their products has to be corrected
        together = self.covariance[self.n_bins :, : self.n_bins]
        won = float(second @ wins @ first - np.sum(wins * together))
        met = float(second.sum() * first.sum() - together.sum())
        of_wins = np.concatenate([second @ wins, wins @ first])
        of_meetings = np.repeat([second.sum(), first.sum()], self.n_bins)
        return self.fieller(won, met, of_wins, of_meetings)
