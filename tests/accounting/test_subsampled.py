"""The accountants against numerical integration: no formula here is shared with the code under test."""

import math
from itertools import pairwise

import dp_accounting
import numpy as np
import pytest
from scipy.fft import irfft, next_fast_len, rfft
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import binom, norm

from privfit.accounting.gdp import epsilon_from_mu
from privfit.accounting.subsampled import (
    MIN_NOISE,
    advanced_noise,
    gaussian_noise,
    least_noise,
    most_steps,
    sgd_epsilon,
)


def loss(x, noise, q):
    """Return the privacy loss of one noisy sum x: a record that adds 1 to it is in the sample, or not."""
    return np.logaddexp(np.log1p(-q) if q < 1 else -np.inf, np.log(q) + (2.0 * x - 1.0) / (2.0 * noise**2))


def reference_delta(noise, q, steps, epsilon):
    """Return delta(epsilon) of the composition, the worse of a record removed and a record added.

    The loss of one step is cut into narrow bins by its distribution function, their mean is corrected, and
    the steps are convolved after tilting the distribution towards epsilon, so that rounding errors of the
    Fourier transform are relative to the tail. Accurate to about a thousandth, rounded neither up nor down.
    """
    x = np.linspace(-12.0 * noise, 1.0 + 12.0 * noise, 100_001)
    losses = loss(x, noise, q)
    with_record = (1 - q) * norm.cdf(x, scale=noise) + q * norm.cdf(x, loc=1.0, scale=noise)
    deltas = []
    for sign, cdf in ((1, with_record), (-1, norm.cdf(x, scale=noise))):
        mass, middle = np.diff(cdf), sign * (losses[1:] + losses[:-1]) / 2.0
        mean = mass @ middle
        width = math.sqrt(mass @ (middle - mean) ** 2) / 15.0
        bins = np.rint(middle / width).astype(int)
        first = bins.min()
        p = np.bincount(bins - first, mass)
        values = (first + np.arange(len(p))) * width
        values += mean - p @ values
        deltas.append(_tail(p, values, width, steps, epsilon))
    return max(deltas)


def _tail(p, values, width, steps, epsilon):
    def tilted(theta):
        logs = np.log(np.maximum(p, 1e-300)) + theta * values
        total = np.logaddexp.reduce(logs)
        return np.exp(logs - total), total

    def excess(theta):
        return steps * (tilted(theta)[0] @ values) - epsilon

    most = 1.0 / width
    if excess(most) < 0.0:
        return 0.0  # the losses cannot add up to epsilon
    theta = brentq(excess, -most, most)
    t, log_total = tilted(theta)
    index = np.arange(len(p))
    mean = t @ index
    reach = 14.0 * math.sqrt(steps * (t @ (index - mean) ** 2)) + len(p)
    size = next_fast_len(int(2 * reach), real=True)
    sums = irfft(rfft(t, size) ** steps, size)
    where = int(steps * mean) - size // 2 + np.arange(size)
    total = steps * values[0] + where * width
    above = total > epsilon
    weights = np.exp(steps * log_total - theta * total[above]) * np.maximum(sums[where % size][above], 0.0)
    return float(-np.expm1(epsilon - total[above]) @ weights)


SETTINGS = [
    (4.0, 0.005, 1),
    (4.0, 0.005, 60),
    (4.0, 0.005, 10_000),
    (1.0, 0.01, 1000),
    (0.7, 0.0005, 3000),
    (0.8, 0.05, 100),
    (45.0, 0.005, 10_000),
    (10.0, 0.5, 100),
]


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-5, 1e-8])
@pytest.mark.parametrize(("noise", "q", "steps"), SETTINGS)
def test_pld_is_never_below_the_true_epsilon_and_at_most_half_a_percent_above(noise, q, steps, delta):
    epsilon = sgd_epsilon(noise, q, steps, delta)
    assert reference_delta(noise, q, steps, epsilon) <= delta
    assert reference_delta(noise, q, steps, 0.995 * epsilon) > delta


@pytest.mark.parametrize(("noise", "q", "steps"), [(4.0, 0.005, 5000), (1.0, 0.001, 2000)])
def test_rounding_of_fourier_transforms_is_paid_for_at_the_smallest_delta(noise, q, steps):
    delta = 2.0 * 2.0**-50 * (steps + 8) * 1.001
    epsilon = sgd_epsilon(noise, q, steps, delta)
    assert epsilon < 0.98 * sgd_epsilon(noise, q, steps, delta, "rdp")  # so it is not "rdp" that answered
    assert reference_delta(noise, q, steps, epsilon) <= delta
    assert sgd_epsilon(noise, q, steps, delta / 2) == sgd_epsilon(noise, q, steps, delta / 2, "rdp")


