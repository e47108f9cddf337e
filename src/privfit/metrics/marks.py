"""Marks: the cell and the numbers that private scores read from each held-out record.

They depend on that record alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.curator import Measurement
from privfit.estimators.statement import PrivacyStatement
from privfit.metrics.estimates import Estimates
from privfit.metrics.evaluation import Evaluation
from privfit.metrics.strategies import Strategy, Vector

# The rounding of a row's score in a matrix product may depend on the rows around it. Scores computed from a
# record alone and among others differ by less than this. Nearer to an edge, a score is computed again alone.
AGREEMENT = 2.0**-20


@dataclass(frozen=True, eq=False)
class Marks(ABC):
    """The table that `ScoreSums` reads, and the scores that are computed from its answer.

    Attributes
    ----------
    columns : array of shape (n_records, 1 + n_numbers)
        The number of each record's cell, and numbers between -1 and 1.
    strategy : Strategy
        What cells and numbers add to the released sums.
    assumption : str
        The sentence for the privacy statement about how labels or bounds are known.
    """

    columns: Vector
    strategy: Strategy
    assumption: str

    def estimates(self, released: Measurement, *known: Any) -> Estimates:
        """Return the estimated sums."""
        return Estimates.estimated(released, self.strategy, *known)

    @abstractmethod
    def evaluation(self, privacy: PrivacyStatement, estimates: Any) -> Evaluation:
        """Return the scores computed from these estimates."""


def rounded(values: Vector, step: float) -> Vector:
    """Return the values as multiples of a step."""
    multiples: Vector = np.round(values / step) * step
    return multiples


def between_steps(values: Vector, step: float, agreement: float = AGREEMENT) -> NDArray[np.bool_]:
    """Return which values could be rounded either way, given how far they may differ when computed alone."""
    return np.asarray(np.abs(values / step % 1.0 - 0.5) <= agreement / step)
