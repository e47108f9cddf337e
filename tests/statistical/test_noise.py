"""Every noise source draws every distribution at the scale it was asked for, from independent streams.

Each statistical test accepts the right law with probability 1 - ALPHA and is shown to reject a scale that
is 5 % wrong (or the wrong law) with the same number of draws. Secure noise cannot be seeded, so its false
alarms are real: 23 decisions at ALPHA each, 2.3e-5 per run of this file. Seeded tests never change.
"""

import math
import multiprocessing
import os
import random

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats
from scipy.integrate import quad

from privfit.mechanisms.gaussian import measure
from privfit.mechanisms.noise import SecureNoise, SeededNoise, noise_source
from privfit.mechanisms.selection import select_max

ALPHA = 1e-6
SHAPES = {"gumbel": stats.gumbel_r, "exponential": stats.expon, "laplace": stats.laplace}


@pytest.fixture(params=["secure", "seeded"])
def noise(request):
    return SecureNoise() if request.param == "secure" else SeededNoise(101)


# -- Gaussian noise ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def samples():
    """Return 100,000 draws of N(1, 1) from each source."""
    ones = np.ones(100_000)
    return {"secure": SecureNoise().gaussian(ones, 1.0), "seeded": SeededNoise(7).gaussian(ones, 1.0)}


def is_normal(z):
    return stats.kstest(z, "norm").pvalue > ALPHA


def has_normal_tails(z):
    return stats.kurtosistest(z).pvalue > ALPHA


def has_unit_variance(z):
    low, high = stats.chi2.ppf([ALPHA / 2, 1.0 - ALPHA / 2], z.size)
    return low < np.sum(z * z) < high


@pytest.mark.parametrize("source", ["secure", "seeded"])
def test_gaussian_noise_is_normal(samples, source):
    z = samples[source] - 1.0
    assert is_normal(z)
    logistic_of_equal_variance = stats.logistic.ppf(stats.norm.cdf(z), scale=math.sqrt(3.0) / math.pi)
    assert not is_normal(logistic_of_equal_variance)
    assert has_normal_tails(z)
    assert not has_normal_tails(stats.t.ppf(stats.norm.cdf(z), 30))


@pytest.mark.parametrize("sigma", [1e-6, 1.0, 1e7])
def test_gaussian_noise_has_the_scale_asked_for(noise, sigma):
    values = np.linspace(-3.0, 3.0, 40_000)
    z = (noise.gaussian(values, sigma) - values) / sigma
    assert has_unit_variance(z)
    assert not has_unit_variance(1.05 * z)
    assert not has_unit_variance(z / 1.05)


def test_the_variance_test_has_power_against_five_per_cent():
    low, high = stats.chi2.ppf([ALPHA / 2, 1.0 - ALPHA / 2], 40_000)
    for wrong in (1.05, 1.0 / 1.05):
        missed = stats.chi2.cdf(high / wrong**2, 40_000) - stats.chi2.cdf(low / wrong**2, 40_000)
        assert missed < 1e-6


def test_gaussian_noise_of_no_values_is_no_values(noise):
    assert noise.gaussian(np.empty(0), 1.0).shape == (0,)


# -- radial noise ------------------------------------------------------------------------------------------


def norms_add_up_to(scale, b):
    """Tell whether the sum of the norms, each Gamma(size, scale), is in its interval."""
    low, high = stats.gamma.ppf([ALPHA / 2, 1.0 - ALPHA / 2], b.size, scale=scale)
    return low < np.sum(np.linalg.norm(b, axis=1)) < high


def norms_are_gamma(shape, b):
    return stats.kstest(np.linalg.norm(b, axis=1), stats.gamma(shape).cdf).pvalue > ALPHA


def directions_are_uniform(b):
    """Tell whether the directions' first coordinate is uniform, as it is on a sphere in 3 dimensions."""
    return stats.kstest(b[:, 0] / np.linalg.norm(b, axis=1), stats.uniform(-1.0, 2.0).cdf).pvalue > ALPHA


def test_radial_noise_has_density_exp_minus_norm(noise):
    b = np.array([noise.radial(3, 1.0) for _ in range(20_000)])
    assert norms_are_gamma(3, b)
    assert not norms_are_gamma(2, b)
    assert not norms_are_gamma(4, b)
    assert norms_add_up_to(1.0, b)
    assert not norms_add_up_to(1.05, b)
    assert not norms_add_up_to(1.0 / 1.05, b)
    assert directions_are_uniform(b)
    assert not directions_are_uniform(np.cbrt(b)), "directions that prefer the diagonals"


def test_radial_noise_has_the_scale_asked_for():
    noise = SeededNoise(17)
    for scale in (1e-6, 1e7):
        assert norms_add_up_to(scale, np.array([noise.radial(40, scale) for _ in range(500)]))