@pytest.mark.parametrize("steps", [1, 100])
def test_without_sampling_the_steps_are_one_gaussian_mechanism(steps):
    epsilon = sgd_epsilon(20.0, 1.0, steps, 1e-8)
    s = 20.0 / math.sqrt(steps)

    def delta(e):
        return norm.cdf(0.5 / s - e * s) - math.exp(e) * norm.cdf(-0.5 / s - e * s)

    assert delta(epsilon) <= 1e-8 < delta(0.997 * epsilon)


def renyi(noise, q, order):
    """Return the Renyi divergence of one step, record in against record out, by integration."""

    def integrand(x):
        return math.exp(order * loss(x, noise, q) - x * x / (2 * noise**2)) / (noise * math.sqrt(2 * math.pi))

    peak = max(order, 1.0)  # the integrand has bumps near 0 and near the order
    edges = [-12 * noise, -noise, 0, 1, noise, peak, peak + 3 * noise, peak + 12 * noise]
    edges = sorted(set(edges))
    value = sum(quad(integrand, a, b, epsabs=0, epsrel=1e-11, limit=200)[0] for a, b in pairwise(edges))
    return math.log(value) / (order - 1)


@pytest.mark.parametrize(
    ("noise", "q", "steps"), [(4.0, 0.01, 10_000), (1.1, 256 / 60_000, 14_000), (3.0, 0.3, 20)]
)
def test_rdp_is_the_best_of_the_integrated_renyi_divergences(noise, q, steps):
    delta = 1e-5

    def epsilon(order):
        rounding = math.log1p(-1 / order) - math.log(delta * order) / (order - 1)
        return steps * renyi(noise, q, order) + rounding

    best = min(epsilon(order) for order in np.concatenate([np.arange(1.5, 9.0, 0.5), np.arange(9, 40)]))
    assert best * (1 - 1e-6) <= sgd_epsilon(noise, q, steps, delta, "rdp") <= best * 1.01


def test_the_example_of_abadi_et_al():
    """Their section 3.2: 1.26 after 100 epochs, by whole orders up to 32 and the conversion of the time."""
    theirs = min(10_000 * renyi(4.0, 0.01, a) + math.log(1e5) / (a - 1) for a in range(8, 33))
    assert theirs == pytest.approx(1.26, abs=0.005)
    rdp, pld = (sgd_epsilon(4.0, 0.01, 10_000, 1e-5, accountant) for accountant in ("rdp", "pld"))
    assert 0.75 * theirs < pld < rdp < theirs


def test_one_step_does_not_cost_what_the_paper_says():  # E9
    """0.5756 is log(1/delta) / 32: what the largest order tried costs even if the step is free."""
    assert math.log(1e8) / 32 == pytest.approx(0.5756, abs=1e-4)
    assert sgd_epsilon(4.0, 0.005, 1, 1e-8) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("accountant", ["pld", "rdp"])
def test_one_more_step_or_less_noise_would_not_fit(accountant):
    steps = most_steps(4.0, 0.005, 0.3, 1e-8, accountant, limit=100_000)
    assert steps > 1000
    assert sgd_epsilon(4.0, 0.005, steps, 1e-8, accountant) <= 0.3
    assert sgd_epsilon(4.0, 0.005, steps + 1, 1e-8, accountant) > 0.3
    for fewer in (steps // 2, steps // 3, steps // 5):
        noise = least_noise(0.005, fewer, 0.3, 1e-8, accountant)
        assert noise < 4.0
        assert sgd_epsilon(noise, 0.005, fewer, 1e-8, accountant) <= 0.3
        assert sgd_epsilon(noise * 0.9985, 0.005, fewer, 1e-8, accountant) > 0.3


def test_steps_stop_at_the_limit_and_at_nothing():
    assert most_steps(4.0, 0.005, 0.3, 1e-8, limit=17) == 17
    assert most_steps(4.0, 0.005, 0.001, 1e-8, limit=17) == 0


def test_as_many_steps_are_taken_as_fit():
    for epsilon in (2.0, 3.0, 5.0):
        steps = most_steps(4.0, 1.0, epsilon, 1e-6, "rdp", limit=50)
        assert 1 < steps < 50
        assert sgd_epsilon(4.0, 1.0, steps, 1e-6, "rdp") <= epsilon
        assert sgd_epsilon(4.0, 1.0, steps + 1, 1e-6, "rdp") > epsilon


def test_little_noise_is_accounted_for_at_the_smallest_order():
    """By the closed form: 100 steps have a divergence of 100 a / (2 noise^2) at order a, least for a = 2."""
    expected = 100 * 2 / (2 * 0.5**2) + math.log1p(-1 / 2) - math.log(1e-5 * 2)
    assert sgd_epsilon(0.5, 1.0, 100, 1e-5, "rdp") == pytest.approx(expected, rel=1e-4)


def test_the_smallest_delta_and_the_largest_noise_are_allowed():
    assert sgd_epsilon(4.0, 0.01, 10, 1e-15) > 0.0
    assert sgd_epsilon(2.0**20, 0.01, 10, 1e-6) >= 0.0
    epsilon = epsilon_from_mu(1.0 / (0.75 * 2.0**20), 1e-7)
    assert gaussian_noise(epsilon, 1e-7) == pytest.approx(0.75 * 2.0**20, rel=1e-4)


def test_an_enormous_epsilon_gets_the_least_noise():
    assert least_noise(0.01, 100, 1e6, 1e-8) == MIN_NOISE
    assert advanced_noise(0.01, 100, 1e9, 1e-8) == MIN_NOISE


def divergence(noise, q, epsilon):
    """Return the delta of one step at epsilon by integration, the worse of both directions."""

    def density(x, centre):
        return norm.pdf(x, loc=centre, scale=noise)

    def mixture(x):
        return (1 - q) * density(x, 0.0) + q * density(x, 1.0)

    def integral(upper, lower):
        x = np.linspace(-14 * noise, 1 + 14 * noise, 20_001)
        return np.trapezoid(np.maximum(upper(x) - math.exp(epsilon) * lower(x), 0.0), x)

    return max(integral(mixture, lambda x: density(x, 0.0)), integral(lambda x: density(x, 0.0), mixture))


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0, 20.0])
def test_gaussian_noise_is_exactly_what_the_divergence_asks_for(epsilon):
    noise = gaussian_noise(epsilon, 1e-5)
    assert divergence(noise, 1.0, epsilon) == pytest.approx(1e-5, rel=1e-3)
    assert noise == pytest.approx(dp_accounting.get_sigma_gaussian(epsilon, 1e-5), rel=1e-5)


