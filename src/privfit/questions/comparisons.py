"""The differences between the losses of several models on held-out records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privfit.engine.bounded import Bounded
from privfit.engine.exact.grids import FloatArray
from privfit.questions.scores import SHARE_GRID

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.problem import Problem
    from privfit.engine.table import Table

CLIP_ROUNDING = 2.0**-40  # relative rounding error of a clipped norm, for fewer than 2^11 models


@dataclass(frozen=True)
class LossDifferences:
    """The number of records, their mean losses, and how much each model's losses differ from these (Q35).

    The table has a column for each model: the record's loss as a share of its public range, from 0 to 1. Let
    m be the mean of a record's losses. The record adds `level`, `level` (2 m - 1), and for each model its
    loss minus m; the vector of these differences is clipped to norm `clip` first. With `weighted`, the last
    column is a weight between 0 and 1, by which everything that the record adds is multiplied. NaN counts as
    0.
    """

    what: ClassVar[str] = "held-out losses"

    clip: float
    level: float
    weighted: bool = False

    def bounded(self, of: Problem | Table) -> Bounded:
        """Return the sums. Sensitivity: the length of (level, level, clip), and rounding.

        One pass over the data for each column.
        """
        count = of.table.n_columns - self.weighted
        if not 1 <= count < 2**11:
            raise ValueError("there must be a column of losses for each of 1 to 2047 models")
        if not SHARE_GRID <= self.clip <= 2.0**10 or not 0.0 < self.level <= 1.0:
            raise ValueError("clip must be between 2^-20 and 2^10, and level above 0 and at most 1")
        if self.level / SHARE_GRID % 1.0:
            raise ValueError("level must be a multiple of 2^-20, so that sums are exact")

        def look() -> FloatArray:
            columns = np.nan_to_num(
                of.table.predictions(np.eye(of.table.n_weights)[:, : count + self.weighted])
            )
            losses = np.clip(columns[:, :count], 0.0, 1.0)
            # column by column, so that a record's result does not depend on the number of its row
            means = sum((losses[:, j] for j in range(count)), np.zeros(len(losses))) / count
            differences = losses - means[:, None]
            squares = sum((differences[:, j] ** 2 for j in range(count)), np.zeros(len(losses)))
            factors = np.minimum(1.0, self.clip / np.maximum(np.sqrt(squares), self.clip))
            shares = np.column_stack(
                [
                    np.full(len(losses), self.level),
                    self.level * (2.0 * np.clip(means, 0.0, 1.0) - 1.0),
                    differences * factors[:, None],
                ]
            )
            if self.weighted:
                shares *= np.clip(columns[:, -1:], 0.0, 1.0)
            total: FloatArray = (np.round(shares / SHARE_GRID) * SHARE_GRID).sum(axis=0)
            return total

        longest = self.clip * (1.0 + CLIP_ROUNDING) + math.sqrt(count) * SHARE_GRID / 2.0
        return Bounded(look, math.hypot(self.level, self.level, longest) * (1.0 + 2.0**-50), "Q35")
