"""How many records there are, and how many people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privfit.engine.bounded import Bounded

if TYPE_CHECKING:  # what computes brings numba, which only a fit needs
    from privfit.engine.persons import Persons
    from privfit.engine.problem import Problem
    from privfit.engine.table import Table


@dataclass(frozen=True)
class Count:
    """The number of records (Q4)."""

    what: ClassVar[str] = "number of records"

    def bounded(self, of: Problem | Table) -> Bounded:
        """Return the count. Sensitivity: 1."""
        return Bounded(lambda: np.array([float(of.table.n_records)]), 1.0, "Q4")


@dataclass(frozen=True)
class PeopleCount:
    """The number of people, where it is known whose the records are (Q27)."""

    what: ClassVar[str] = "number of people"

    def bounded(self, of: Problem) -> Bounded:
        """Return the count. Sensitivity: 1, whatever number of records a person has."""
        persons = persons_of(of)
        return Bounded(lambda: np.array([float(persons.count)]), 1.0, "Q27", unit="person")


def persons_of(problem: Problem) -> Persons:
    """Return whose the records are, or refuse a question about people if that is not known."""
    if problem.persons is None:
        raise ValueError("Questions about people need records of which it is known whose they are.")
    return problem.persons
