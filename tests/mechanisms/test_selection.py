"""Private selection: exact outcome probabilities, their privacy loss, and the code against both.

The probabilities come from numerical integration and closed forms, so the privacy checks are exact up to
1e-9. Chi-square tests then tie both noise sources to these probabilities. Each such test on the secure
source, which cannot be seeded, gives a false alarm with probability ALPHA: 12 of them, 1.2e-5 in all.
"""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp, softmax

from privfit.accounting.zcdp import bounded_range_cost
from privfit.mechanisms.noise import SecureNoise, SeededNoise
from privfit.mechanisms.selection import select_max, select_min, selection_cost, selection_scale, width

ALPHA = 1e-6
SHAPES = ["gumbel", "exponential", "laplace"]
ORDERS = np.array([1.0001, 1.1, 1.5, 2.0, 3.0, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0, 200.0])
EXACT = 1e-9  # relative accuracy of what is called exact here


def log_cdf(x, shape):
    if shape == "gumbel":
        return -np.exp(-x)
    if shape == "laplace":
        return np.where(x < 0.0, x - math.log(2.0), np.log1p(-0.5 * np.exp(-np.abs(x))))
    if shape == "exponential":
        return np.log(-np.expm1(-x))
    return np.minimum(x, 0.0)  # minus an exponential variable


def pdf(x, shape):
    if shape == "gumbel":
        return np.exp(-x - np.exp(-x))
    if shape == "laplace":
        return 0.5 * np.exp(-np.abs(x))
    if shape == "exponential":
        return np.exp(-x)
    return np.where(x < 0.0, np.exp(np.minimum(x, 0.0)), 0.0)


def argmax_probabilities(scores, scale, shape):
    """Integrate, for each i, f(x - s_i) prod_j F(x - s_j): the exact law of argmax(scores + noise)."""
    s = np.asarray(scores, dtype=float) / scale
    # nothing below the largest score can win with exponential noise; beyond the rest lies less than 1e-12
    low = s.max() if shape == "exponential" else s.min() - (5.0 if shape == "gumbel" else 20.0)
    high = s.max() + 30.0
    kinks = [] if shape == "gumbel" else s[s > low]
    edges = np.unique(np.concatenate([np.arange(low, high, 1.0), kinks, [high]]))
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half = np.diff(edges)[:, None] / 2.0
    x = (edges[:-1, None] + half * (1.0 + nodes)).ravel()
    differences = x[:, None] - s
    logs = log_cdf(differences, shape)
    others = np.exp(logs.sum(axis=1, keepdims=True) - logs)
    return ((half * weights).ravel()[:, None] * pdf(differences, shape) * others).sum(axis=0)


def argmin_probabilities(scores, scale, shape):
    return argmax_probabilities(-np.asarray(scores), scale, shape)


def wrong_sign_probabilities(scores, scale):
    """Return the law of argmin(scores + Exp), which is argmax(-scores - Exp): erratum E4."""
    return argmin_probabilities(scores, scale, "minus exponential")


def worst_log_ratio(p, q):
    return np.max(np.abs(np.log(p) - np.log(q)))


def renyi_divergences(p, q):
    return logsumexp(np.outer(ORDERS, np.log(p)) + np.outer(1.0 - ORDERS, np.log(q)), axis=1) / (ORDERS - 1.0)


def worst_renyi_excess(p, q, rho):
    """Return the largest D_a / (a rho) over the orders and both directions; zCDP demands at most 1."""
    both = np.maximum(renyi_divergences(p, q), renyi_divergences(q, p))
    return np.max(both / (ORDERS * rho))


# -- score vectors and their neighbours --------------------------------------------------------------------


def score_vectors(m):
    rng = np.random.default_rng(m)
    yield np.zeros(m)
    for gap in (0.3, 1.0, 4.0):
        yield gap * (np.arange(m) == 0)
        yield gap * (np.arange(m) != m - 1)
        yield np.linspace(0.0, gap, m)
    if m > 2:  # two rivals with all others far behind
        yield 6.0 * (np.arange(m) > 1)
        yield 6.0 * (np.arange(m) < 2)
    yield 3.0 * rng.random(m)


