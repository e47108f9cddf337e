"""Every "at most" on the page is at least what is true, as printed, and every "at least" at most that."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privfit.accounting import Concentrated, Direct, Gaussian
from privfit.accounting.amounts import written_up
from privfit.accounting.promise import to_dict
from privfit.report.odds import BELIEFS, FALSE_ALARMS, Odds, rounded_down, rounded_up

BUDGETS = st.floats(-6.0, 1.5).map(lambda exponent: 10.0**exponent)
DELTAS = st.sampled_from([1e-12, 1e-8, 1e-6, 1e-3])
SHARES = st.floats(0.0, 1.0)
OFTEN = settings(max_examples=60, deadline=None)


def share(text):
    return Fraction(text.removesuffix("%")) / 100


def exact(number):
    """Return a number of mpmath as it is."""
    sign, mantissa, exponent, _ = number._mpf_
    return Fraction(-mantissa if sign else mantissa) * Fraction(2) ** exponent


def probability_below(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def logistic(x):
    return 1 / (1 + mpmath.exp(-x))


@given(SHARES)
def test_a_share_is_rounded_in_the_safe_direction(value):
    assert share(rounded_down(value)) <= Fraction(value) <= share(rounded_up(value))
    assert share(rounded_up(value)) - share(rounded_down(value)) <= Fraction(1, 1000)


def test_a_share_just_above_a_printed_one_is_rounded_up():
    """A product of floating-point numbers would round this one down."""
    above = 0.123 + 2.0**-56
    assert above > 0.123
    assert rounded_up(above) == "12.4%"


@given(st.floats(1e-300, 1e300))
def test_an_amount_is_written_no_smaller_than_it_is(value):
    assert value <= float(written_up(value)) <= value * 1.00101


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.1, "0.1"),
        (1.0, "1"),
        (1e-6, "1e-06"),
        (0.12340000000000001, "0.1235"),
        (99995.0, "1e+05"),
        (0.0, "0"),
    ],
)
def test_amounts_that_were_asked_for_are_written_as_they_are(value, written):
    assert written_up(value) == written


@given(BUDGETS, DELTAS)
@OFTEN
def test_bounds_of_a_gaussian_promise_hold_as_printed(rho, delta):
    """The logarithm of the odds of the two Gaussians is normal, with mean mu^2/2 and deviation mu."""
    promise = Gaussian.of(rho=rho, delta=delta)
    odds = Odds.of(to_dict(promise))
    with mpmath.workdps(60):
        mu, epsilon = mpmath.sqrt(2 * mpmath.mpf(rho)), mpmath.mpf(promise.epsilon)
        beyond = probability_below(mu / 2 - epsilon / mu) + probability_below(-mu / 2 - epsilon / mu)
        assert exact(beyond) <= Fraction(written_up(odds.exceptions()))
        assert exact(probability_below(mu / 2)) <= share(rounded_up(odds.best_guess()))
        level = -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(FALSE_ALARMS))
        assert exact(probability_below(level + mu)) <= share(rounded_up(odds.power()))


@given(BUDGETS, DELTAS, st.sampled_from(["concentrated", "direct"]))
@OFTEN
def test_bounds_of_other_promises_hold_as_printed(rho, delta, kind):
    promise = (Concentrated if kind == "concentrated" else Direct).of(rho=rho, delta=delta)
    odds = Odds.of(to_dict(promise))
    with mpmath.workdps(60):
        epsilon, slack = mpmath.mpf(promise.epsilon), mpmath.mpf(promise.delta)
        best = (mpmath.exp(epsilon) + slack) / (1 + mpmath.exp(epsilon))
        assert exact(best) <= share(rounded_up(odds.best_guess()))
        accused = mpmath.mpf(FALSE_ALARMS)
        found = min(mpmath.exp(epsilon) * accused + slack, 1 - (1 - slack - accused) * mpmath.exp(-epsilon))
        assert exact(min(found, mpmath.mpf(1))) <= share(rounded_up(odds.power()))
        if kind == "direct":  # twice epsilon, and delta / (1 - e^-epsilon), on either side
            beyond = slack / (1 - mpmath.exp(-epsilon)) * (1 + mpmath.exp(-2 * epsilon))
        else:
            r, price = epsilon, mpmath.mpf(rho)
            beyond = mpmath.exp(-((r - price) ** 2) / (4 * price)) * (1 + mpmath.exp(-r)) if r > price else 1
        assert exact(mpmath.mpf(min(beyond, 1))) <= Fraction(written_up(odds.exceptions()))


@given(st.floats(1e-4, 50.0), DELTAS, st.sampled_from(BELIEFS))
@OFTEN
def test_beliefs_move_no_further_than_printed(epsilon, delta, before):
    odds = Odds.of(to_dict(Direct(epsilon, delta)))
    least, most = odds.belief_after(before)
    with mpmath.workdps(60):
        prior = mpmath.log(mpmath.mpf(before) / (1 - mpmath.mpf(before)))
        moved = 2 * mpmath.mpf(epsilon)
        assert share(rounded_down(least)) <= exact(logistic(prior - moved))
        assert exact(logistic(prior + moved)) <= share(rounded_up(most))
