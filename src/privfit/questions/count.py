"""How many records there are, and how many people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privfit.engine.bounded import Bounded

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
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
    """The number of people, for records that have ids of people (Q27)."""

    what: ClassVar[str] = "number of people"

    def bounded(self, of: Problem) -> Bounded:
        """Return the count. Sensitivity to a whole person: 1, however many records a person has."""
        persons = persons_of(of)
        return Bounded(lambda: np.array([float(persons.count)]), 1.0, "Q27", unit="person")


def persons_of(problem: Problem) -> Persons:
    """Return which records belong to which person; raise ValueError if that is not known."""
    if problem.persons is None:
        raise ValueError("Questions about people need records with the ids of people.")
    return problem.persons