def directions(m):
    """Yield changes in {0, 1}^m: all of them for two candidates, the adversarial ones for many."""
    if m == 2:
        yield from (np.array(d, dtype=float) for d in itertools.product([0.0, 0.5, 1.0], repeat=2))
        return
    rng = np.random.default_rng(m + 1)
    for i in (0, m // 2, m - 1):
        yield (np.arange(m) == i).astype(float)
        yield (np.arange(m) != i).astype(float)
    yield np.ones(m)
    yield (np.arange(m) < m // 2).astype(float)
    yield from rng.integers(0, 2, (3, m)).astype(float)
    yield rng.random(m)


def neighbours(m, sensitivity, monotone):
    """Yield scores and how far one record can push them."""
    low = 0.0 if monotone else -1.0
    for scores in score_vectors(m):
        yield scores, [scores + sensitivity * (low + (1.0 - low) * direction) for direction in directions(m)]


def outcome_pairs(law, *neighbourhood, **keywords):
    """Yield the outcome distributions of all neighbouring score vectors."""
    for scores, changed in neighbours(*neighbourhood, **keywords):
        p = law(scores)
        yield from ((p, law(other)) for other in changed)


SETTINGS = [pytest.param(True, id="monotone"), pytest.param(False, id="general")]


# -- the exact probabilities -------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [2, 21])
@pytest.mark.parametrize("shape", [*SHAPES, "minus exponential"])
def test_probabilities_sum_to_one(shape, m):
    for scores in score_vectors(m):
        assert argmax_probabilities(scores, 0.7, shape).sum() == pytest.approx(1.0, rel=EXACT)


@pytest.mark.parametrize("m", [2, 21])
def test_gumbel_probabilities_are_the_softmax(m):
    for scores in score_vectors(m):
        expected = softmax(scores / 0.7)
        np.testing.assert_allclose(argmax_probabilities(scores, 0.7, "gumbel"), expected, rtol=EXACT)
        np.testing.assert_allclose(argmin_probabilities(-scores, 0.7, "gumbel"), expected, rtol=EXACT)


@pytest.mark.parametrize("gap", [0.0, 0.1, 1.0, 5.0])
def test_two_candidate_probabilities_are_the_closed_forms(gap):
    lower = {
        "gumbel": 1.0 / (1.0 + math.exp(gap)),
        "exponential": math.exp(-gap) / 2.0,
        "laplace": math.exp(-gap) * (0.5 + gap / 4.0),
        "minus exponential": math.exp(-gap) / 2.0,
    }
    for shape, expected in lower.items():
        assert argmax_probabilities([gap, 0.0], 1.0, shape)[1] == pytest.approx(expected, rel=EXACT)
        assert argmin_probabilities([gap, 0.0], 1.0, shape)[0] == pytest.approx(expected, rel=EXACT)


# -- privacy loss ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [2, 21])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("monotone", SETTINGS)
@pytest.mark.parametrize("probabilities", [argmin_probabilities, argmax_probabilities])
def test_no_neighbour_tells_more_than_the_price(m, shape, monotone, probabilities):
    sensitivity = 0.5
    interval = width(sensitivity, monotone=monotone)
    for rho in (0.005, 0.5):
        scale = selection_scale(interval, rho, shape)
        law = partial(probabilities, scale=scale, shape=shape)
        pairs = list(outcome_pairs(law, m, sensitivity, monotone))
        worst, epsilon = max(worst_log_ratio(p, q) for p, q in pairs), interval / scale
        assert worst <= epsilon * (1.0 + EXACT)
        assert worst >= 0.5 * epsilon  # the neighbours are adversarial enough to see a factor of two
        assert selection_cost(interval, scale, shape) <= rho
        assert max(worst_renyi_excess(p, q, rho) for p, q in pairs) <= 1.0 + EXACT


@pytest.mark.parametrize("m", [2, 21])
def test_gumbel_selection_has_bounded_range(m):
    law = partial(argmin_probabilities, scale=1.0, shape="gumbel")
    for p, q in outcome_pairs(law, m, 0.5, monotone=True):
        assert np.ptp(np.log(p / q)) <= 0.5 * (1.0 + EXACT)


def test_the_wrong_sign_is_caught_at_twenty_epsilon():
    scale, sensitivity = 1.0, 0.1
    law = partial(wrong_sign_probabilities, scale=scale)
    worst = {
        m: max(worst_log_ratio(p, q) for p, q in outcome_pairs(law, m, sensitivity, monotone=True))
        for m in (2, 21)
    }
    assert worst[21] == pytest.approx(20.0 * sensitivity / scale, rel=1e-6)
    assert worst[2] == pytest.approx(sensitivity / scale, rel=1e-6)  # two candidates would not show it


@pytest.mark.parametrize("m", [2, 21])
def test_permute_and_flip_at_the_price_of_gumbel_is_caught(m):
    # exponential noise on scores of width D is permute-and-flip, (D / scale)-DP without bounded range
    law = partial(argmin_probabilities, scale=1.0, shape="exponential")
    pairs = outcome_pairs(law, m, 0.5, monotone=True)
    assert max(worst_renyi_excess(p, q, bounded_range_cost(0.5)) for p, q in pairs) > 2.0


@pytest.mark.parametrize("m", [2, 21])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_scale_of_monotone_scores_is_caught_with_others(m, shape):
    sensitivity, rho = 0.5, 0.1
    scale = selection_scale(sensitivity, rho, shape)
    law = partial(argmin_probabilities, scale=scale, shape=shape)
    pairs = outcome_pairs(law, m, sensitivity, monotone=False)
    assert max(worst_log_ratio(p, q) for p, q in pairs) > 1.3 * sensitivity / scale


# -- widths, scales and costs --------------------------------------------------------------------------------


def test_the_width_doubles_for_general_scores():
    assert width(3.0, monotone=True) == 3.0
    assert width(3.0, monotone=False) == 6.0


@pytest.mark.parametrize(("shape", "cost"), [("gumbel", 1 / 8), ("exponential", 1 / 2), ("laplace", 1 / 2)])
def test_the_cost_of_epsilon_has_the_bounded_range_discount_for_gumbel_only(shape, cost):
    assert selection_cost(0.3, 0.3, shape) == pytest.approx(cost, rel=1e-14)
    assert selection_cost(0.3, 0.3, shape) >= cost


@pytest.mark.parametrize("shape", SHAPES)
def test_selection_bought_for_rho_costs_at_most_rho(shape):
    rng = np.random.default_rng(3)
    for rho, interval in zip(10.0 ** rng.uniform(-12, 3, 500), 10.0 ** rng.uniform(-9, 9, 500), strict=True):
        cost = selection_cost(interval, selection_scale(interval, rho, shape), shape)
        assert rho * (1.0 - 1e-8) <= cost <= rho


# -- the code draws from these probabilities -----------------------------------------------------------------


SCORES = {
    2: np.array([7.0, 7.8]),
    21: 5.0 + np.linspace(0.0, 1.5, 21)[np.random.default_rng(2).permutation(21)],
}
N_DRAWS = 3_000


def p_value(draws, expected):
    counts = np.bincount(draws, minlength=len(expected))
    assert expected.min() * len(draws) > 20  # small cells would spoil the chi-square approximation
    return stats.chisquare(counts, expected * len(draws) / expected.sum()).pvalue


def rho_of_unit_scale(shape):
    """Return the rho at which scores of width 1 get noise of scale 1 (to 1e-9)."""
    return 1 / 8 if shape == "gumbel" else 1 / 2


@pytest.mark.slow
@pytest.mark.parametrize("m", [2, 21])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("source", [SecureNoise, lambda: SeededNoise(17)], ids=["secure", "seeded"])
@pytest.mark.parametrize(
    ("select", "probabilities"), [(select_min, argmin_probabilities), (select_max, argmax_probabilities)]
)
def test_selections_follow_the_exact_probabilities(select, probabilities, source, shape, m):
    noise, rho = source(), rho_of_unit_scale(shape)
    draws = np.array([select(SCORES[m], 1.0, rho, shape, noise) for _ in range(N_DRAWS)])
    assert p_value(draws, probabilities(SCORES[m], 1.0, shape)) > ALPHA
    # the same draws are not taken for the other direction
    opposite = argmax_probabilities if select is select_min else argmin_probabilities
    assert p_value(draws, opposite(SCORES[m], 1.0, shape)) < ALPHA


def test_the_chi_square_test_rejects_the_wrong_sign():
    rng, scores = np.random.default_rng(23), SCORES[21]
    draws = np.argmin(scores + rng.exponential(size=(N_DRAWS, 21)), axis=1)
    assert p_value(draws, argmin_probabilities(scores, 1.0, "exponential")) < ALPHA
    right_way_round = np.argmin(scores - rng.exponential(size=(N_DRAWS, 21)), axis=1)
    assert p_value(right_way_round, argmin_probabilities(scores, 1.0, "exponential")) > ALPHA


def test_the_chi_square_test_rejects_exponential_noise_at_the_price_of_gumbel():
    rng, scores = np.random.default_rng(29), SCORES[2]
    draws = np.argmin(scores - rng.exponential(size=(N_DRAWS, 2)), axis=1)
    assert p_value(draws, argmin_probabilities(scores, 1.0, "gumbel")) < ALPHA
