"""Requirements: public facts about a fit that a solver needs. They are checked before anything is charged."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from privfit.accounting.relation import Relation
from privfit.accounting.zcdp import MAX_DELTA, MIN_DELTA
from privfit.losses import Loss, is_own
from privfit.losses.targets import TWO_LABELS, Interval
from privfit.penalties import Penalty


@dataclass(frozen=True)
class Facts:
    """The public facts about a fit before the data are read; a `Curator` has the same attributes.

    Parameters
    ----------
    loss : Loss
        The loss that is minimised.
    intercept : bool
        Whether there is an intercept.
    delta : float
        The delta that was asked for.
    relation : Relation
        How many records one person may have.
    penalty : Penalty
        The regulariser that is added to the mean loss, and the set in which the weights must stay.
    weighted : bool
        Whether records have weights.
    n_features : int, optional
        Number of columns, if it is known already.
    in_parts : bool
        Whether the table is in parts, each of which adds its sums.
    """

    loss: Loss
    intercept: bool
    delta: float
    relation: Relation
    penalty: Penalty
    weighted: bool = False
    n_features: int | None = None
    in_parts: bool = False


@dataclass(frozen=True)
class Requirement:
    """A public fact that a solver's proof or its algorithm requires.

    Parameters
    ----------
    what : str
        The fact, in words that complete "it needs ...".
    holds : callable
        A function of `Facts` that returns whether they satisfy the requirement.
    """

    what: str
    holds: Callable[[Any], bool]


BOUNDED_SLOPE = Requirement(
    "a loss whose slope is bounded (a Lipschitz loss)", lambda facts: facts.loss.lipschitz < math.inf
)
SMOOTH_LOSS = Requirement(
    "a smooth loss, or the hinge, whose kink it smooths",
    lambda facts: facts.loss.smoothness < math.inf or facts.loss.smooth_stand_in is not None,
)
OWN_LOSS = Requirement(
    "a loss of privfit's own, because its price rests on the loss's constants",
    lambda facts: is_own(facts.loss),
)
INTERCEPT = Requirement("an intercept", lambda facts: facts.intercept)
POSITIVE_DELTA = Requirement(
    f"a delta between {MIN_DELTA:g} and {MAX_DELTA:g}",
    lambda facts: MIN_DELTA <= facts.delta <= MAX_DELTA,
)
ONE_OUTPUT = Requirement("a loss with one output", lambda facts: facts.loss.outputs == 1)
UNWEIGHTED = Requirement("records without weights", lambda facts: not facts.weighted)
UNCONSTRAINED = Requirement(
    "weights that may be any numbers (no constraint set)", lambda facts: not facts.penalty.is_constraint
)
NO_START = Requirement("a start of its own (no start=)", lambda facts: facts.penalty.start is None)
ONE_RECORD_EACH = Requirement(
    "people who have one record each, as its proof assumes",
    lambda facts: facts.relation.is_one_record_each,
)
IN_ONE_PLACE = Requirement(
    "a table in one place, not in parts, because it asks for more than exact sums",
    lambda facts: not facts.in_parts,
)
SAMPLES_OF_RECORDS = Requirement(
    "a table in one place, not in parts, to draw samples of people from",
    lambda facts: not facts.in_parts or facts.relation.unit == "record",
)
LABELS_ONLY = Requirement(
    "targets that are two labels, because its proof needs slopes of one sign for each label",
    lambda facts: facts.loss.targets == TWO_LABELS,
)
LABELS_NOT_NUMBERS = Requirement(
    "targets that are labels, because the units of its settings do not suit numbers",
    lambda facts: not isinstance(facts.loss.targets, Interval),
)
PLAIN = (ONE_OUTPUT, UNWEIGHTED, UNCONSTRAINED, NO_START)  # for solvers that support none of these
LABELS_AS_PROVED = Requirement(
    "targets that are two labels, because its proof is for two labels only",
    lambda facts: facts.loss.targets == TWO_LABELS,
)
# for solvers with a privacy proof of their own
PLAIN_RECORDS = (*PLAIN, ONE_RECORD_EACH, IN_ONE_PLACE)
