"""What a solver needs of a problem, said by the solver and checked before anything is charged."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from privfit.accounting.zcdp import MAX_DELTA, MIN_DELTA
from privfit.losses import Loss


@dataclass(frozen=True)
class Facts:
    """What is public about a fit before anything is opened; a `Curator` has the same and more.

    Parameters
    ----------
    loss : Loss
        The loss that is minimised.
    intercept : bool
        Whether there is an intercept.
    delta : float
        The delta that was asked for.
    n_features : int, optional
        Number of columns, once the table is there.
    """

    loss: Loss
    intercept: bool
    delta: float
    n_features: int | None = None


@dataclass(frozen=True)
class Requirement:
    """A public fact that a solver's proof or its algorithm rests on.

    Parameters
    ----------
    what : str
        What is needed, in words that complete "it needs ...".
    holds : callable
        Whether these facts have it.
    """

    what: str
    holds: Callable[[Any], bool]


BOUNDED_SLOPE = Requirement(
    "a loss whose slope is bounded (a Lipschitz loss)", lambda facts: facts.loss.lipschitz < math.inf
)
SMOOTH_LOSS = Requirement(
    "a smooth loss, or the hinge, which it rounds at its kink",
    lambda facts: facts.loss.smoothness < math.inf or facts.loss.smooth_stand_in is not None,
)
INTERCEPT = Requirement("fit_intercept=True", lambda facts: facts.intercept)
POSITIVE_DELTA = Requirement(
    f"a delta between {MIN_DELTA:g} and {MAX_DELTA:g}",
    lambda facts: MIN_DELTA <= facts.delta <= MAX_DELTA,
)
