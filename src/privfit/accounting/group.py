"""Group privacy (P8): what a promise about one record means for a person who has several."""

from __future__ import annotations

import math

from privfit.accounting.amounts import rounded_up, units
from privfit.accounting.gdp import LARGEST_MU, epsilon_from_mu
from privfit.accounting.promise import Concentrated, Gaussian, Promise
from privfit.accounting.zcdp import epsilon_of_sum

_ROUNDING = 1.0 + 2.0**-50  # exceeds the rounding errors of a few float64 operations
_ROUNDING_OF_POWERS = 1.0 + 2.0**-40  # the same for e^x with x up to 700, where an ulp of x is at most 2^-43


def for_records(promise: Promise, k: int) -> tuple[float, float]:
    """Return the (epsilon, delta) that a promise about one record gives a group of k records, rounded up.

    A mu-GDP promise gives a group of k records k mu, and a zCDP promise gives it k^2 rho. Both are converted
    at the delta of the promise. (epsilon, delta)-DP alone gives it k epsilon at
    delta (1 + e^epsilon + ... + e^((k - 1) epsilon)).

    Parameters
    ----------
    promise : Promise
        A promise with an epsilon and a delta.
    k : int
        Number of records that are added or removed together.

    Returns
    -------
    epsilon, delta : float
        Infinity and 1 if nothing is promised any more.
    """
    epsilon, delta = promise.epsilon, promise.delta
    assert epsilon is not None
    assert delta is not None
    if k == 1:
        return epsilon, delta
    if isinstance(promise, Gaussian):
        mu = k * promise.mu * _ROUNDING
        return (epsilon_from_mu(mu, delta), delta) if mu <= LARGEST_MU else (math.inf, 1.0)
    if isinstance(promise, Concentrated) and not promise.slack:
        return epsilon_of_sum(k * k * promise.rho * _ROUNDING, delta, promise.conversion), delta
    if (k - 1) * epsilon > 700.0:
        return math.inf, 1.0
    together = delta * math.fsum(math.exp(i * epsilon) for i in range(k)) * _ROUNDING_OF_POWERS
    return (rounded_up(k * units(epsilon)), together) if together < 1.0 else (math.inf, 1.0)
