"""Exact accounting for Gaussian noise: the formula, its two inverses, and the filter."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from privfit import DPLogisticRegression, Ledger
from privfit.accounting import (
    BudgetExceeded,
    Concentrated,
    Direct,
    Gaussian,
    epsilon_from_rho,
    rho_from_epsilon,
)
from privfit.accounting.gdp import divergence, epsilon_from_mu, mu_from_epsilon, pure_rho
from privfit.preprocessing import PrivateBounds

epsilons = st.floats(1e-3, 20.0)
deltas = st.sampled_from([1e-12, 1e-8, 1e-6, 1e-3, 0.1])


def exact_delta(mu, epsilon):
    """The divergence to 40 digits, independent of float64."""
    with mpmath.workdps(80):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        first, second = (mpmath.erfc((epsilon / mu + side * mu / 2) / mpmath.sqrt(2)) / 2 for side in (-1, 1))
        return first - mpmath.exp(epsilon) * second


# by how far the log-likelihood ratio lies beyond its mean, in standard deviations
DISTANCES = (0.0, 1e-9, 1e-3, 0.5, 2.0, 4.0, 6.0, 7.9)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("mu", [10.0**k for k in range(-15, 7)] + [2.0**-13, math.nextafter(2.0**-13, 0.0)])
def test_the_divergence_has_eight_digits_however_small_or_large_mu_is(mu, distance):
    epsilon = mu * (distance if mu < 1.0 else mu / 2.0 + distance)
    exact = exact_delta(mu, epsilon)
    assert abs(divergence(mu, epsilon) - exact) <= 1e-8 * exact


@pytest.mark.parametrize("delta", [1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5])
@pytest.mark.parametrize("mu", [10.0**k for k in range(-14, 7)])
def test_the_epsilon_of_mu_is_never_too_small(mu, delta):
    epsilon = epsilon_from_mu(mu, delta)
    assert exact_delta(mu, epsilon) <= delta
    if epsilon > 0.0:
        assert exact_delta(mu, epsilon * (1 - 1e-3)) > delta * (1 - 2.0**-19)


@pytest.mark.parametrize("delta", [1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5])
@pytest.mark.parametrize("epsilon", [10.0**k for k in range(-12, 4)])
def test_the_mu_of_a_promise_is_never_too_large(epsilon, delta):
    if exact_delta(math.sqrt(2e-12), epsilon) > delta:
        with pytest.raises(ValueError, match="worth less than rho = 1e-12"):
            mu_from_epsilon(epsilon, delta)
        return
    mu = mu_from_epsilon(epsilon, delta)
    assert exact_delta(mu, epsilon) <= delta
    rho = Gaussian.of(epsilon=epsilon, delta=delta).rho
    assert mpmath.mpf(rho) <= mpmath.mpf(mu) ** 2 / 2


@given(epsilon=epsilons, delta=deltas)
@settings(max_examples=60)
def test_the_mu_of_a_promise_is_the_largest_that_keeps_it(epsilon, delta):
    mu = mu_from_epsilon(epsilon, delta)
    assert exact_delta(mu, epsilon) <= delta
    assert exact_delta(mu * (1 + 1e-5), epsilon) > delta * (1 - 2.0**-19)


@given(mu=st.floats(1e-4, 20.0), delta=deltas)
@settings(max_examples=60)
def test_the_epsilon_of_mu_is_the_least_that_holds(mu, delta):
    epsilon = epsilon_from_mu(mu, delta)
    assert exact_delta(mu, epsilon) <= delta
    if epsilon > 1e-6:
        assert exact_delta(mu, epsilon * (1 - 1e-4)) > delta


@given(epsilon=st.floats(1e-3, 10.0), delta=deltas, factor=st.floats(1.001, 3.0))
def test_both_conversions_are_monotone(epsilon, delta, factor):
    assert mu_from_epsilon(epsilon, delta) < mu_from_epsilon(epsilon * factor, delta)
    assert epsilon_from_mu(epsilon, delta) <= epsilon_from_mu(epsilon * factor, delta)


@pytest.mark.parametrize(
    ("epsilon", "delta", "gain"),
    [(0.05, 1e-6, 1.19), (1.0, 1e-6, 1.15), (4.0, 1e-6, 1.13), (0.05, 1e-8, 1.14), (1.0, 1e-8, 1.117)],
)
def test_what_exact_accounting_gains_over_zcdp(epsilon, delta, gain):
    assert Gaussian.of(epsilon=epsilon, delta=delta).rho / rho_from_epsilon(epsilon, delta) == pytest.approx(
        gain, abs=0.006
    )


@pytest.mark.parametrize("steps", [1, 7, 60])
def test_a_composition_agrees_with_dp_accountings_privacy_loss_distribution(steps):
    from dp_accounting.pld import privacy_loss_distribution

    promise = Gaussian.of(epsilon=1.0, delta=1e-6)
    sigma = 1.0 / math.sqrt(2.0 * promise.rho / steps)
    losses = privacy_loss_distribution.from_gaussian_mechanism(sigma, value_discretization_interval=1e-5)
    found = losses.self_compose(steps).get_epsilon_for_delta(1e-6)
    # the discretised distribution is pessimistic by at most half an interval a step
    assert 1.0 - 1e-6 <= found <= 1.0 + 1e-5 * (steps + 1)
    too_little_noise = privacy_loss_distribution.from_gaussian_mechanism(sigma / 1.01)
    assert too_little_noise.self_compose(steps).get_epsilon_for_delta(1e-6) > 1.005


def test_an_adaptive_filter_is_no_easier_to_see_through_than_one_gaussian():
    """Simulate P7: prices decided by what was released, and stop when the budget is spent.

    The log-likelihood ratio must be N(mu^2/2, mu^2). Kolmogorov-Smirnov at 20,000 runs, false-alarm rate 1e-6
    over seeds; a filter that let the last step through would shift the variance and be rejected.
    """
    from scipy.stats import kstest

    def ratios(overshoot):
        rng = np.random.default_rng(5)
        mu2, left, ratio = 1.5, np.full(20_000, 1.5), np.zeros(20_000)
        released = np.zeros(20_000)
        while left.max() > 1e-12:
            asked = np.where(released > 0.0, 0.3, 0.05)  # dearer after a positive answer
            share = np.where(left > 0.0, asked if overshoot else np.minimum(asked, left), 0.0)
            z = rng.standard_normal(20_000)
            ratio += np.where(share > 0.0, share / 2 + np.sqrt(share) * z, 0.0)
            released, left = np.sqrt(share) + z, np.maximum(left - share, 0.0)
        return (ratio - mu2 / 2) / math.sqrt(mu2)

    assert kstest(ratios(overshoot=False), norm.cdf).pvalue > 1e-6
    assert kstest(ratios(overshoot=True), norm.cdf).pvalue < 1e-6


@given(epsilon=st.floats(1e-3, 100.0))
def test_pure_mechanisms_cost_what_randomised_response_does(epsilon):
    mu = math.sqrt(2.0 * pure_rho(epsilon))
    # its two errors, 1 / (1 + e^epsilon) each, lie on the trade-off curve of N(0, 1) against N(mu, 1)
    error = 1.0 / (1.0 + math.exp(epsilon))
    assert norm.cdf(norm.isf(error) - mu) <= error * (1 + 1e-9)
    assert norm.cdf(norm.isf(error) - mu * (1 - 1e-6)) > error


@pytest.mark.parametrize(
    "epsilon", [10.0**k for k in (-300, -160, -100, *range(-20, 3))] + [0.999, 1.0, 690.0]
)
def test_a_pure_price_is_never_too_small(epsilon):
    with mpmath.workdps(700):
        error = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon)))
        mu = mpmath.sqrt(2 * mpmath.mpf(pure_rho(epsilon)))
        # the two errors of randomised response are those of the best test of N(0, 1) against N(mu, 1)
        assert mpmath.erfc(mu / 2 / mpmath.sqrt(2)) / 2 <= error
        if epsilon > 1e-150:  # where squares do not underflow
            assert mpmath.erfc(mu * (1 - 1e-11) / 2 / mpmath.sqrt(2)) / 2 > error


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, 1e4])
def test_pure_prices_of_what_is_no_epsilon_are_refused(bad):
    with pytest.raises(ValueError, match="epsilon must be positive and below 700"):
        pure_rho(bad)


def test_promises_out_of_range_are_refused_or_saturate():
    with pytest.raises(ValueError, match="delta must lie between"):
        Gaussian.of(epsilon=1.0, delta=0.0)
    for epsilon in (-1.0, 0.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="epsilon must be a positive finite number"):
            mu_from_epsilon(epsilon, 1e-6)
    with pytest.raises(ValueError, match="worth less than rho = 1e-12"):
        mu_from_epsilon(1e-9, 1e-12)
    with pytest.raises(ValueError, match="mu must lie between"):
        epsilon_from_mu(1e7, 1e-6)
    with pytest.raises(ValueError, match="delta must lie between"):
        epsilon_from_mu(1.0, 1.0)
    with pytest.raises(ValueError, match="rho must lie between"):
        Gaussian.of(rho=2e3, delta=1e-6)
    assert Gaussian.of(epsilon=1e6, delta=1e-6).rho <= 1e3
    assert epsilon_from_mu(1e-5, 0.3) == 0.0


# -- accounts


def test_a_gaussian_account_pays_for_gaussian_noise_alone():
    ledger = Ledger.keeping(Gaussian.of(epsilon=1.0, delta=1e-6))
    ledger.charge(ledger.rho / 2, kind="gaussian")
    for refused in ({"rho": 0.001}, {"rho": 0.001, "delta": 1e-9, "kind": "gaussian"}):
        with pytest.raises(ValueError, match="pays for Gaussian noise only"):
            ledger.charge(**refused)
    with pytest.raises(
        BudgetExceeded, match=r"needs epsilon = 0\.7\d* .* epsilon = 0\.6\d* .* left of epsilon = 1 "
    ):
        ledger.charge(0.6 * ledger.rho, kind="gaussian", what="a step")
    part = ledger.portion(ledger.rho / 4)
    assert isinstance(part.promise, Gaussian)
    assert part.epsilon() == epsilon_from_mu(part.promise.mu, 1e-6)


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    return X, (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("solver", ["adaptive", "gradient-descent", "newton"])
@pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")
def test_solvers_that_ask_gaussian_questions_only_get_the_exact_budget(solver):
    fitted = DPLogisticRegression(1.0, solver=solver).fit(*table())
    assert isinstance(fitted.privacy_.promise, Gaussian)
    assert fitted.privacy_.epsilon == 1.0
    assert fitted.ledger_.rho == pytest.approx(1.15 * rho_from_epsilon(1.0, 1e-6), rel=1e-3)
    assert "-zCDP, 0.2368-GDP)" in fitted.privacy_.text
    assert isinstance(PrivateBounds().fit(table()[0]).privacy_.promise, Gaussian)


@pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")
def test_a_fit_keeps_the_kind_of_promise_of_the_ledger_it_draws_on():
    zcdp = Ledger(epsilon=2.0, delta=1e-6, promise="concentrated")
    fitted = DPLogisticRegression(1.0, ledger=zcdp).fit(*table())
    assert fitted.privacy_.promise == Concentrated.of(epsilon=1.0, delta=1e-6)
    exact = Ledger(epsilon=2.0)
    assert isinstance(DPLogisticRegression(1.0, ledger=exact).fit(*table()).privacy_.promise, Gaussian)
    spent = exact.spent
    for solver in ("dpagd", "objective-perturbation"):
        refusal = "Gaussian noise only; solvers that it pays for: adaptive, gradient-descent, newton, "
        refusal += "sufficient-statistics."
        with pytest.raises(ValueError, match=refusal):
            DPLogisticRegression(0.1, solver=solver, ledger=exact).fit(*table())
    assert exact.spent == spent


def test_families_of_gaussian_fits_add_up_exactly():
    from privfit.surroundings import Family

    gaussian, mixed = Family(), Family()
    for _ in range(4):
        exact = gaussian.add(Gaussian.of(epsilon=0.5, delta=1e-6))
        zcdp = mixed.add(Concentrated.of(epsilon=0.5, delta=1e-6))
    assert exact.epsilon == pytest.approx(epsilon_from_mu(2 * mu_from_epsilon(0.5, 1e-6), 1e-6), rel=1e-9)
    assert zcdp.epsilon == pytest.approx(epsilon_from_rho(4 * rho_from_epsilon(0.5, 1e-6), 1e-6), rel=1e-9)
    assert mixed.add(Direct(0.5, 1e-6)).epsilon > zcdp.epsilon


@pytest.mark.parametrize("epsilon", [5.35e-14, 1e-12, 4.06e-12, 2.04e-9])
@pytest.mark.parametrize("delta", [3.337189163748667e-4, 1.5130188226303865e-4, 0.0013641139661780728])
def test_an_epsilon_far_below_mu_is_promised(epsilon, delta):
    """Its digits are those that the largest mu loses, so what that is worth differs in them."""
    promise = Gaussian.of(epsilon=epsilon, delta=delta)
    assert exact_delta(mpmath.sqrt(2 * mpmath.mpf(promise.rho)), epsilon) <= delta


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"rho": 1.0, "promise": "gaussian"}, {"rho": 1.0}])
@pytest.mark.parametrize("rho", [6e11, 1e300, 1.7e308])
def test_what_costs_more_than_any_promise_is_worth_is_refused_as_too_much(budget, rho):
    ledger = Ledger(**budget)
    for attempt in (lambda: ledger.charge(rho, kind="gaussian"), lambda: ledger.portion(rho)):
        with pytest.raises(BudgetExceeded, match="ask for no more than that"):
            attempt()
    with pytest.raises(ValueError, match="would be too little"):
        Gaussian(rho, 5.0, 1e-6)
