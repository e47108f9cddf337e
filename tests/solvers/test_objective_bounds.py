"""O1 beside the bound of Redberg, Koskela & Wang (2023) for the same noise and regulariser.

Their privacy loss for linear models is, for a record added or removed, at most
|log(1 - beta / lambda)| + s^2 / 2 + s |Z| with s = L / sigma and Z standard normal; it needs lambda > beta.
O1 has log(1 + beta / lambda) + max(0, s^2 / 2 + s Z): the determinant changes by 1 + beta / lambda both ways,
and the slope of a loss that falls with the margin has one sign.
"""

import math
from pathlib import Path

import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from privfit.losses import LOSSES
from privfit.solvers import objective_perturbation as ours

LOSS_NAMES = ("logistic", "hinge")
EPSILONS, DELTAS = (0.1, 0.4, 1.0, 4.0), (1e-8, 1e-6, 1e-3)
STRENGTHS = (0.0, 1e3 * 1e-2, 1e5 * 1e-2)  # n alpha; the first is raised to what the solver's share asks for
DEFAULT_SHARE = ours.ObjectivePerturbation().curvature_share


def gaussian_delta(s, epsilon):
    """Return the delta at epsilon of telling N(s, 1) from N(0, 1)."""
    return norm.cdf(s / 2 - epsilon / s) - math.exp(epsilon + norm.logcdf(-s / 2 - epsilon / s))


def redberg_delta(sigma, ridge, loss, epsilon):
    """Return their delta: the mean of (1 - exp(epsilon - loss))+ over the half-normal |Z|."""
    s, rest = loss.lipschitz / sigma, epsilon + math.log1p(-loss.smoothness / ridge)
    left = rest - s * s / 2
    if left >= 0.0:
        return 2.0 * gaussian_delta(s, rest)
    return -math.expm1(left) + 2.0 * math.exp(left) * gaussian_delta(s, s * s / 2)


def redberg_sigma(ridge, loss, epsilon, delta):
    """Return the least sigma that their bound allows; infinity where it allows none."""
    if ridge <= loss.smoothness or epsilon + math.log1p(-loss.smoothness / ridge) <= 0.0:
        return math.inf

    def excess(log_sigma):
        return redberg_delta(math.exp(log_sigma), ridge, loss, epsilon) - delta

    return math.exp(brentq(excess, -3.0, 15.0, xtol=1e-10))


def chosen(name, epsilon, delta, strength, share=DEFAULT_SHARE):
    """Return loss, regulariser and sigma as the solver chooses them."""
    loss = LOSSES[name].smoothed
    ridge, rest = ours.ridge_and_rest(loss, epsilon, strength, share)
    return loss, ridge, ours.noise_scale(loss.lipschitz * ours.LONGEST_UNIT_ROW, rest, delta)


@pytest.mark.parametrize(("s", "rest"), [(0.5, 1.0), (1.5, 0.2), (0.1, 1e-3), (2.0, 5.0)])
def test_their_delta_is_the_mean_over_the_half_normal(s, rest):
    loss = LOSSES["logistic"]
    ridge = 2.0 * loss.smoothness
    epsilon = rest + math.log(2.0)

    def lost(z):
        return max(-math.expm1(rest - s * s / 2 - s * z), 0.0) * 2.0 * norm.pdf(z)

    kink = max((rest - s * s / 2) / s, 0.0)
    expected = quad(lost, kink, kink + 12.0, epsabs=1e-13)[0]
    assert redberg_delta(1.0 / s, ridge, loss, epsilon) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_no_more_noise_is_drawn_than_their_bound_needs_at_the_same_regulariser(
    name, epsilon, delta, strength
):
    loss, ridge, sigma = chosen(name, epsilon, delta, strength)
    theirs = redberg_sigma(ridge, loss, epsilon, delta)
    assert sigma <= theirs
    # by their bound, what is drawn would have at least twice the delta
    assert ridge <= loss.smoothness or redberg_delta(sigma, ridge, loss, epsilon) > 1.99 * delta


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_what_remains_of_the_difference_under_a_strong_regulariser_is_their_factor_2_of_delta(
    name, epsilon, delta
):
    """Then both are the Gaussian mechanism of sensitivity L, ours at delta and theirs at delta / 2."""
    loss, ridge, sigma = chosen(name, epsilon, delta, 1e9)
    assert gaussian_delta(loss.lipschitz / sigma, epsilon) == pytest.approx(delta, rel=1e-4)
    theirs = redberg_sigma(ridge, loss, epsilon, delta)
    assert gaussian_delta(loss.lipschitz / theirs, epsilon) == pytest.approx(delta / 2, rel=1e-4)
    assert 1.0 < theirs / sigma < 1.35


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_their_log_determinant_wants_a_regulariser_that_is_larger_by_the_smoothness(name, epsilon):
    """|log(1 - beta / (lambda + beta))| = log(1 + beta / lambda): that much of epsilon is paid in both."""
    loss, ridge, _ = chosen(name, epsilon, 1e-6, 0.0)
    paid = epsilon - ours.ridge_and_rest(loss, epsilon, 0.0, DEFAULT_SHARE)[1]
    curvature = loss.smoothness * ours.LONGEST_UNIT_ROW**2
    assert -math.log1p(-curvature / (ridge + curvature)) == pytest.approx(paid, rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_documented_table_is_what_both_bounds_give(epsilon):
    loss, ridge, sigma = chosen("logistic", epsilon, 1e-6, 0.0)
    same, larger = (redberg_sigma(r, loss, epsilon, 1e-6) for r in (ridge, ridge + loss.smoothness))
    kifer = loss.lipschitz * math.sqrt(8.0 * math.log(2.0 / 1e-6) + 4.0 * epsilon) / epsilon
    row = f"| {epsilon:g} | {ridge:.3g} | {sigma:.2f} | {same:.2f} | {larger:.2f} | {kifer:.1f} |"
    assert row in (Path(__file__).parents[2] / "docs" / "research.md").read_text(), row
