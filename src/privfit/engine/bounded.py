"""Sums over records together with their sensitivities. They are computed only after they are paid for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.accounting.relation import Relation, Unit
from privfit.engine.exact.grids import MAX_RECORDS, FloatArray

# Scores are at most MAX_RECORDS sensitivities, and so are penalties. Their sum is rounded by a relative error
# of 2**-53 on each of two neighbouring tables: together by 2**-19 sensitivities.
PENALTY_SLACK = 2.0**-18

# Exact sums (numbers on a grid, whole numbers, or tuples of arrays of these), which add up over the parts of
# a table.
Sums = NDArray[Any] | tuple[NDArray[Any], ...]


def _as_they_are(sums: FloatArray) -> FloatArray:
    return sums


@dataclass(frozen=True)
class Bounded:
    """A vector that is a sum over records, not computed yet, with its sensitivity.

    Parameters
    ----------
    sums : callable
        Reads the records and returns the exact sums from which the vector is made.
    sensitivity : float
        The L2 sensitivity of the vector to one `unit`, rounding included.
    claim : str
        The claim in docs/privacy.md that proves the sensitivity.
    unit : {"record", "person"}
        Whether the sensitivity is that of a record, or already that of all records of a person.
    finish : callable
        Turns the sums, or the total over all parts of a table, into the vector (Q39).
    """

    sums: Callable[[], Sums]
    sensitivity: float
    claim: str
    unit: Unit = "record"
    finish: Callable[[Any], FloatArray] = _as_they_are

    def look(self) -> FloatArray:
        """Read the records and return the vector."""
        return self.finish(self.sums())

    def under(self, relation: Relation) -> Bounded:
        """Return the same sum with the sensitivity that one person has under this relation (Q0)."""
        return replace(self, sensitivity=relation.times(self.unit) * self.sensitivity, unit="person")


@dataclass(frozen=True)
class Scores:
    """A score for each of several candidates, not computed yet. Each is a sum over records; least is best.

    Parameters
    ----------
    sums : callable
        Reads the records and returns the exact sums from which the scores are made.
    sensitivity : float
        How far one more `unit` can change a score, rounding included.
    count : int
        Number of candidates.
    monotone : bool
        Whether one more record changes all scores in one direction. Their changes then lie in an interval of
        length `sensitivity`, and otherwise in one of twice that length.
    claim : str
        The claim in docs/privacy.md that proves the sensitivity.
    unit : {"record", "person"}
        Whether the sensitivity is that of a record, or already that of all records of a person.
    finish : callable
        Turns the sums, or the total over all parts of a table, into the scores (Q39).
    """

    sums: Callable[[], Sums]
    sensitivity: float
    count: int
    monotone: bool
    claim: str
    unit: Unit = "record"
    finish: Callable[[Any], FloatArray] = _as_they_are

    def look(self) -> FloatArray:
        """Read the records and return the scores."""
        return self.finish(self.sums())

    def under(self, relation: Relation) -> Scores:
        """Return the same scores with the sensitivity that one person has under this relation (Q0)."""
        return replace(self, sensitivity=relation.times(self.unit) * self.sensitivity, unit="person")

    def penalised(self, penalties: FloatArray | float) -> Scores:
        """Return the scores plus public penalties, and a bound that holds for the rounded totals.

        Only differences between penalties matter. They are limited to what all records together can add.
        Such a difference already decides the choice, and a larger one would make rounding errors larger than
        the noise can hide.
        """
        differences = np.minimum(penalties - np.min(penalties), MAX_RECORDS * self.sensitivity)
        if not differences.any():
            return self
        bound = (1.0 + PENALTY_SLACK) * self.sensitivity
        return replace(self, finish=lambda sums: self.finish(sums) + differences, sensitivity=bound)
