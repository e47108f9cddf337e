"""Accounting for DP-SGD: the promise of many noisy sums over random samples, and the number of steps.

A step adds Gaussian noise to a sum over a Poisson sample, which holds each record with the same probability,
independently of the others. There are three analyses. "pld" composes the distribution of the privacy loss and
is the sharpest. "rdp" is the moments accountant of Abadi et al. (2016), in the form of Renyi differential
privacy. Both use Google's dp-accounting. `advanced_noise` applies amplification by sampling and then advanced
composition. All of them are about adding or removing one record, and proved in docs/privacy.md under SGD-MA
and SGD-Adv.

Noise multipliers are standard deviations in units of the sensitivity. Every number is rounded to the safe
side, and every search checks the value that it returns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from privfit.accounting.gdp import divergence
from privfit.accounting.zcdp import MAX_DELTA, MIN_DELTA

Accountant = Literal["pld", "rdp"]

MIN_NOISE, MAX_NOISE = 0.125, 2.0**20
MIN_PROBABILITY = 1e-6

# A sampling probability made of 53 random bits may be 2^-53 too large, noise on a grid is not quite Gaussian,
# and floating point rounds. Probabilities and epsilons are multiplied by this margin, and deltas divided by
# it, which makes up for far more than all of that.
_MARGIN = 1.0 + 2.0**-20

# The Fourier transforms of "pld" leave a rounding error in delta: less than 2^-52 for each step, measured
# against a convolution that scales the tail up first. Four times that is subtracted from delta.
_DELTA_NOISE, _FEW_STEPS = 2.0**-50, 8

# Bins for the privacy loss of one step: per standard deviation, and in all. Rounding to them increases
# epsilon by 0.1%.
_BINS_PER_DEVIATION, _MOST_BINS = 10, 20_000
_ORDERS = (*range(2, 13), *(round(12 * 1.12**k) for k in range(1, 40)), 1024)


def sgd_epsilon(
    noise_multiplier: float, probability: float, steps: int, delta: float, accountant: Accountant = "pld"
) -> float:
    """Return an epsilon at which this many noisy sums over Poisson samples are (epsilon, delta)-DP.

    If delta is so small that rounding errors of "pld" would matter, "rdp" is used instead.
    """
    _check(probability, steps, delta)
    if not MIN_NOISE <= noise_multiplier <= MAX_NOISE:
        limits = f"between {MIN_NOISE:g} and {MAX_NOISE:g}"
        raise ValueError(f"The noise multiplier must lie {limits}, got {noise_multiplier!r}.")
    if accountant not in get_args(Accountant):
        raise ValueError(f"accountant must be one of {get_args(Accountant)}, got {accountant!r}.")
    probability, delta = min(1.0, probability * _MARGIN), delta / _MARGIN
    rounding = _DELTA_NOISE * (steps + _FEW_STEPS)
    if accountant == "pld" and rounding <= delta / 2.0:
        losses = _loss_distribution(noise_multiplier, probability).self_compose(steps)
        return float(losses.get_epsilon_for_delta(delta - rounding)) * _MARGIN
    return _rdp_epsilon(noise_multiplier, probability, steps, delta) * _MARGIN


@lru_cache(maxsize=64)
def most_steps(
    noise_multiplier: float,
    probability: float,
    epsilon: float,
    delta: float,
    accountant: Accountant = "pld",
    *,
    limit: int,
) -> int:
    """Return how many steps, at most `limit`, are (epsilon, delta)-DP together; 0 if not even one is."""

    def fit(steps: int) -> bool:
        return sgd_epsilon(noise_multiplier, probability, steps, delta, accountant) <= epsilon

    if fit(limit):
        return limit
    fitting, too_many = 0, limit
    while too_many - fitting > 1:
        middle = (fitting + too_many) // 2
        fitting, too_many = (middle, too_many) if fit(middle) else (fitting, middle)
    return fitting


@lru_cache(maxsize=64)
def least_noise(
    probability: float, steps: int, epsilon: float, delta: float, accountant: Accountant = "pld"
) -> float:
    """Return the least noise multiplier that makes the steps (epsilon, delta)-DP, within a thousandth of it.

    It is at least 1/8. So for an enormous epsilon, the promise is stronger than asked for.
    """

    def fits(noise_multiplier: float) -> bool:
        return sgd_epsilon(noise_multiplier, probability, steps, delta, accountant) <= epsilon

    return _least(fits, precision=1e-3)


def advanced_noise(probability: float, steps: int, epsilon: float, delta: float) -> float:
    """Return a noise multiplier that makes the steps (epsilon, delta)-DP by advanced composition.

    A step that is (e0, d0)-DP on a sample is (log(1 + q (exp(e0) - 1)), q d0)-DP on the table, if q is the
    probability of sampling. Steps that are (e, d)-DP each are together (steps e, steps d)-DP, and also
    (e sqrt(2 steps log(1/s)) + steps e tanh(e/2), steps d + s)-DP for every s > 0. The better of the two
    bounds is used, the second with s = delta / 2.
    """
    _check(probability, steps, delta)
    if not epsilon > 0.0:
        raise ValueError(f"epsilon must be positive, got {epsilon!r}.")
    probability, delta, epsilon = min(1.0, probability * _MARGIN), delta / _MARGIN, epsilon / _MARGIN

    def noise_of_step(e: float, d: float) -> float:
        e0 = math.log1p(math.expm1(min(e, 600.0)) / probability)
        return gaussian_noise(e0, min(d / probability, MAX_DELTA))

    share = _advanced_share(steps, epsilon, delta / 2.0)
    return min(noise_of_step(epsilon / steps, delta / steps), noise_of_step(share, delta / 2.0 / steps))


def gaussian_noise(epsilon: float, delta: float) -> float:
    """Return the least noise multiplier, from 1/8 on, that makes one noisy sum (epsilon, delta)-DP.

    Noise of s times the sensitivity is (1/s)-GDP (Balle & Wang 2018). The better known formula
    s = sqrt(2 log(1.25/delta)) / epsilon gives more noise than needed, and is wrong for epsilon far above 1.
    """

    def fits(noise_multiplier: float) -> bool:
        return divergence(1.0 / noise_multiplier, epsilon) <= delta / _MARGIN

    return _least(fits, precision=1e-6)


def _advanced_share(steps: int, epsilon: float, slack: float) -> float:
    """Return the largest e with e sqrt(2 steps log(1/slack)) + steps e tanh(e/2) <= epsilon, rounded down."""
    root = math.sqrt(2.0 * steps * math.log(1.0 / slack))
    low, high = 0.0, epsilon / root
    while high - low > 1e-6 * high:
        e = (low + high) / 2.0
        fits = e * root + steps * e * math.tanh(e / 2.0) <= epsilon
        low, high = (e, high) if fits else (low, e)
    return low


def _least(fits: Callable[[float], bool], precision: float) -> float:
    """Return the least noise from MIN_NOISE to MAX_NOISE that fits, rounded up to this precision."""
    high = 1.0
    while not fits(high):
        high *= 2.0
        if high > MAX_NOISE:
            raise ValueError("No noise within the limits is enough for this promise; raise epsilon or delta.")
    while high > MIN_NOISE and fits(high / 2.0):
        high /= 2.0
    if high <= MIN_NOISE:
        return high
    low = high / 2.0
    while high > low * (1.0 + precision):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


@lru_cache(maxsize=8)
def _loss_distribution(noise_multiplier: float, probability: float) -> Any:
    """Return the privacy loss distributions of one step, for adding and removing a record, rounded up."""
    from dp_accounting.pld import privacy_loss_distribution  # imported late: it takes .1 s, and few need it

    # if the chi-square divergence is small, its root is the standard deviation of the privacy loss
    spread = probability * math.sqrt(math.expm1(min(noise_multiplier**-2.0, 10.0)))
    largest = math.log(probability) + (10.0 + 0.5 / noise_multiplier) / noise_multiplier
    return privacy_loss_distribution.from_gaussian_mechanism(
        noise_multiplier,
        sampling_prob=probability,
        value_discretization_interval=max(min(spread / _BINS_PER_DEVIATION, 0.01), largest / _MOST_BINS),
    )


@lru_cache(maxsize=256)
def _rdp_epsilon(noise_multiplier: float, probability: float, steps: int, delta: float) -> float:
    import dp_accounting

    accountant = dp_accounting.rdp.RdpAccountant(np.array(_ORDERS))
    step = dp_accounting.PoissonSampledDpEvent(probability, dp_accounting.GaussianDpEvent(noise_multiplier))
    return float(accountant.compose(step, steps).get_epsilon(delta))


def _check(probability: float, steps: int, delta: float) -> None:
    if not MIN_PROBABILITY <= probability <= 1.0:
        limits = f"between {MIN_PROBABILITY:g} and 1"
        raise ValueError(f"The sampling probability must lie {limits}, got {probability!r}.")
    if steps < 1:
        raise ValueError(f"There must be at least one step, got {steps!r}.")
    if not MIN_DELTA <= delta <= MAX_DELTA:
        raise ValueError(f"delta must lie between {MIN_DELTA:g} and {MAX_DELTA:g}, got {delta!r}.")
