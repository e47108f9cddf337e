"""A sum carries its bound: what has not been looked at yet, and how far one record can move it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from privfit.accounting.relation import Relation, Unit
from privfit.engine.exact.grids import MAX_RECORDS, FloatArray

# Scores of MAX_RECORDS sensitivities at most, plus penalties of up to as many, are rounded by 2**-53 of
# themselves on either of two tables: by 2**-19 sensitivities on both.
PENALTY_SLACK = 2.0**-18


@dataclass(frozen=True)
class Bounded:
    """A vector that is a sum over records.

    Parameters
    ----------
    look : callable
        Computes it. Nothing has been looked at before.
    sensitivity : float
        How far adding or removing one `unit` can move what is computed, in L2 norm, rounding included.
    claim : str
        The claim in docs/privacy.md that proves it.
    unit : {"record", "person"}
        Whether the sensitivity is that of a record, or already that of all records of a person.
    """

    look: Callable[[], FloatArray]
    sensitivity: float
    claim: str
    unit: Unit = "record"

    def under(self, relation: Relation) -> Bounded:
        """Return the same sum with the sensitivity that one person has under this relation (Q0)."""
        return replace(self, sensitivity=relation.times(self.unit) * self.sensitivity, unit="person")


@dataclass(frozen=True)
class Scores:
    """A score for each of several candidates, each a sum over records; the smaller, the better.

    Parameters
    ----------
    look : callable
        Computes them. Nothing has been looked at before.
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
    """

    look: Callable[[], FloatArray]
    sensitivity: float
    count: int
    monotone: bool
    claim: str
    unit: Unit = "record"

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
        return replace(self, look=lambda: self.look() + differences, sensitivity=bound)
