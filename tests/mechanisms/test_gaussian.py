"""A measurement knows its accuracy, and averages follow the exact variance law (erratum E1)."""

import functools
import math

import numpy as np
import pytest
from scipy import stats

from privfit.accounting.zcdp import gaussian_cost, gaussian_sigma
from privfit.mechanisms.gaussian import Measurement, measure
from privfit.mechanisms.noise import SeededNoise

RHOS = [1e-4, 1e-5, 3e-3, 1.1e-4, 0.05, 7e-4]
CLIP = 3.0


class ScriptedNoise:
    """Adds the standard normals it is told to, and remembers what it was asked."""

    secure = False

    def __init__(self, *draws):
        self.draws, self.asked = list(draws), []

    def gaussian(self, values, sigma):
        self.asked.append((values, sigma))
        return values + sigma * self.draws.pop(0)


def refined(value, rhos, noise):
    """Measure once per rho and average everything, as the solver does."""
    measurements = [measure(value, CLIP, rho, noise) for rho in rhos]
    return functools.reduce(Measurement.average, measurements)


def test_measure_blurs_the_value_with_the_noise_that_rho_buys():
    noise, value = ScriptedNoise(np.array([1.0, -2.0])), np.array([5.0, 7.0])
    answer = measure(value, CLIP, 0.01, noise)
    sigma = gaussian_sigma(CLIP, 0.01)
    np.testing.assert_array_equal(answer.value, value + sigma * np.array([1.0, -2.0]))
    assert noise.asked[0][1] == sigma
    assert (answer.sensitivity, answer.rho, answer.sigma) == (CLIP, 0.01, sigma)
    assert sigma == pytest.approx(CLIP / math.sqrt(0.02), rel=1e-8)


@pytest.mark.parametrize("rho", [0.0, -1.0, math.nan, math.inf])
def test_measure_draws_nothing_for_an_impossible_price(rho):
    noise = ScriptedNoise(np.zeros(1))
    with pytest.raises(ValueError, match="rho must be a positive finite number"):
        measure(np.zeros(1), CLIP, rho, noise)
    assert noise.asked == []


def test_averaging_weights_each_measurement_by_its_rho():
    rough = Measurement(np.array([0.0, 4.0]), CLIP, 0.25)
    fine = Measurement(np.array([4.0, 0.0]), CLIP, 0.75)
    both = rough.average(fine)
    np.testing.assert_array_equal(both.value, [3.0, 1.0])
    assert both.rho == 1.0
    assert both.sensitivity == CLIP


@pytest.mark.parametrize("k", range(1, len(RHOS) + 1))
def test_after_k_refinements_the_variance_is_that_of_one_measurement_at_the_total_rho(k):
    rhos = RHOS[:k]
    # one unit of noise in the i-th measurement alone shows its coefficient in the final average
    coefficients = [refined(np.zeros(1), rhos, ScriptedNoise(*np.eye(k)[i])).value.item() for i in range(k)]
    average = refined(np.zeros(1), rhos, ScriptedNoise(*np.zeros(k)))
    assert average.rho == pytest.approx(sum(rhos), rel=1e-14)
    assert sum(c * c for c in coefficients) == pytest.approx(average.sigma**2, rel=1e-12)
    assert gaussian_cost(CLIP, math.sqrt(sum(c * c for c in coefficients))) <= sum(rhos)


def test_averaging_keeps_the_mean():
    value = np.array([1e6, -3.0, 0.25])
    average = refined(value, RHOS, ScriptedNoise(*np.zeros(len(RHOS))))
    np.testing.assert_allclose(average.value, value, rtol=1e-14)


def test_the_order_of_averaging_does_not_matter():
    rng = np.random.default_rng(5)
    a, b, c = (Measurement(rng.normal(size=4), CLIP, rho) for rho in RHOS[:3])
    left, right = a.average(b).average(c), c.average(b.average(a))
    np.testing.assert_allclose(left.value, right.value, rtol=1e-12)
    assert left.rho == pytest.approx(right.rho, rel=1e-15)


def test_refined_noise_has_the_variance_it_claims_and_not_that_of_the_last_measurement():
    """Seeded chi-square test at alpha = 1e-6 that also rejects a scale wrong by 2 %."""
    n, alpha = 100_000, 1e-6
    average = refined(np.zeros(n), RHOS, SeededNoise(11))
    low, high = stats.chi2.ppf([alpha / 2, 1.0 - alpha / 2], n)
    sum_of_squares = np.sum(average.value**2)
    assert low < sum_of_squares / average.sigma**2 < high
    for wrong in (0.98 * average.sigma, 1.02 * average.sigma, gaussian_sigma(CLIP, RHOS[-1])):
        assert not low < sum_of_squares / wrong**2 < high


def test_measurements_of_unequal_sensitivity_are_not_averaged():
    with pytest.raises(ValueError, match="Only measurements of equal sensitivity can be averaged"):
        Measurement(np.zeros(2), 3.0, 0.1).average(Measurement(np.zeros(2), 3.0001, 0.1))


def test_a_measurement_cannot_be_altered():
    with pytest.raises(AttributeError, match="cannot assign to field 'rho'"):
        Measurement(np.zeros(1), CLIP, 0.1).rho = 0.2
