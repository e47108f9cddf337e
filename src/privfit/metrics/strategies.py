"""What is bought of labels and scores: public bins, and the sums of their counts that get the budget.

A histogram of labels and scores answers every question about a classifier, but the noise of single cells adds
up in sums over many of them, and scores are such sums. So sums of cells are bought as well: halves, quarters,
and so on down to the cells, and a slope, which is what most scores weight cells by. Cells are estimated from
all of these together by least squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privfit.questions.scores import SHARE_GRID, ScoreSums

Vector = NDArray[np.float64]

BINS = 64  # the noise grows with the logarithm of their number, what ties in a bin may hide falls with it
# What a record adds to the count of its label, of the halves, quarters and so on that it is in, to the slope
# and to the difference of the predicted labels. More of one is less of the others, because noise grows with
# the norm of all; these keep both accuracy and AUC below their aims in benchmarks/scores.py.
WHOLE, PART, SLOPE, SPLIT = 0.3, 0.4, 0.3, 0.3


@dataclass(frozen=True)
class Scale:
    """Where the bins of a kind of scores are: half of them within `middle`, the last ones at `reach`.

    A score s lies at s / (middle + |s|) on a line that is cut evenly, so that small and large scores are told
    apart; a model's scores may have any size. Zero, where predictions change, is an edge.
    """

    middle: float
    reach: float

    def edges(self, n_bins: int) -> Vector:
        """Return the ascending edges between the bins."""
        places = np.linspace(-1.0, 1.0, n_bins + 1)[1:-1] * self.reach / (self.middle + self.reach)
        return np.asarray(self.middle * places / (1.0 - np.abs(places)))


LOGITS = Scale(2.0, 16.0)  # beyond 16 a probability is within 10^-7 of 0 or 1
MARGINS = Scale(1.0, 32.0)


@dataclass(frozen=True, eq=False)
class Strategy:
    """Bins of scores, and what a record of either label adds for each bin.

    Parameters
    ----------
    edges : array
        Edges between bins.
    sums : array of shape (n_sums, n_bins)
        Weighted sums of the counts of one label, bought of each label.
    """

    edges: Vector
    sums: Vector

    @classmethod
    def of_outcomes(cls) -> Strategy:
        """Return what tells how often each label was predicted for records of each label, and no more."""
        return cls(np.zeros(1), np.eye(2))

    @classmethod
    def of_curves(cls, scale: Scale) -> Strategy:
        """Return what tells how the scores of either label are distributed."""
        edges = scale.edges(BINS)
        middles = (np.append(edges, scale.reach) + np.insert(edges, 0, -scale.reach)) / 2.0
        halvings = [2**k for k in range(1, BINS.bit_length())]
        parts = [PART * np.kron(np.eye(n), np.ones(BINS // n)) for n in halvings]
        whole = np.full(BINS, WHOLE)
        slope = SLOPE * np.tanh(middles / scale.middle)
        split = SPLIT * np.sign(middles)
        return cls(edges, np.vstack([whole, *parts, slope, split]))

    @cached_property
    def question(self) -> ScoreSums:
        """What is asked: the sums of each label, those of the first one before those of the second."""
        shares = np.kron(np.eye(2), np.round(self.sums.T / SHARE_GRID) * SHARE_GRID)
        return ScoreSums(self.edges, shares)

    @cached_property
    def estimator(self) -> tuple[Vector, Vector]:
        """What the sums are multiplied by to estimate the cells, and their covariance for noise of size 1."""
        shares = np.asarray(self.question.shares)
        covariance = np.linalg.inv(shares @ shares.T)
        return covariance @ shares, covariance