# -- selection noise ---------------------------------------------------------------------------------------


def favourite_wins(shape, lead, rivals, scale):
    """Return the probability that one score beats `rivals` scores that it leads by `lead`."""
    law, lead = SHAPES[shape], lead / scale
    low = lead if shape == "exponential" else -20.0

    def integrand(x):
        return law.pdf(x - lead) * law.cdf(x) ** rivals

    breaks = [x for x in (0.0, lead, lead + 8.0) if x > low]
    return quad(integrand, low, lead + 50.0, points=breaks, limit=400, epsabs=1e-13)[0]


def accepted_counts(n, probability):
    """Return the binomial counts between which the right probability stays, but for ALPHA."""
    return stats.binom.ppf(ALPHA / 2, n, probability), stats.binom.isf(ALPHA / 2, n, probability)


def wins(noise, shape, lead, rivals, n):
    scores = np.concatenate([[lead], np.zeros(rivals)])
    return sum(noise.noisy_argmax(scores, 1.0, shape) == 0 for _ in range(n))


def test_the_probability_of_a_win_is_the_closed_form():
    assert favourite_wins("gumbel", 5.0, 100, 1.0) == pytest.approx(1.0 / (1.0 + 100.0 * math.exp(-5.0)))
    assert favourite_wins("exponential", 2.0, 1, 1.0) == pytest.approx(1.0 - math.exp(-2.0) / 2.0)
    assert favourite_wins("laplace", 2.0, 1, 1.0) == pytest.approx(1.0 - math.exp(-2.0))


# many rivals make the winner depend strongly on the scale, so few draws suffice
@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "lead", "rivals", "n"),
    [("gumbel", 5.25, 100, 4_500), ("exponential", 4.5, 100, 4_500), ("laplace", 4.25, 50, 8_200)],
)
def test_selection_noise_has_the_scale_asked_for(noise, shape, lead, rivals, n):
    low, high = accepted_counts(n, favourite_wins(shape, lead, rivals, 1.0))
    for wrong in (1.05, 1.0 / 1.05):
        probability = favourite_wins(shape, lead, rivals, wrong)
        missed = stats.binom.cdf(high, n, probability) - stats.binom.cdf(low - 1, n, probability)
        assert missed < 1e-3
    assert low <= wins(noise, shape, lead, rivals, n) <= high


@pytest.mark.slow
def test_gumbel_selection_noise_is_neither_laplace_nor_exponential(noise):
    n = 14_500
    low, high = accepted_counts(n, favourite_wins("gumbel", 3.5, 1, 1.0))
    for wrong in ("laplace", "exponential"):
        probability = favourite_wins(wrong, 3.5, 1, 1.0)
        assert stats.binom.cdf(high, n, probability) - stats.binom.cdf(low - 1, n, probability) < 1e-3
    assert low <= wins(noise, "gumbel", 3.5, 1, n) <= high


# -- Poisson sampling --------------------------------------------------------------------------------------


def rows_are_included_with(probability, included):
    n_draws, n_rows = included.shape
    spread = n_draws * probability * (1.0 - probability)
    statistic = np.sum((included.sum(axis=0) - n_draws * probability) ** 2) / spread
    return stats.chi2.sf(statistic, n_rows) > ALPHA


def batch_sizes_are_binomial(probability, included):
    n_draws, n_rows = included.shape
    sizes = included.sum(axis=1)
    statistic = np.sum((sizes - n_rows * probability) ** 2) / (n_rows * probability * (1.0 - probability))
    low, high = stats.chi2.ppf([ALPHA / 2, 1.0 - ALPHA / 2], n_draws)
    return low < statistic < high


def test_poisson_rows_are_drawn_independently_with_the_probability_asked_for(noise):
    included = np.zeros((2_000, 500), dtype=bool)
    for row in included:
        row[noise.poisson_rows(500, 0.3)] = True
    assert rows_are_included_with(0.3, included)
    assert not rows_are_included_with(1.05 * 0.3, included)
    assert batch_sizes_are_binomial(0.3, included)


def test_batches_of_fixed_size_are_not_taken_for_poisson_batches():
    rng = np.random.default_rng(13)
    included = rng.permuted(np.tile(np.arange(500) < 150, (2_000, 1)), axis=1)
    assert rows_are_included_with(0.3, included)
    assert not batch_sizes_are_binomial(0.3, included)


def test_poisson_rows_are_none_or_all_at_the_ends(noise):
    assert noise.poisson_rows(9, 0.0).tolist() == []
    assert noise.poisson_rows(9, 1.0).tolist() == list(range(9))


# -- independence ------------------------------------------------------------------------------------------


def uncorrelated(a, b):
    return abs(np.corrcoef(a, b)[0, 1]) < stats.norm.isf(ALPHA / 2) / math.sqrt(a.size)


