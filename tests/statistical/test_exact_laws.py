"""The exact samplers draw the laws they are named after.

Digits come from a seeded generator, so a test that passes passes always; each decision would reject the
right law for one seed in a million (ALPHA), and is seen to reject a wrong one. Some draw from the secure
source itself, which cannot be seeded: seven decisions, so 7e-6 is the rate of false alarms in a run.
"""

import math
import threading
from itertools import pairwise

import numpy as np
import opendp.prelude as dp
import pytest
from mutants import mutant
from scipy import stats
from scipy.integrate import quad

from privfit.mechanisms.exact import definition, kernels
from privfit.mechanisms.exact.digits import BASE, Digits, keystream
from privfit.mechanisms.exact.gaussian import add_gaussian
from privfit.mechanisms.exact.selection import exponential_mechanism
from privfit.mechanisms.exact.uniform import poisson_rows
from privfit.mechanisms.noise import SecureNoise

ALPHA = 1e-6
HALF = BASE // 2


def seeded(seed, size=1 << 16):
    rng = np.random.default_rng(seed)

    def fill(array):
        array[:] = rng.integers(BASE, size=array.size, dtype=np.uint32)

    return Digits(size, fill)


def agrees(counts, probabilities):
    """Tell whether counts follow the probabilities, by a chi-square test at ALPHA."""
    expected = probabilities * counts.sum() / probabilities.sum()
    assert expected.min() > 20, "small cells would spoil the chi-square approximation"
    return stats.chisquare(counts, expected).pvalue > ALPHA


# -- Gaussian noise ----------------------------------------------------------------------------------------


def is_standard_normal(z, cells=64, reach=4.0):
    """Compare the counts in cells between `reach` sigma below and above, and beyond."""
    edges = np.concatenate([[-np.inf], np.linspace(-reach, reach, cells + 1), [np.inf]])
    return agrees(np.histogram(z, np.nan_to_num(edges))[0], np.diff(stats.norm.cdf(edges)))


@pytest.mark.parametrize(("value", "sigma"), [(0.0, 1.0), (1 / 3, math.pi), (-1e6, 0.7), (1e-30, 1e8)])
def test_blurred_values_are_normal_cell_by_cell(value, sigma):
    z = (add_gaussian(np.full(1_000_000, value), sigma, seeded(1)) - value) / sigma
    assert is_standard_normal(z)
    assert not is_standard_normal(1.01 * z)
    assert not is_standard_normal(z + 0.01)


def test_secure_digits_give_normal_numbers():
    assert is_standard_normal(SecureNoise().gaussian(np.zeros(1_000_000), 1.0))


@pytest.mark.parametrize("centre", [0, 1 / 3, -7.5])
def test_every_point_of_the_grid_has_its_probability(centre):
    """With sigma of 1.3 grid steps the cells are single points of the grid, out to 3 sigma."""
    digits, sigma = seeded(2), 1.3
    exact = definition.Fraction(centre), definition.Fraction(sigma)
    draws = np.array([definition.rounded_normal(digits, *exact) for _ in range(30_000)])
    points = np.arange(math.ceil(centre - 3 * sigma), math.floor(centre + 3 * sigma) + 1)
    edges = np.concatenate([[-np.inf], points[1:] - 0.5, [np.inf]])
    counts = np.bincount(np.clip(draws, points[0], points[-1]) - points[0], minlength=points.size)
    assert agrees(counts, np.diff(stats.norm.cdf(edges, centre, sigma)))
    assert not agrees(counts, np.diff(stats.norm.cdf(edges + 0.1, centre, sigma)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("k = 0\n        verdict", "k = 1\n        verdict"),
        ("k * (k - 1)", "k * (k - 1) // 2"),
        ("for _ in range(k):", "for _ in range(k - 1):"),
        ("if read(array, at) & 1:", "if False:"),
        ("negative = read(array, end) & 1", "negative = x >> 31"),
    ],
)
def test_the_cells_reject_a_wrong_program(old, new):
    digits = np.random.default_rng(6).integers(BASE, size=1 << 20, dtype=np.uint32)
    size, out = 40_000, np.empty(40_000)
    verdicts = []
    for names in (mutant(kernels, "HALF", "HALF"), mutant(kernels, old, new)):
        done, at = 0, 0
        while done < size:  # what is left to the definition is left out: one number in 20,000
            done, at = names["add_normals"](digits, at, np.zeros(size), out, done, 2**52, -39, 2.0**-39)
            done, at = done + 1, at + 50
        verdicts.append(is_standard_normal(out, cells=16, reach=3.0))
    assert verdicts == [True, False]


def forced(k):
    """Return the digits of heads, k times, then tails, then all k (k - 1) heads that let k pass."""
    return [*[HALF] * k, 1, 2, *[HALF] * (k * (k - 1))]


