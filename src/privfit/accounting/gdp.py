"""Exact accounting for Gaussian noise: what mu-Gaussian differential privacy promises as (epsilon, delta).

Telling two neighbours by what was released is no easier than telling N(0, 1) from N(mu, 1) (P7). That is
(epsilon, delta)-DP exactly where delta >= Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)
(Dong, Roth & Su 2022; Balle & Wang 2018). In zCDP the same noise costs rho = mu^2 / 2, so both share a sum.
"""

from __future__ import annotations

import math

from privfit.accounting.zcdp import MAX_DELTA, MAX_RHO, MIN_DELTA, MIN_RHO

# The formula is evaluated to 1e-7 of delta or better (2e-8 at a mu of 1e-6); deltas are decreased by more.
_MARGIN = 1.0 - 2.0**-20
LARGEST_MU = 1e6  # sums of budgets may reach beyond what one budget may
_PRECISION = 2.0**-40  # of what bisections return, rounded against us


def mu_from_epsilon(epsilon: float, delta: float) -> float:
    """Return the largest mu that is (epsilon, delta)-DP, rounded down; at most that of rho = 1e3."""
    _check(epsilon, delta)
    low, high = math.sqrt(2.0 * MIN_RHO), math.sqrt(2.0 * MAX_RHO)
    if _holds(high, epsilon, delta):
        return high
    if not _holds(low, epsilon, delta):
        raise ValueError(
            f"epsilon={epsilon!r} at delta={delta!r} is worth less than rho={MIN_RHO:g}, "
            "too little for any question; raise epsilon."
        )
    while high > low * (1.0 + _PRECISION):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _holds(middle, epsilon, delta) else (low, middle)
    return low


def epsilon_from_mu(mu: float, delta: float) -> float:
    """Return the least epsilon at which mu-GDP is (epsilon, delta)-DP, rounded up."""
    _check(1.0, delta)
    if not 0.0 < mu <= LARGEST_MU:
        raise ValueError(f"mu must lie between 0 and {LARGEST_MU:g}, got {mu!r}.")
    low, high = 0.0, mu
    if _holds(mu, low, delta):
        return 0.0
    while not _holds(mu, high, delta):
        low, high = high, 2.0 * high
    while high - low > _PRECISION * high:
        middle = (low + high) / 2.0
        low, high = (low, middle) if _holds(mu, middle, delta) else (middle, high)
    return high


def pure_rho(epsilon: float) -> float:
    """Return the rho = mu^2 / 2 at which an epsilon-DP mechanism is mu-GDP.

    mu is 2 Phi^-1(e^epsilon / (1 + e^epsilon)), because randomised response, the least private of all
    epsilon-DP mechanisms, is N(0, 1) against N(mu, 1) with only the sign of what lies around mu / 2 told.
    """
    from scipy.special import ndtri

    if not 0.0 < epsilon < 700.0:
        raise ValueError(f"epsilon must be positive and below 700, got {epsilon!r}.")
    # by the smaller tail 1 / (1 + e^eps), which keeps its digits
    mu = -2.0 * float(ndtri(math.exp(-epsilon) / (1.0 + math.exp(-epsilon))))
    return mu * mu / 2.0 * (1.0 + _PRECISION)


def _holds(mu: float, epsilon: float, delta: float) -> bool:
    from scipy.special import log_ndtr

    first, second = log_ndtr(mu / 2.0 - epsilon / mu), log_ndtr(-mu / 2.0 - epsilon / mu)
    divergence: float = -math.exp(first) * math.expm1(min(0.0, epsilon + second - first))
    return divergence <= delta * _MARGIN


def _check(epsilon: float, delta: float) -> None:
    if not (epsilon > 0.0 and math.isfinite(epsilon)):
        raise ValueError(f"epsilon must be a positive finite number, got {epsilon!r}.")
    if not MIN_DELTA <= delta <= MAX_DELTA:
        raise ValueError(f"delta must lie between {MIN_DELTA:g} and {MAX_DELTA:g}, got {delta!r}.")