def test_the_well_known_formula_is_false_for_a_large_epsilon():
    classic = math.sqrt(2 * math.log(1.25 / 1e-5)) / 35.0
    assert classic < gaussian_noise(35.0, 1e-5)
    assert divergence(classic, 1.0, 35.0) > 2e-5


@pytest.mark.parametrize(
    ("q", "steps", "epsilon"),
    [(0.005, 1, 0.05), (0.005, 4, 0.05), (0.005, 63, 0.8), (0.005, 500, 1.6), (0.3, 50, 1.0)],
)
def test_advanced_composition_follows_its_theorems(q, steps, epsilon):
    """Go the other way: from the noise to the divergence of a sampled step, and from there to all of them."""
    delta = 1e-6

    def total(noise):
        basic = brentq(lambda e: math.log(divergence(noise, q, e) * steps / delta + 1e-300), 1e-6, 10.0)
        half = brentq(lambda e: math.log(divergence(noise, q, e) * steps * 2 / delta + 1e-300), 1e-6, 10.0)
        # the mean of a loss of a pure mechanism is largest for randomised response
        mean = half * (math.exp(half) - 1) / (math.exp(half) + 1)
        return min(steps * basic, steps * mean + half * math.sqrt(2 * steps * math.log(2 / delta)))

    noise = advanced_noise(q, steps, epsilon, delta)
    assert total(noise) <= epsilon * (1 + 1e-4)
    assert total(0.995 * noise) > epsilon
    assert sgd_epsilon(noise, q, steps, delta) <= epsilon * 1.001


@pytest.mark.parametrize(("e", "steps"), [(0.02, 200), (0.3, 30), (1.0, 10)])
def test_advanced_composition_is_not_below_the_optimal_one(e, steps):
    """Against Kairouz, Oh & Viswanath's exact composition of pure mechanisms, summed by brute force."""
    s = 1e-6
    claimed = e * math.sqrt(2 * steps * math.log(1 / s)) + steps * e * math.tanh(e / 2)
    yes = math.exp(e) / (1 + math.exp(e))
    k = np.arange(steps + 1)
    losses = e * (2 * k - steps)
    exact = float(np.maximum(0.0, -np.expm1(claimed - losses)) @ binom.pmf(k, steps, yes))
    assert exact <= s


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"noise_multiplier": 0.01}, "noise multiplier must lie between 0.125"),
        ({"noise_multiplier": math.nan}, "noise multiplier must lie"),
        ({"noise_multiplier": 1.001 * 2.0**20}, "noise multiplier must lie"),
        ({"probability": 0.0}, "sampling probability must lie between 1e-06 and 1"),
        ({"probability": 1.5}, "sampling probability"),
        ({"steps": 0}, "at least one step"),
        ({"delta": 0.0}, "delta must lie between 1e-15 and 0.5"),
        ({"accountant": "gdp"}, "accountant must be one of"),
    ],
)
def test_bad_arguments_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        sgd_epsilon(**({"noise_multiplier": 4.0, "probability": 0.01, "steps": 10, "delta": 1e-6} | bad))


def test_impossible_promises_are_refused():
    with pytest.raises(ValueError, match="raise epsilon or delta"):
        least_noise(1.0, 1000, 1e-6, 1e-15, "rdp")
    with pytest.raises(ValueError, match="epsilon must be positive"):
        advanced_noise(0.1, 10, 0.0, 1e-6)
