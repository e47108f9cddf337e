"""Conversions and costs against closed forms, a fine minimisation and the exact Gaussian profile."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_ndtr

from privfit.accounting.zcdp import (
    bounded_range_cost,
    epsilon_from_rho,
    epsilon_of_sum,
    gaussian_cost,
    gaussian_sigma,
    pure_cost,
    rho_from_epsilon,
)

CONVERSIONS = ["tight", "classic"]
LOSS = 1e-8  # the most, relatively, that rounding against us may cost

many = settings(max_examples=300)


def log_uniform(low, high):
    exponents = st.floats(math.log10(low), math.log10(high), allow_nan=False)
    return exponents.map(lambda x: min(max(10.0**x, low), high))


rhos = log_uniform(1e-12, 1e3)
deltas = log_uniform(1e-15, 0.5)
epsilons = log_uniform(1e-3, 1e3)
conversions = st.sampled_from(CONVERSIONS)


def classic_epsilon(rho, delta):
    return rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta))


def classic_rho(epsilon, delta):
    log = math.log(1.0 / delta)
    return (epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))) ** 2


def tight_delta(epsilon, rho):
    """Minimise exp((a-1)(a rho - epsilon)) / (a-1) * (1-1/a)^a over a > 1; return its log and that order."""

    def log_delta(log_b):
        b = math.exp(log_b)
        a = 1.0 + b
        return b * (a * rho - epsilon) - log_b + a * (log_b - math.log1p(b))

    least = minimize_scalar(log_delta, bounds=(-9.0, 17.0), method="bounded", options={"xatol": 1e-11})
    return least.fun, 1.0 + math.exp(least.x)


def tight_epsilon(rho, delta):
    def excess(epsilon):
        return tight_delta(epsilon, rho)[0] - math.log(delta)

    if excess(0.0) <= 0.0:
        return 0.0
    return brentq(excess, 0.0, 2.0 * classic_epsilon(rho, delta), xtol=1e-300, rtol=1e-14)


def gaussian_delta(epsilon, rho):
    """Return the exact delta of the Gaussian mechanism (Balle & Wang 2018)."""
    mu = math.sqrt(2.0 * rho)
    first = log_ndtr(mu / 2.0 - epsilon / mu)
    second = epsilon + log_ndtr(-mu / 2.0 - epsilon / mu)
    return -math.exp(first) * math.expm1(second - first)


@pytest.mark.parametrize(
    ("epsilon", "classic", "tight"),
    [
        (0.05, "3.388e-05", "5.526e-05"),
        (0.1, "1.353e-04", "2.088e-04"),
        (0.2, "5.399e-04", "7.899e-04"),
        (0.4, "2.148e-03", "2.986e-03"),
        (0.8, "8.502e-03", "1.124e-02"),
        (1.6, "3.331e-02", "4.198e-02"),
    ],
)
def test_budgets_of_the_paper_to_four_digits(epsilon, classic, tight):
    assert f"{rho_from_epsilon(epsilon, 1e-8, 'classic'):.3e}" == classic
    assert f"{rho_from_epsilon(epsilon, 1e-8, 'tight'):.3e}" == tight
    assert rho_from_epsilon(epsilon, 1e-8) == rho_from_epsilon(epsilon, 1e-8, "tight")


@many
@given(rho=rhos, delta=deltas)
def test_classic_epsilon_is_the_closed_form_rounded_up(rho, delta):
    exact = classic_epsilon(rho, delta)
    assert exact * (1.0 - 1e-15) <= epsilon_from_rho(rho, delta, "classic") <= exact * (1.0 + LOSS)


@many
@given(epsilon=epsilons, delta=deltas)
def test_classic_rho_is_the_closed_form_rounded_down(epsilon, delta):
    exact = min(classic_rho(epsilon, delta), 1e3)
    assert exact * (1.0 - LOSS) <= rho_from_epsilon(epsilon, delta, "classic") <= exact * (1.0 + 1e-15)


@settings(many, max_examples=150)
@given(rho=rhos, delta=deltas)
@example(rho=1e-12, delta=1e-15)
@example(rho=1e-12, delta=0.5)
@example(rho=1e3, delta=1e-15)
@example(rho=1e3, delta=0.5)
def test_tight_epsilon_is_the_minimum_over_orders_rounded_up(rho, delta):
    exact, ours = tight_epsilon(rho, delta), epsilon_from_rho(rho, delta, "tight")
    assert ours >= exact * (1.0 - 1e-14)
    if delta <= 1e-3 * exact:
        assert ours <= exact * (1.0 + LOSS)
    else:  # epsilon is the small difference of a * rho and another term
        assert ours <= exact + 2.0 * LOSS * (exact + tight_delta(exact, rho)[1] * rho)


@settings(many, max_examples=150)
@given(epsilon=epsilons, delta=deltas)
def test_tight_rho_is_the_largest_worth_that_epsilon(epsilon, delta):
    rho, log_delta = rho_from_epsilon(epsilon, delta, "tight"), math.log(delta)
    assert tight_delta(epsilon, rho)[0] <= log_delta + 1e-14 * abs(log_delta)
    if rho < 1e3:
        loss = LOSS if delta <= 1e-3 * epsilon else 2.0 * LOSS
        assert tight_delta(epsilon, rho * (1.0 + loss))[0] > log_delta


@many
@given(rho=rhos, delta=deltas, conversion=conversions)
def test_epsilon_is_never_below_that_of_the_exact_gaussian(rho, delta, conversion):
    assert gaussian_delta(epsilon_from_rho(rho, delta, conversion), rho) <= delta


def test_the_exact_gaussian_profile_catches_an_epsilon_that_is_too_small():
    assert gaussian_delta(0.8 * epsilon_from_rho(0.01, 1e-8), 0.01) > 1e-8


@many
@given(rho=rhos, delta=deltas)
def test_tight_is_never_worse_than_classic(rho, delta):
    tight, classic = (epsilon_from_rho(rho, delta, conversion) for conversion in CONVERSIONS)
    assert tight < classic


@many
@given(epsilon=epsilons, delta=deltas, conversion=conversions)
def test_a_converted_budget_never_promises_more_than_asked(epsilon, delta, conversion):
    back = epsilon_from_rho(rho_from_epsilon(epsilon, delta, conversion), delta, conversion)
    assert back <= epsilon
    if rho_from_epsilon(epsilon, delta, conversion) < 1e3:
        assert back >= epsilon * (1.0 - 1e-12)


@many
@given(rho=rhos, delta=deltas, conversion=conversions)
@example(rho=1e-12, delta=1e-15, conversion="classic")
@example(rho=1e-12, delta=1e-15, conversion="tight")
def test_every_allowed_rho_survives_the_way_to_epsilon_and_back(rho, delta, conversion):
    epsilon = epsilon_from_rho(rho, delta, conversion)
    assume(epsilon > 0.0)  # at delta close to 1/2 a small rho is worth (0, delta)
    assert rho_from_epsilon(epsilon, delta, conversion) >= rho * (1.0 - 1e-12)


@many
@given(rho=log_uniform(1e-12, 999.0), delta=log_uniform(1e-15, 0.499), conversion=conversions)
def test_epsilon_is_monotone_between_adjacent_floats(rho, delta, conversion):
    epsilon = epsilon_from_rho(rho, delta, conversion)
    assert epsilon_from_rho(math.nextafter(rho, math.inf), delta, conversion) >= epsilon
    assert epsilon_from_rho(rho, math.nextafter(delta, 1.0), conversion) <= epsilon


@many
@given(epsilon=epsilons, delta=log_uniform(1e-15, 0.499), conversion=conversions)
def test_rho_is_monotone_between_adjacent_floats(epsilon, delta, conversion):
    rho = rho_from_epsilon(epsilon, delta, conversion)
    assert rho_from_epsilon(math.nextafter(epsilon, math.inf), delta, conversion) >= rho
    assert rho_from_epsilon(epsilon, math.nextafter(delta, 1.0), conversion) >= rho


@many
@given(a=rhos, b=rhos, delta=deltas, epsilon=epsilons, conversion=conversions)
def test_conversions_are_monotone_over_any_distance(a, b, delta, epsilon, conversion):
    low, high = sorted([a, b])
    assert epsilon_from_rho(low, delta, conversion) <= epsilon_from_rho(high, delta, conversion)
    more = epsilon * (1.0 + high)
    assert rho_from_epsilon(epsilon, delta, conversion) <= rho_from_epsilon(more, delta, conversion)


@pytest.mark.parametrize("conversion", CONVERSIONS)
@pytest.mark.parametrize("epsilon", [1e4, 1e100, 1.7e308])
def test_a_huge_epsilon_is_worth_the_largest_rho(epsilon, conversion):
    assert rho_from_epsilon(epsilon, 1e-8, conversion) == 1e3


@pytest.mark.parametrize("rho", [math.nan, math.inf, -math.inf, -1.0, 0.0, 0.99e-12, 1000.1])
def test_epsilon_of_a_rho_out_of_range_is_refused(rho):
    with pytest.raises(ValueError, match=r"rho must lie between 1e-12 and 1000, got"):
        epsilon_from_rho(rho, 1e-8)


@pytest.mark.parametrize("delta", [math.nan, math.inf, -1e-8, 0.0, 0.99e-15, 0.51, 1.0])
def test_a_delta_out_of_range_is_refused_both_ways(delta):
    message = r"delta must lie between 1e-15 and 0\.5, got"
    with pytest.raises(ValueError, match=message):
        epsilon_from_rho(0.1, delta)
    with pytest.raises(ValueError, match=message):
        rho_from_epsilon(1.0, delta)


@pytest.mark.parametrize("epsilon", [math.nan, math.inf, -1.0, 0.0])
def test_an_epsilon_that_is_no_positive_number_is_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon must be a positive finite number, got"):
        rho_from_epsilon(epsilon, 1e-8)


def test_an_epsilon_worth_too_little_is_refused_with_advice():
    with pytest.raises(ValueError, match=r"worth less than rho = 1e-12.*raise epsilon"):
        rho_from_epsilon(1e-9, 1e-8)


@pytest.mark.parametrize("convert", [epsilon_from_rho, rho_from_epsilon])
def test_an_unknown_conversion_is_refused(convert):
    known = r"\('tight', 'classic'\)"
    with pytest.raises(ValueError, match=f"conversion must be one of {known}, got 'best'"):
        convert(0.1, 1e-8, "best")


@many
@given(sensitivity=log_uniform(1e-9, 1e9), rho=rhos)
def test_gaussian_noise_bought_for_rho_costs_at_most_rho(sensitivity, rho):
    sigma = gaussian_sigma(sensitivity, rho)
    exact = Fraction(sensitivity) ** 2 / (2 * Fraction(sigma) ** 2)
    assert exact <= Fraction(gaussian_cost(sensitivity, sigma)) <= Fraction(rho)
    assert exact >= Fraction(rho) * (1 - Fraction(LOSS))


@many
@given(sensitivity=log_uniform(1e-9, 1e9), sigma=log_uniform(1e-9, 1e9))
def test_gaussian_cost_is_rounded_up_by_next_to_nothing(sensitivity, sigma):
    exact = Fraction(sensitivity) ** 2 / (2 * Fraction(sigma) ** 2)
    assert exact <= Fraction(gaussian_cost(sensitivity, sigma)) <= exact * (1 + Fraction(1, 10**14))


@many
@given(epsilon=log_uniform(1e-9, 1e3))
def test_pure_and_bounded_range_costs_are_rounded_up_by_next_to_nothing(epsilon):
    square, slightly = Fraction(epsilon) ** 2, 1 + Fraction(1, 10**14)
    assert square / 2 <= Fraction(pure_cost(epsilon)) <= square / 2 * slightly
    assert square / 8 <= Fraction(bounded_range_cost(epsilon)) <= square / 8 * slightly


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0, -1.0])
def test_costs_refuse_what_is_no_positive_number(bad):
    with pytest.raises(ValueError, match="sensitivity must be a positive finite number"):
        gaussian_cost(bad, 1.0)
    with pytest.raises(ValueError, match="sigma must be a positive finite number"):
        gaussian_cost(1.0, bad)
    with pytest.raises(ValueError, match="sensitivity must be a positive finite number"):
        gaussian_sigma(bad, 1.0)
    with pytest.raises(ValueError, match="rho must be a positive finite number"):
        gaussian_sigma(1.0, bad)
    with pytest.raises(ValueError, match="epsilon must be a positive finite number"):
        pure_cost(bad)
    with pytest.raises(ValueError, match="epsilon must be a positive finite number"):
        bounded_range_cost(bad)


# -- the direction of every rounding, in exact arithmetic ---------------------------------------------------


def least_epsilon(rho, delta, conversion):
    """The least epsilon over all orders to 30 digits, by golden-section search over the order's logarithm."""
    with mpmath.workdps(50):
        rho, cost = mpmath.mpf(rho), -mpmath.log(mpmath.mpf(delta))

        def epsilon(log_b):
            b = mpmath.exp(log_b)
            discount = b * mpmath.log(b / (1 + b)) - mpmath.log(1 + b) if conversion == "tight" else 0
            return (1 + b) * rho + (cost + discount) / b

        low, high, golden = mpmath.mpf(-6), mpmath.mpf(40), (mpmath.sqrt(5) - 1) / 2
        for _ in range(90):
            first, second = high - golden * (high - low), low + golden * (high - low)
            low, high = (low, second) if epsilon(first) < epsilon(second) else (first, high)
        return max(mpmath.mpf(0), epsilon((low + high) / 2))


