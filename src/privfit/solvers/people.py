"""Sums of gradients if people have several records: each person's sum is clipped, not each record's gradient.

A person's sum is clipped to the norm that one record's gradient would have, so the noise is as small as if
each person had one record. In all measurements this was at least as accurate as clipping records. People with
many records have less influence, but the noise is several times smaller (benchmarks/visits.py).
"""

from __future__ import annotations

from privfit.accounting.relation import Relation
from privfit.curator import Curator, Vector
from privfit.questions import GradientAt, PersonGradientAt

MOST_RECORDS = 64  # per person; with more, the angles between records would need too much memory (Q26)


def records_heard(relation: Relation) -> int:
    """Return the sensitivity of a sum of gradients to one person, in units of the clip."""
    return 1 if are_people_clipped(relation) else relation.records_per_person


def gradient_at(w: Vector, clip: float, relation: Relation) -> GradientAt | PersonGradientAt:
    """Return the question for the sum of gradients at w, clipped for each person or for each record."""
    return PersonGradientAt(w, clip) if are_people_clipped(relation) else GradientAt(w, clip)


def reach_of_gradients(curator: Curator, n: float) -> float:
    """Return the reach of what is left of the budget for sums of gradients over n records."""
    reach, relation = curator.reach(n), curator.relation
    return reach * relation.records_per_person if are_people_clipped(relation) else reach


def are_people_clipped(relation: Relation) -> bool:
    """Return whether each person's sum of gradients is clipped, and not each record's gradient."""
    return relation.unit == "person" and 1 < relation.records_per_person <= MOST_RECORDS
