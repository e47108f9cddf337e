"""Exact accounting for Gaussian noise: the (epsilon, delta) that mu-Gaussian differential privacy implies.

mu-Gaussian differential privacy (mu-GDP) says: telling two neighbouring tables apart by what was released is
no easier than telling N(0, 1) from N(mu, 1) (P7). mu-GDP implies (epsilon, delta)-DP exactly if
delta >= Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu) (Dong, Roth & Su 2022; Balle & Wang
2018). In zCDP the same noise costs rho = mu^2 / 2, so a ledger adds up rhos for both.
Every number here is rounded to the safe side: epsilons, deltas and costs up, budgets down.
"""

from __future__ import annotations

import math

from privfit.accounting.zcdp import LOST_TO_UNDERFLOW, MAX_DELTA, MAX_RHO, MIN_DELTA, MIN_RHO

# `divergence` has a relative error below 1e-8. Deltas are multiplied by this before a comparison, which is
# more than enough to make up for it.
_DELTA_MARGIN = 1.0 - 2.0**-20
_SMALL_MU = 2.0**-13  # below it the two terms of the formula cancel, and an integral replaces them
LARGEST_MU = 1e6  # larger than that of MAX_RHO, because sums of several budgets may exceed one budget
_BISECTION_PRECISION = 2.0**-40  # relative; results are rounded to the safe side


def mu_from_epsilon(epsilon: float, delta: float) -> float:
    """Return the largest mu that is (epsilon, delta)-DP, rounded down; at most that of rho = 1e3."""
    _check(epsilon, delta)
    low, high = math.sqrt(2.0 * MIN_RHO), math.sqrt(2.0 * MAX_RHO)
    if _holds(high, epsilon, delta):
        return high
    if not _holds(low, epsilon, delta):
        raise ValueError(
            f"epsilon = {epsilon!r} at delta = {delta!r} is worth less than rho = {MIN_RHO:g}, "
            "too little for any question; raise epsilon."
        )
    while high > low * (1.0 + _BISECTION_PRECISION):
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
    while high - low > _BISECTION_PRECISION * high:
        middle = (low + high) / 2.0
        low, high = (low, middle) if _holds(mu, middle, delta) else (middle, high)
    return high


def pure_rho(epsilon: float) -> float:
    """Return the rho = mu^2 / 2 at which an epsilon-DP mechanism is mu-GDP, rounded up.

    mu is 2 Phi^-1(e^epsilon / (1 + e^epsilon)). Randomised response is the least private of all epsilon-DP
    mechanisms. It reveals as much as one bit: whether a draw from N(0, 1) or N(mu, 1) lies above mu / 2.
    """
    from scipy.special import erfinv, ndtri

    if not 0.0 < epsilon < 700.0:
        raise ValueError(f"epsilon must be positive and below 700, got {epsilon!r}.")
    if epsilon < 1.0:  # computed from the distance to 1/2, tanh(epsilon / 2) / 2, which is accurate here
        mu = 2.0 * math.sqrt(2.0) * float(erfinv(math.tanh(epsilon / 2.0)))
    else:  # computed from the smaller tail, 1 / (1 + e^epsilon), which is accurate here
        mu = -2.0 * float(ndtri(math.exp(-epsilon) / (1.0 + math.exp(-epsilon))))
    return mu * mu / 2.0 * (1.0 + _BISECTION_PRECISION) + LOST_TO_UNDERFLOW


def divergence(mu: float, epsilon: float) -> float:
    """Return the least delta at which mu-GDP is (epsilon, delta)-DP, with a relative error below 1e-8.

    Let low = epsilon/mu - mu/2, high = epsilon/mu + mu/2, phi be the density and m(x) = Phi(-x) / phi(x)
    Mills' ratio. Then delta is Phi(-low) - phi(low) m(high), because e^epsilon phi(high) = phi(low). For a
    small mu the two terms cancel. Delta is then computed as phi(low) times the integral of
    -m' = 1 - x m(x) from low to high. m is completely monotone, so -m' is convex and the trapezoidal rule
    gives an upper bound, which exceeds the integral by less than mu^2 / 5 of it.
    """
    from scipy.special import erfcx, ndtr

    def mills(x: float) -> float:
        return math.sqrt(math.pi / 2.0) * float(erfcx(x / math.sqrt(2.0)))

    low, high = epsilon / mu - mu / 2.0, epsilon / mu + mu / 2.0
    density = math.exp(-low * low / 2.0) / math.sqrt(2.0 * math.pi)
    if mu >= _SMALL_MU:
        return float(ndtr(-low)) - density * mills(high)
    if density == 0.0:  # in the far tail, where 1 - x m(x) cannot be computed accurately
        return 0.0
    return density * mu * (2.0 - low * mills(low) - high * mills(high)) / 2.0


def _holds(mu: float, epsilon: float, delta: float) -> bool:
    return divergence(mu, epsilon) <= delta * _DELTA_MARGIN


def _check(epsilon: float, delta: float) -> None:
    if not (epsilon > 0.0 and math.isfinite(epsilon)):
        raise ValueError(f"epsilon must be a positive finite number, got {epsilon!r}.")
    if not MIN_DELTA <= delta <= MAX_DELTA:
        raise ValueError(f"delta must lie between {MIN_DELTA:g} and {MAX_DELTA:g}, got {delta!r}.")