def test_spawned_streams_and_refits_are_independent(noise):
    zeros = np.zeros(15_000)
    first, second = noise.spawn(2)
    streams = [source.gaussian(zeros, 1.0) for source in (noise, noise, first, second)]
    for i, a in enumerate(streams):
        for b in streams[:i]:
            assert uncorrelated(a, b)
            assert not uncorrelated(a, 0.9 * b + 0.1 * a)
    assert type(first) is type(noise)


def test_what_a_spawned_stream_draws_does_not_depend_on_the_others():
    # so workers that get one stream each never share noise, in whatever order they run
    draws = []
    for order in ([0, 1, 2], [2, 0, 1]):
        parent = SeededNoise(3)
        streams = [parent, *parent.spawn(2)]
        drawn = {k: streams[k].gaussian(np.zeros(3), 1.0).tolist() for k in order}
        draws.append([drawn[k] for k in range(3)])
    assert draws[0] == draws[1]
    assert draws[0][0] != draws[0][1] != draws[0][2]


def test_spawned_seeded_sources_select_independently():
    first, second = SeededNoise(3).spawn(2)
    scores, n = np.zeros(50), 5_000
    agree = sum(
        first.noisy_argmax(scores, 1.0, "gumbel") == second.noisy_argmax(scores, 1.0, "gumbel")
        for _ in range(n)
    )
    low, high = accepted_counts(n, 1 / 50)
    assert low <= agree <= high


def test_unseeded_noise_never_repeats():
    draws = {SecureNoise().gaussian(np.zeros(1), 1.0).item() for _ in range(2_000)}
    assert len(draws) == 2_000
    assert len({SecureNoise().poisson_rows(200, 0.5).tobytes() for _ in range(2_000)}) == 2_000
    assert len({SecureNoise().radial(1, 1.0).item() for _ in range(2_000)}) == 2_000


