"""What is asked of held-out records: of each a cell and some numbers, all functions of the record alone."""

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

# Matrix products round a row's score in ways that depend on the rows around it. What is computed of a record
# alone and among others is taken to differ by less than this, and closer to an edge it is computed alone.
AGREEMENT = 2.0**-20


@dataclass(frozen=True, eq=False)
class Marks(ABC):
    """What `ScoreSums` reads of each record, and what is made of its answer.

    Attributes
    ----------
    columns : array of shape (n_records, 1 + n_numbers)
        The number of each record's cell, and numbers between -1 and 1.
    strategy : Strategy
        What cells and numbers add to the sums that are bought.
    assumption : str
        What the privacy statement has to say about how labels or bounds are known.
    """

    columns: Vector
    strategy: Strategy
    assumption: str

    def estimates(self, released: Measurement, *known: Any) -> Estimates:
        """Return what is known of the sums."""
        return Estimates.estimated(released, self.strategy, *known)

    @abstractmethod
    def evaluation(self, privacy: PrivacyStatement, estimates: Any) -> Evaluation:
        """Return the scores that these estimates give."""


def rounded(values: Vector, step: float) -> Vector:
    """Return the values as multiples of a step."""
    multiples: Vector = np.round(values / step) * step
    return multiples


def between_steps(values: Vector, step: float, agreement: float = AGREEMENT) -> NDArray[np.bool_]:
    """Tell which values may be rounded up or down, given how far they may differ from those alone."""
    return np.asarray(np.abs(values / step % 1.0 - 0.5) <= agreement / step)
