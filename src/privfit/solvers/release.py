"""Open the data once, for the whole promise: shared by solvers with a privacy proof of their own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privfit.accounting import Direct
from privfit.accounting.zcdp import NOISE_MARGIN
from privfit.curator import Curator, NoiseSource
from privfit.leaks import warn_of_large_delta
from privfit.questions import Count
from privfit.questions.question import asked

if TYPE_CHECKING:
    from privfit.curator import Problem

# share for the number of records, which then has an error of a few hundred / epsilon
EPSILON_SHARE_OF_COUNT = 0.01


@dataclass(frozen=True)
class Release:
    """The records, and the epsilon and delta that one mechanism may spend on them (add/remove).

    `n` is public: it was declared, or bought with a share of epsilon.
    """

    problem: Problem
    noise: NoiseSource
    epsilon: float
    delta: float
    n: float


def open_release(curator: Curator, *, why: str, claim: str) -> Release:
    """Charge the whole promise (epsilon, delta), then open the data for a mechanism (P6).

    `why` is the mechanism's name, and `claim` the claim that proves it.

    If n was not declared, a count with Laplace noise is taken first, which is (epsilon / 100)-DP. The
    mechanism gets the rest of epsilon, so that both compose to epsilon.
    """
    epsilon, delta = curator.epsilon, curator.delta
    problem, noise = curator.open(Direct(epsilon, delta).rho, delta, why=why, claim=claim)
    if curator.n_records is not None:
        return Release(problem, noise, epsilon, delta, float(curator.n_records))
    share = EPSILON_SHARE_OF_COUNT * epsilon
    scale = NOISE_MARGIN / share
    count = noise.laplace(asked(Count(), problem).look(), scale)
    n = max(1.0, float(count[0]))
    warn_of_large_delta(delta, n, math.sqrt(2.0) * scale, unit=curator.relation.unit)
    return Release(problem, noise, epsilon - share, delta, n)
