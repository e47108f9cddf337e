"""A sum carries its bound: what has not been looked at yet, and how far one record can move it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.accounting.relation import Relation, Unit
from privfit.engine.exact.grids import MAX_RECORDS, FloatArray

# Scores of MAX_RECORDS sensitivities at most, plus penalties of up to as many, are rounded by 2**-53 of
# themselves on either of two tables: by 2**-19 sensitivities on both.
PENALTY_SLACK = 2.0**-18

# exact, so that they add up over the parts of a table: numbers on a grid, whole numbers, or several of these
Sums = NDArray[Any] | tuple[NDArray[Any], ...]


def _as_they_are(sums: FloatArray) -> FloatArray:
    return sums


@dataclass(frozen=True)
class Bounded:
    """A vector that is a sum over records.

    Parameters
    ----------
    sums : callable
        Computes the exact sums that it is made of. Nothing has been looked at before.
    sensitivity : float
        How far adding or removing one `unit` can move what is computed, in L2 norm, rounding included.
    claim : str
        The claim in docs/privacy.md that proves it.
    unit : {"record", "person"}
        Whether the sensitivity is that of a record, or already that of all records of a person.
    fold : callable
        Turns the sums, or what those of all parts of a table add up to, into the vector (Q39).
    """

    sums: Callable[[], Sums]
    sensitivity: float
    claim: str
    unit: Unit = "record"
    fold: Callable[[Any], FloatArray] = _as_they_are

    def look(self) -> FloatArray:
        """Look at the records: return the vector."""
        return self.fold(self.sums())

    def under(self, relation: Relation) -> Bounded:
        """Return the same sum with the sensitivity that one person has under this relation (Q0)."""
        return replace(self, sensitivity=relation.times(self.unit) * self.sensitivity, unit="person")


@dataclass(frozen=True)
class Scores:
    """A score for each of several candidates, each a sum over records; the smaller, the better.

    Parameters
    ----------
    sums : callable
        Computes the exact sums that they are made of. Nothing has been looked at before.
    sensitivity : float
        How far one more `unit` can move a score, rounding included.
    count : int
        Number of candidates.
    monotone : bool
        Whether one more record moves all scores in one direction; then their changes lie in an interval
        of length `sensitivity`, and otherwise of twice that.
    claim : str
        The claim in docs/privacy.md that proves it.
    unit : {"record", "person"}
        Whether the sensitivity is that of a record, or already that of all records of a person.
    fold : callable
        Turns the sums, or what those of all parts of a table add up to, into the scores (Q39).
    """

    sums: Callable[[], Sums]
    sensitivity: float
    count: int
    monotone: bool
    claim: str
    unit: Unit = "record"
    fold: Callable[[Any], FloatArray] = _as_they_are

    def look(self) -> FloatArray:
        """Look at the records: return the scores."""
        return self.fold(self.sums())

    def under(self, relation: Relation) -> Scores:
        """Return the same scores with the sensitivity that one person has under this relation (Q0)."""
        return replace(self, sensitivity=relation.times(self.unit) * self.sensitivity, unit="person")

    def penalised(self, penalties: FloatArray | float) -> Scores:
        """Return the scores plus public penalties, and a bound that holds for the rounded totals.

        Only differences between penalties matter. Those beyond what all records together can add are cut
        there: they decide as surely, and larger numbers would be rounded by more than is blurred.
        """
        differences = np.minimum(penalties - np.min(penalties), MAX_RECORDS * self.sensitivity)
        if not differences.any():
            return self
        bound = (1.0 + PENALTY_SLACK) * self.sensitivity
        return replace(self, fold=lambda sums: self.fold(sums) + differences, sensitivity=bound)