@pytest.mark.parametrize("k", [4, 5, 6, 9, 14, 15, 20])
def test_the_tail_beyond_four_sigma_has_its_shape(k):
    """Given k, |z| is in [k, k + 1) with the normal's density, or rejected; 15 and 20 are not compiled."""
    rng, prefix = np.random.default_rng(k), np.array(forced(k))
    size = 1 << (prefix.size + 512).bit_length()
    n, n_cells, off = (20_000, 8, 1.3) if k <= kernels.MOST_WHOLE else (4_000, 3, 2.0)
    digits = rng.integers(BASE, size=(n, size), dtype=np.uint32)
    digits[:, : prefix.size] = prefix
    draws = []
    for row in digits:
        source = seeded(0, size)
        source.array[:], source.position = row, 0
        draws += add_gaussian(np.zeros(1), 1.0, source).tolist()
    z = np.abs(draws)
    tail = z[(z >= k) & (z < k + 1)]
    x = tail - k

    def density(x):
        return math.exp(-k * x - x * x / 2)

    mass = quad(density, 0, 1)[0]
    assert stats.binomtest(x.size, n, mass).pvalue > ALPHA
    assert stats.binomtest(x.size, n, 1.25 * mass).pvalue < ALPHA or k > kernels.MOST_WHOLE
    edges = np.append(-np.log(1.0 - np.arange(n_cells) / n_cells) / k, 1.0)
    cells = np.array([quad(density, a, b)[0] for a, b in pairwise(edges)])
    assert agrees(np.histogram(x, edges)[0], cells)
    assert not agrees(np.histogram(np.minimum(off * x, 1.0), edges)[0], cells)
    positive = np.count_nonzero(np.array(draws) >= k)
    assert stats.binomtest(positive, np.count_nonzero(z >= k)).pvalue > ALPHA


@pytest.mark.parametrize("bound", [1 / 2, 1e-3, 0.9, 1.0])
def test_a_coin_shows_heads_with_probability_exp_minus_bound(bound):
    digits, n = seeded(3), 20_000
    heads = sum(definition.exp_coin(digits, definition.Fraction(bound)) for _ in range(n))
    assert stats.binomtest(heads, n, math.exp(-bound)).pvalue > ALPHA
    assert stats.binomtest(heads, n, math.exp(-bound) - 0.03).pvalue < ALPHA


@pytest.mark.slow
def test_opendp_draws_the_same_law():
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
    witness = np.array(dp.m.make_gaussian(*space, scale=2.5)([0.1] * 40_000))
    ours = SecureNoise().gaussian(np.full(200_000, 0.1), 2.5)
    assert stats.ks_2samp(ours, witness).pvalue > ALPHA
    assert stats.ks_2samp(1.1 * (ours - 0.1) + 0.1, witness).pvalue < ALPHA


# -- selection ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "scale"),
    [
        ([0.0, -1.0, -2.5, 0.3], 1.0),
        ([5e9, 5e9 - 7, 5e9 - 1], 3.3),
        (np.linspace(0, 1, 40), 0.4),
        ([1.0] * 7, 1e-9),
    ],
)
def test_candidates_are_chosen_with_probability_exp_score(monkeypatch, scores, scale):
    monkeypatch.setattr(Digits, "__exit__", lambda *_: None)  # the next call reads on
    scores, digits = np.asarray(scores), seeded(4)
    draws = [exponential_mechanism(scores, scale, digits) for _ in range(60_000)]
    counts = np.bincount(draws, minlength=scores.size)
    law = np.exp((scores - scores.max()) / scale)
    assert agrees(counts, law / law.sum())
    if np.ptp(scores) > 0:
        wrong = law**1.1
        assert not agrees(counts, wrong / wrong.sum())
        assert not agrees(counts[::-1], law / law.sum())


def test_a_candidate_that_cannot_win_does_not_and_one_that_must_does():
    scores = np.array([-1e300, 0.0, -1e5, -1e3, -800.0])
    assert {exponential_mechanism(scores, 1.0) for _ in range(200)} == {1}
    assert exponential_mechanism(np.array([3.0]), 1e-300) == 0


# -- coins -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("probability", [1e-5, 0.01, 1 / 3, 0.5, 0.999])
def test_rows_are_in_the_sample_with_their_probability(probability):
    n = 3_000_000
    sizes = poisson_rows(n, probability, seeded(5)).size
    assert stats.binomtest(sizes, n, probability).pvalue > ALPHA
    off = probability + 6 * math.sqrt(probability * (1 - probability) / n)
    assert stats.binomtest(sizes, n, off).pvalue < 1e-3


# -- threads, and where the digits come from ---------------------------------------------------------------


def test_threads_draw_different_noise():
    noise, draws = SecureNoise(), {}

    def draw(name):
        draws[name] = [noise.gaussian(np.zeros(500), 1.0) for _ in range(20)]

    threads = [threading.Thread(target=draw, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = np.concatenate([np.concatenate(draws[name]) for name in range(8)])
    # 80,000 draws share about 2^41 points, so two are equal with probability 2e-3, and eight with 1e-20
    assert everything.size - np.unique(everything).size < 8
    assert stats.kstest(everything, "norm").pvalue > ALPHA


def test_the_keystream_is_uniform_and_fresh():
    array, again = np.zeros(1 << 16, np.uint32), np.zeros(1 << 16, np.uint32)
    keystream(array)
    keystream(again)
    assert np.count_nonzero(array == again) < 5
    for shift in range(0, 32, 8):
        assert stats.chisquare(np.bincount((array >> shift) & 255, minlength=256)).pvalue > ALPHA
