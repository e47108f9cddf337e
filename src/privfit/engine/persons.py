"""Which records belong to which person; the records of one person are neighbouring rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Persons:
    """Where each person's records begin.

    Parameters
    ----------
    starts : array of int
        The first record of each person, and the number of records after the last one.
    most : int
        How many records a person has at most: a public number.
    """

    starts: Rows
    most: int

    def __post_init__(self) -> None:
        sizes = np.diff(self.starts)
        if self.most < 1 or self.starts[0] != 0 or np.any((sizes < 1) | (sizes > self.most)):
            raise ValueError(f"every person must have between 1 and {self.most} records")

    @classmethod
    def of(cls, numbers: NDArray[Any], most: int) -> Persons:
        """Return the persons of records that are sorted by the number of their person."""
        changes = np.flatnonzero(np.diff(numbers)) + 1
        if len(changes) + 1 != len(np.unique(numbers)) and len(numbers):
            raise ValueError("the records of a person must stand one after the other")
        ends = np.append(changes, len(numbers)) if len(numbers) else np.empty(0, dtype=np.intp)
        return cls(np.concatenate([np.zeros(1, dtype=np.intp), ends]).astype(np.intp), most)

    @property
    def count(self) -> int:
        """Number of persons."""
        return len(self.starts) - 1

    @property
    def owners(self) -> Rows:
        """Which person each record belongs to."""
        return np.repeat(np.arange(self.count), np.diff(self.starts))

    def rows(self, chosen: NDArray[np.integer]) -> Rows:
        """Return the records of these persons, in order."""
        sizes = np.diff(self.starts)[chosen]
        firsts = np.repeat(self.starts[:-1][chosen] - (np.cumsum(sizes) - sizes), sizes)
        return firsts + np.arange(len(firsts))

    def subset(self, rows: NDArray[np.integer]) -> Persons:
        """Return the persons of these records, which have to be in order."""
        return Persons.of(self.owners[rows], self.most)
