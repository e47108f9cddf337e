"""Which sums over held-out records are released: counts of public cells, sums of cells, and sums of numbers.

A histogram of labels and scores is enough for every score of a classifier. But scores are sums over many
cells, in which the noise of the cells adds up. So sums of cells are released, too: halves, quarters, and so
on down to the cells, and a linear slope, which is similar to the weights of cells in most scores. Counts of
cells are estimated from all of these together by least squares.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from privfit.questions.scores import SHARE_GRID, ScoreSums

Vector = NDArray[np.float64]

BINS = 64  # with more bins the noise grows with their logarithm, but the error from ties within a bin falls
# What a record adds to the count of its label, to those of its halves, quarters and so on, to the slope, and
# to the difference of the predicted labels. A larger share for one means more noise in the others, because
# noise grows with the norm of all. With these the errors of accuracy and AUC meet the aims in
# benchmarks/scores.py.
WHOLE, PART, SLOPE, SPLIT = 0.3, 0.4, 0.3, 0.3


@dataclass(frozen=True)
class Scale:
    """The places of the bins of scores: half of the bins lie within `middle`, the last ones at `outermost`.

    A score s is mapped to s / (middle + |s|), and the bins are equally wide there. So both small and large
    scores are distinguished, because a model's scores may have any size. Zero, where predictions change, is
    an edge.
    """

    middle: float
    outermost: float

    def edges(self, n_bins: int) -> Vector:
        """Return the ascending edges between the bins."""
        places = np.linspace(-1.0, 1.0, n_bins + 1)[1:-1] * self.outermost / (self.middle + self.outermost)
        return np.asarray(self.middle * places / (1.0 - np.abs(places)))


LOGITS = Scale(2.0, 16.0)  # beyond 16 a probability is within 10^-7 of 0 or 1
MARGINS = Scale(1.0, 32.0)


@dataclass(frozen=True, eq=False)
class Strategy:
    """What a record adds to the released sums for its cell, and for each of its numbers.

    Parameters
    ----------
    shares : array of shape (n_cells, n_sums)
        What a record adds for its cell.
    factors : tuple of float
        What a number of size 1 adds to a sum of its own.
    edges : array
        Edges between the bins of scores, if cells are such bins.
    """

    shares: Vector
    factors: tuple[float, ...] = ()
    edges: Vector = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of_outcomes(cls) -> Strategy:
        """Return the strategy for the counts of true and predicted labels only."""
        return cls(np.eye(4), edges=np.zeros(1))

    @classmethod
    @cache  # all of it is public, and a scale's estimator takes a tenth of a second to compute
    def of_curves(cls, scale: Scale) -> Strategy:
        """Return the strategy for the distributions of the scores of two labels.

        The sums of the first label come before those of the second, and so do the cells.
        """
        edges = scale.edges(BINS)
        middles = (np.append(edges, scale.outermost) + np.insert(edges, 0, -scale.outermost)) / 2.0
        halvings = [2**k for k in range(1, BINS.bit_length())]
        parts = [PART * np.kron(np.eye(n), np.ones(BINS // n)) for n in halvings]
        whole = np.full(BINS, WHOLE)
        slope = SLOPE * np.tanh(middles / scale.middle)
        split = SPLIT * np.sign(middles)
        return cls(np.kron(np.eye(2), np.vstack([whole, *parts, slope, split]).T), edges=edges)

    def question(self, *, weighted: bool = False) -> ScoreSums:
        """Return the question, with shares and factors on the grid that makes sums exact."""
        shares, factors = (
            np.round(np.asarray(given, dtype=np.float64) / SHARE_GRID) * SHARE_GRID
            for given in (self.shares, self.factors)
        )
        return ScoreSums(shares, factors, weighted)

    @cached_property
    def estimator(self) -> tuple[Vector, Vector]:
        """The matrix that turns the released sums into estimated counts and sums of numbers.

        The second array is the covariance of the estimates for noise of size 1.
        """
        question = self.question()
        shares = block_diag(question.shares, np.diag(question.factors))
        covariance = np.linalg.inv(shares @ shares.T)
        return covariance @ shares, covariance
