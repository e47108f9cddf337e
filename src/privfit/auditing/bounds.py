"""Lower bounds on epsilon from an attacker's guesses, with a stated probability of error."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
PILOT = 0.25  # share of the runs that choose a threshold; the bound is computed from the others
QUANTILES_TRIED = np.linspace(0.02, 0.98, 25)  # quantiles of the statistics that are tried as thresholds


Bound = Callable[[int, int, int, float], float]  # a function of hits, misses, runs and alpha


def proven_epsilon(present: Vector, absent: Vector, delta: float, alpha: float, *, gaussian: bool) -> float:
    """Return the largest lower bound on epsilon that a threshold proves.

    An attacker who guesses "present" above a threshold is right in a share a of the runs with the canary, and
    wrong in a share b of the runs without it. (epsilon, delta)-DP implies a <= exp(epsilon) b + delta, so
    log((a - delta) / b) is a lower bound on epsilon. If mu-Gaussian DP is claimed, then
    Phi^-1(a) - Phi^-1(b) is a lower bound on mu, and the epsilon of that mu is proven as well. The first runs
    choose the threshold, the others give Clopper and Pearson's bounds on a and b. Guesses of "absent" below a
    threshold are tried, too.

    Parameters
    ----------
    present, absent : array
        The statistic of every run with the canary, and of every run without it.
    delta : float
        The delta at which epsilon is bounded.
    alpha : float
        The largest probability that the bound exceeds the true epsilon. The different ways to prove a bound
        share it equally.
    gaussian : bool
        Whether the claim is Gaussian DP.

    Returns
    -------
    epsilon : float
        At least 0.
    """
    ways: list[Bound] = [partial(epsilon_of_guesses, delta=delta)]
    if gaussian:
        ways.append(partial(epsilon_of_gaussian_guesses, delta=delta))
    sides = ((present, absent), (-absent, -present))
    share = alpha / (len(ways) * len(sides))
    return max(_best(here, there, way, share) for way in ways for here, there in sides)


def _best(here: Vector, there: Vector, way: Bound, alpha: float) -> float:
    """Return the bound for the threshold that the pilot runs choose, computed from the other runs."""
    first = round(PILOT * len(here))
    runs = len(here) - first

    def pilot(threshold: float) -> float:
        # computed as if there were as many pilot runs as other runs
        shares = (float(np.mean(found[:first] > threshold)) for found in (here, there))
        hits, misses = (round(share * runs) for share in shares)
        return way(hits, misses, runs, alpha)

    tried = np.quantile(np.concatenate([here[:first], there[:first]]), QUANTILES_TRIED)
    threshold = max(np.unique(tried), key=pilot)
    hits, misses = (int(np.count_nonzero(found[first:] > threshold)) for found in (here, there))
    return way(hits, misses, runs, alpha)


def shares_of(hits: int, misses: int, runs: int, alpha: float) -> tuple[float, float]:
    """Return a lower bound on the share of right guesses, and an upper bound on that of wrong ones.

    Both bounds hold except with probability alpha (Clopper and Pearson 1934).
    """
    from scipy.special import betaincinv

    least = float(betaincinv(hits, runs - hits + 1, alpha / 2)) if hits else 0.0
    most = float(betaincinv(misses + 1, runs - misses, 1.0 - alpha / 2)) if misses < runs else 1.0
    return least, most


def epsilon_of_guesses(hits: int, misses: int, runs: int, alpha: float, *, delta: float) -> float:
    """Return the epsilon that these numbers of right and wrong guesses prove, each in `runs` runs."""
    least, most = shares_of(hits, misses, runs, alpha)
    return max(0.0, math.log((least - delta) / most)) if least > delta else 0.0


def epsilon_of_gaussian_guesses(hits: int, misses: int, runs: int, alpha: float, *, delta: float) -> float:
    """Return the epsilon of the mu that the guesses prove, if the claim is mu-Gaussian DP."""
    from scipy.special import ndtri

    least, most = shares_of(hits, misses, runs, alpha)
    mu = float(ndtri(least) - ndtri(most)) if least > 0.0 and most < 1.0 else 0.0
    return epsilon_of_mu(mu, delta) if mu > 0.0 else 0.0


def epsilon_of_mu(mu: float, delta: float) -> float:
    """Return the epsilon of mu-Gaussian DP: where its delta (Balle and Wang 2018) is this one.

    It is computed here once more, because the audit would prove nothing about privfit's own conversion if it
    used that.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    def beyond(epsilon: float) -> float:
        tail = math.exp(epsilon) * float(ndtr(-mu / 2.0 - epsilon / mu))
        return float(ndtr(mu / 2.0 - epsilon / mu)) - tail - delta

    if beyond(0.0) <= 0.0:
        return 0.0
    return float(brentq(beyond, 0.0, mu * mu / 2.0 + mu * math.sqrt(2.0 * math.log(1.0 / delta))))


def shift_over_deviation(present: Vector, absent: Vector) -> float:
    """Return by how many standard deviations the canary shifts the statistic.

    For Gaussian noise, and for the log likelihood ratio, this is the mu of mu-Gaussian DP.
    """
    deviation = math.sqrt((float(np.var(present)) + float(np.var(absent))) / 2.0)
    shift = float(np.mean(present) - np.mean(absent))
    return abs(shift) / deviation if deviation else (math.inf if shift else 0.0)


def most_telling(present: NDArray[np.float64], absent: NDArray[np.float64]) -> tuple[Vector, Vector]:
    """Return one number for each released vector: its component along the direction that separates best.

    This is Fisher's discriminant, computed from the pilot runs, which `proven_epsilon` does not judge.
    """
    first = round(PILOT * len(present))
    pilots = present[:first], absent[:first]
    shift = pilots[0].mean(axis=0) - pilots[1].mean(axis=0)
    spread = np.atleast_2d(sum((np.cov(pilot, rowvar=False) for pilot in pilots), np.zeros(())))
    spread = spread + 1e-9 * (np.trace(spread) or 1.0) * np.eye(len(shift))
    direction = np.linalg.solve(spread, shift)
    return present @ direction, absent @ direction