@pytest.mark.parametrize("conversion", CONVERSIONS)
@pytest.mark.parametrize("delta", [1e-15, 1e-9, 1e-6, 1e-3, 0.5])
@pytest.mark.parametrize("rho", [1e-300, 1e-30, 1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_an_epsilon_is_never_below_the_least_over_all_orders(rho, delta, conversion):
    assert epsilon_of_sum(rho, delta, conversion) >= least_epsilon(rho, delta, conversion)


@pytest.mark.parametrize("conversion", CONVERSIONS)
@pytest.mark.parametrize("delta", [1e-15, 1e-9, 1e-6, 1e-3, 0.5])
@pytest.mark.parametrize("epsilon", [1e-4, 1e-3, 0.1, 1.0, 30.0, 1e3])
def test_a_budget_is_never_worth_more_than_the_epsilon_it_is_converted_from(epsilon, delta, conversion):
    assert least_epsilon(rho_from_epsilon(epsilon, delta, conversion), delta, conversion) <= epsilon


@pytest.mark.parametrize("epsilon", [5e-324, 1e-200, 1e-163, 1.5e-162, 1e-154, 1e-10, 1.0 / 3.0, 1e100])
def test_costs_are_never_too_small_even_where_squares_underflow(epsilon):
    square = Fraction(epsilon) ** 2
    assert Fraction(pure_cost(epsilon)) >= square / 2
    assert Fraction(bounded_range_cost(epsilon)) >= square / 8
    assert Fraction(gaussian_cost(epsilon, 1.0)) >= square / 2