def test_unseeded_noise_ignores_the_seeds_of_the_process():
    seen = set()
    for _ in range(2):
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002 -- the global state that must not matter
        noise = noise_source(None)
        radial, rows = noise.radial(1, 1.0).item(), noise.poisson_rows(200, 0.5).tobytes()
        seen.add((noise.gaussian(np.zeros(1), 1.0).item(), radial, rows))
    assert [len(set(kind)) for kind in zip(*seen, strict=True)] == [2, 2, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_forked_processes_draw_different_secure_noise():
    noise, context = SecureNoise(), multiprocessing.get_context("fork")
    noise.gaussian(np.zeros(2), 1.0)  # whatever is buffered is shared by the forks
    queue = context.SimpleQueue()

    def draw():
        ties = [noise.noisy_argmax(np.zeros(100), 1.0, "gumbel") for _ in range(12)]
        radial, rows = noise.radial(1, 1.0).item(), noise.poisson_rows(200, 0.5).tobytes()
        queue.put((noise.gaussian(np.zeros(1), 1.0).item(), radial, rows, tuple(ties)))

    processes = [context.Process(target=draw) for _ in range(3)]
    for process in processes:
        process.start()
    answers = [queue.get() for _ in processes]
    for process in processes:
        process.join()
    assert [len(set(kind)) for kind in zip(*answers, strict=True)] == [3, 3, 3, 3]


def everything_drawn_from(noise):
    child = noise.spawn(2)[1]
    return [
        noise.gaussian(np.zeros(3), 2.0).tolist(),
        noise.radial(3, 2.0).tolist(),
        *(noise.noisy_argmax(np.zeros(1_000), 1.0, shape) for shape in SHAPES),
        noise.poisson_rows(100, 0.5).tolist(),
        child.gaussian(np.zeros(3), 2.0).tolist(),
    ]


@pytest.mark.parametrize(
    "seed", [lambda k: k, np.random.default_rng, np.random.RandomState, np.random.SeedSequence]
)
def test_seeded_noise_is_reproducible_and_differs_between_seeds(seed):
    once, again, other = (everything_drawn_from(noise_source(seed(k))) for k in (5, 5, 6))
    assert once == again
    assert all(a != b for a, b in zip(once, other, strict=True))


def test_only_unseeded_noise_calls_itself_secure():
    assert noise_source(None).secure
    assert all(source.secure for source in noise_source(None).spawn(2))
    assert not noise_source(0).secure
    assert not any(source.secure for source in noise_source(np.random.default_rng(0)).spawn(2))


# -- what no noise can hide --------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_never_released(noise, bad):
    values = np.array([0.0, bad, 1.0])
    with pytest.raises(ValueError, match="Noise can be added to finite numbers only"):
        noise.gaussian(values, 1.0)
    for shape in SHAPES:
        with pytest.raises(ValueError, match="Noise can be added to finite numbers only"):
            noise.noisy_argmax(values, 1.0, shape)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_a_scale_that_hides_nothing_is_refused(noise, scale):
    with pytest.raises(ValueError, match="noise scale must be a positive finite number"):
        noise.gaussian(np.zeros(2), scale)
    with pytest.raises(ValueError, match="noise scale must be a positive finite number"):
        noise.radial(2, scale)
    for shape in SHAPES:
        with pytest.raises(ValueError, match="noise scale must be a positive finite number"):
            noise.noisy_argmax(np.zeros(2), scale, shape)


def test_an_unknown_shape_is_refused(noise):
    with pytest.raises(ValueError, match=r"noise shape must be one of .*'gumbel'.* got 'normal'"):
        noise.noisy_argmax(np.zeros(2), 1.0, "normal")


# -- OpenDP's own accounts -----------------------------------------------------------------------------------


@pytest.fixture
def built(monkeypatch):
    """Collect the OpenDP measurements that the secure source builds, without drawing from them."""
    dp.enable_features("contrib")
    measurements = []

    def record(make, answer):
        def maker(*arguments, **keywords):
            measurements.append(make(*arguments, **keywords))
            return lambda values: answer if answer is not None else values

        return maker

    for name, answer in {"make_laplace": None, "make_noisy_max": 0}.items():
        monkeypatch.setattr(dp.m, name, record(getattr(dp.m, name), answer))
    # the exact samplers do without OpenDP: these are the measurements that they stand for
    floats = dp.vector_domain(dp.atom_domain(T=float, nan=False))

    def gaussian(values, sigma):
        measurements.append(dp.m.make_gaussian(floats, dp.l2_distance(T=float), scale=sigma, k=-1074))
        return values

    def gumbel(scores, scale):
        measure = dp.zero_concentrated_divergence()
        return dp.m.make_noisy_max(floats, dp.linf_distance(T=float), measure, scale=scale)(scores)

    monkeypatch.setattr("privfit.mechanisms.exact.gaussian.add_gaussian", gaussian)
    monkeypatch.setattr("privfit.mechanisms.exact.selection.exponential_mechanism", gumbel)
    return measurements


@pytest.mark.parametrize("sensitivity", [1e-9, 1.0, 3.0, 1e9])
def test_opendp_agrees_that_gaussian_noise_costs_at_most_its_price(built, sensitivity):
    for rho in (1e-12, 1e-9, 1e-6, 1e-3, 0.1, 10.0):
        measure(np.zeros(3), sensitivity, rho, SecureNoise())
        assert rho * (1.0 - 1e-8) <= built.pop().map(sensitivity) <= rho


@pytest.mark.parametrize("interval", [1e-6, 3.0, 1e6])
@pytest.mark.parametrize("shape", SHAPES)
def test_opendp_agrees_that_selection_costs_at_most_its_price(built, shape, interval):
    for rho in (1e-12, 1e-6, 1e-3, 0.1, 10.0):
        select_max(np.zeros(21), interval, rho, shape, SecureNoise())
        # scores that move either way by half the interval; OpenDP states Gumbel in rho, the others in epsilon
        moved = interval if shape == "laplace" else interval / 2.0
        price = rho if shape == "gumbel" else math.sqrt(2.0 * rho)
        assert price * (1.0 - 1e-8) <= built.pop().map(moved) <= price


# -- floating point ------------------------------------------------------------------------------------------


def lacks_low_bits(outputs):
    """Return the share of outputs close to 0 that are multiples of 2^-53.

    Adding floats 1 + z close to 0 cannot give anything else, while 0 + z and exact arithmetic give all the
    floats there are: the low bits of a naive release tell the inputs 0 and 1 apart (Mironov 2012).
    """
    near = outputs[np.abs(outputs) < 2.0**-6]
    assert near.size > 500
    return np.mean(np.ldexp(near, 53) % 1.0 == 0.0)


def test_low_bits_of_secure_outputs_do_not_betray_the_input(samples):
    # whatever the value, outputs are multiples of 2^-39, and the last ten bits of the multiple are uniform
    for outputs in (
        samples["secure"],
        *(SecureNoise().gaussian(np.full(50_000, v), 1.0) for v in (0.0, 1 / 3)),
    ):
        multiples = np.ldexp(outputs, 39)
        assert np.all(multiples % 1.0 == 0.0)
        assert stats.chisquare(np.bincount((multiples % 1024).astype(int), minlength=1024)).pvalue > ALPHA


def test_low_bits_of_seeded_outputs_betray_the_input(samples):
    assert lacks_low_bits(samples["seeded"]) == 1.0
    assert lacks_low_bits(SeededNoise(8).gaussian(np.zeros(50_000), 1.0)) < 0.1
