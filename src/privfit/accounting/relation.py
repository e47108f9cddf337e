"""Which tables are neighbours: the unit that a promise is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["record", "person"]  # whose arrival a sensitivity is about


@dataclass(frozen=True, kw_only=True)
class Relation:
    """Neighbouring tables differ in all records of one person, who has at most so many of them.

    Parameters
    ----------
    records_per_person : int
        The largest number of records that one person may have.
    """

    records_per_person: int

    def __post_init__(self) -> None:
        k = self.records_per_person
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ValueError(f"records_per_person must be a whole number of at least 1, got {k!r}.")

    def times(self, unit: Unit) -> int:
        """Return how often a person counts in a sum whose sensitivity is that of one such unit.

        A person's records are added one after the other, so they move a sum by at most as many times what
        one record does (the triangle inequality). A sum that already bounds what a person adds is left alone.
        """
        return self.records_per_person if unit == "record" else 1


ONE_RECORD = Relation(records_per_person=1)
