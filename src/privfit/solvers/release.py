"""What mechanisms with a proof of their own share: the data are opened once, for the whole promise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privfit.accounting import Direct
from privfit.accounting.zcdp import NOISE_MARGIN
from privfit.curator import Curator, NoiseSource
from privfit.leaks import warn_of_large_delta

if TYPE_CHECKING:
    from privfit.curator import Problem

COUNT_SHARE = 0.01  # of epsilon; n is then known within a few hundred / epsilon


@dataclass(frozen=True)
class Release:
    """The records and what one mechanism may do with them: be (epsilon, delta)-DP, add/remove.

    `n` is public: declared, or bought with a share of epsilon before the rest is handed over.
    """

    problem: Problem
    noise: NoiseSource
    epsilon: float
    delta: float
    n: float


def open_release(curator: Curator, *, why: str) -> Release:
    """Charge the whole promise (epsilon, delta), then open the data for the mechanism named by `why` (P6).

    Without a declared n a noisy count is taken first: with Laplace noise it is (epsilon / 100)-DP, and the
    mechanism gets what is left of epsilon; the two compose to epsilon.
    """
    epsilon, delta = curator.epsilon, curator.delta
    problem, noise = curator.open(Direct(epsilon, delta).rho, delta, why=why)
    if curator.n_records is not None:
        return Release(problem, noise, epsilon, delta, float(curator.n_records))
    share = COUNT_SHARE * epsilon
    scale = NOISE_MARGIN / share
    count = noise.laplace(np.array([float(problem.n_records)]), scale)
    n = max(1.0, float(count[0]))
    warn_of_large_delta(delta, n, math.sqrt(2.0) * scale, unit=curator.relation.unit)
    return Release(problem, noise, epsilon - share, delta, n)
