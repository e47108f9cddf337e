"""Sums of gradients where people have several records: each person's sum is clipped, not each record.

A person's sum is clipped where one record's gradient would be, so that the noise is that of one record for
each person. In all measurements this was better than clipping records, or no worse: people with many records
are heard less, and the noise is several times smaller (benchmarks/visits.py).
"""

from __future__ import annotations

from privfit.accounting.relation import Relation
from privfit.curator import Curator, Vector
from privfit.questions import GradientAt, PersonGradientAt

MOST_RECORDS = 64  # of a person, up to which the angles between records are kept (Q26)


def records_heard(relation: Relation) -> int:
    """Return how many times the clip one person can move a sum of gradients by."""
    return 1 if are_people_clipped(relation) else relation.records_per_person


def gradient_at(w: Vector, clip: float, relation: Relation) -> GradientAt | PersonGradientAt:
    """Return the question about the sum of gradients at w, each person's, or each record's, clipped."""
    return PersonGradientAt(w, clip) if are_people_clipped(relation) else GradientAt(w, clip)


def reach_of_gradients(curator: Curator, n: float) -> float:
    """Return the reach of what is left of the budget for sums of gradients over n records."""
    reach, relation = curator.reach(n), curator.relation
    return reach * relation.records_per_person if are_people_clipped(relation) else reach


def are_people_clipped(relation: Relation) -> bool:
    """Return whether each person's sum of gradients is clipped, and not each record's gradient."""
    return relation.unit == "person" and 1 < relation.records_per_person <= MOST_RECORDS
