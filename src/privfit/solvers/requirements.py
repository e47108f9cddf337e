"""What a solver needs of a problem, said by the solver and checked before anything is charged."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from privfit.accounting.zcdp import MAX_DELTA, MIN_DELTA
from privfit.curator import Curator


@dataclass(frozen=True)
class Requirement:
    """A public fact that a solver's proof or its algorithm rests on.

    Parameters
    ----------
    what : str
        What is needed, in words that complete "it needs ...".
    holds : callable
        Whether a curator has it; looks at public facts only.
    """

    what: str
    holds: Callable[[Curator], bool]


BOUNDED_SLOPE = Requirement(
    "a loss whose slope is bounded (a Lipschitz loss)", lambda curator: curator.loss.lipschitz < math.inf
)
SMOOTH_LOSS = Requirement(
    "a smooth loss, or the hinge, which it rounds at its kink",
    lambda curator: curator.loss.smoothness < math.inf or curator.loss.smooth_stand_in is not None,
)
INTERCEPT = Requirement("fit_intercept=True", lambda curator: curator.intercept)
POSITIVE_DELTA = Requirement(
    f"a delta between {MIN_DELTA:g} and {MAX_DELTA:g}",
    lambda curator: MIN_DELTA <= curator.delta <= MAX_DELTA,
)
