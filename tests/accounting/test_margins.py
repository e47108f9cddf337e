"""Margins for rounding are on the safe side: far larger ones move every answer as far as they say.

The margins themselves are too small to be seen in a result, so each is replaced by one of a half.
"""

import dp_accounting
import pytest

from privfit.accounting import Concentrated, Gaussian, gdp, group, subsampled, zcdp
from privfit.accounting.zcdp import epsilon_of_sum

HALF_AS_MUCH_AGAIN = 1.5


def of_margin(monkeypatch, margin):
    monkeypatch.setattr(subsampled, "_MARGIN", margin)


@pytest.mark.parametrize("accountant", ["pld", "rdp"])
@pytest.mark.parametrize("q", [0.01, 0.9])
def test_probability_delta_and_epsilon_of_sampled_steps_have_a_margin(q, accountant, monkeypatch):
    of_margin(monkeypatch, HALF_AS_MUCH_AGAIN)
    safe = subsampled.sgd_epsilon(4.0, q, 10, 1e-5, accountant)
    of_margin(monkeypatch, 1.0)
    bare = subsampled.sgd_epsilon(4.0, min(1.0, 1.5 * q), 10, 1e-5 / 1.5, accountant)
    assert safe == 1.5 * bare


def test_what_fourier_transforms_may_add_to_delta_is_taken_off(monkeypatch):
    of_margin(monkeypatch, 1.0)
    monkeypatch.setattr(subsampled, "_DELTA_NOISE", 1e-8)
    safe = subsampled.sgd_epsilon(4.0, 0.1, 10, 1e-5)
    monkeypatch.setattr(subsampled, "_DELTA_NOISE", 0.0)
    assert safe == subsampled.sgd_epsilon(4.0, 0.1, 10, 1e-5 - 1e-8 * 18)


@pytest.mark.parametrize("q", [0.01, 0.9])
def test_advanced_composition_has_a_margin(q, monkeypatch):
    monkeypatch.setattr(subsampled, "gaussian_noise", dp_accounting.get_sigma_gaussian)
    of_margin(monkeypatch, HALF_AS_MUCH_AGAIN)
    safe = subsampled.advanced_noise(q, 50, 1.0, 1e-6)
    of_margin(monkeypatch, 1.0)
    assert safe == subsampled.advanced_noise(min(1.0, 1.5 * q), 50, 1.0 / 1.5, 1e-6 / 1.5)


def test_the_noise_of_one_sum_has_a_margin(monkeypatch):
    of_margin(monkeypatch, HALF_AS_MUCH_AGAIN)
    safe = subsampled.gaussian_noise(1.0, 1e-5)
    of_margin(monkeypatch, 1.0)
    assert safe == subsampled.gaussian_noise(1.0, 1e-5 / 1.5)


def test_prices_and_conversions_of_zcdp_have_a_margin(monkeypatch):
    monkeypatch.setattr(zcdp, "_SLACK", 0.0)
    epsilon, rho = epsilon_of_sum(0.1, 1e-6, "classic"), zcdp.rho_from_epsilon(2.0, 1e-6, "classic")
    monkeypatch.setattr(zcdp, "_SLACK", 0.5)
    assert epsilon_of_sum(0.1, 1e-6, "classic") == pytest.approx(1.5 * epsilon, rel=1e-12)
    assert zcdp.rho_from_epsilon(3.0, 1e-6, "classic") == pytest.approx(0.5 * rho, rel=1e-12)
    assert (zcdp.pure_cost(2.0), zcdp.bounded_range_cost(2.0)) == pytest.approx((1.5 * 2.0, 1.5 * 0.5))


def test_deltas_of_gaussian_noise_have_a_margin(monkeypatch):
    monkeypatch.setattr(gdp, "_DELTA_MARGIN", 0.5)
    safe = gdp.epsilon_from_mu(0.3, 1e-5), gdp.mu_from_epsilon(1.0, 1e-5)
    monkeypatch.setattr(gdp, "_DELTA_MARGIN", 1.0)
    assert safe == (gdp.epsilon_from_mu(0.3, 0.5e-5), gdp.mu_from_epsilon(1.0, 0.5e-5))


def test_promises_to_groups_have_a_margin(monkeypatch):
    monkeypatch.setattr(group, "_ROUNDING", HALF_AS_MUCH_AGAIN)
    gaussian, concentrated = (kind.of(rho=0.02, delta=1e-6) for kind in (Gaussian, Concentrated))
    assert group.for_records(gaussian, 2)[0] == gdp.epsilon_from_mu(2 * gaussian.mu * 1.5, 1e-6)
    assert group.for_records(concentrated, 2)[0] == epsilon_of_sum(4 * 0.02 * 1.5, 1e-6)
