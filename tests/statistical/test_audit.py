"""A black-box audit: what epsilon can somebody prove who sees fitted models and nothing else?

Two neighbouring tables are fitted many times. Whoever guesses from a model which table it was, right in a
share a of one and wrong in a share b of the other, proves an epsilon of log((a - delta) / b). The shares are
bounded by Clopper and Pearson, so the proven epsilon exceeds the true one with probability ALPHA at most.
"""

import math

import numpy as np
import pytest
from replay import noise_from
from scipy.stats import beta

from privfit import DPLinearSVC
from privfit.mechanisms.noise import SeededNoise
from privfit.solvers import GradientDescent

EPSILON, DELTA = 2.0, 0.1
ALPHA = 1e-4  # the false-alarm rate of an audit over all seeds; these are fixed
PILOT, FITS = 200, 1000  # fits of each table that choose the guess, and that judge it


class Noise(SeededNoise):
    """Seeded noise that is `share` of what is asked for."""

    def __init__(self, seed, share):
        super().__init__(seed)
        self.share = share

    def gaussian(self, values, sigma):
        return super().gaussian(values, self.share * sigma)


def weights(records, noise, fits, classes, heaviest=None):
    """Return the weight of every fit of a table whose only record with a feature, if any, is the last one.

    Of three classes it is the sum of their weights, each with the sign that the record pushes it to. With
    `heaviest` records have weights, that record this one, which is far above the declared largest.
    """
    X, y = np.append(np.zeros(4), np.ones(records - 4))[:, None], np.arange(records) % 2 == 0
    # under the hinge that record pushes with all its might, and all classes at once, in both steps
    solver = GradientDescent(steps=2, clip=1.0, step=0.1)
    public = {"classes": range(classes), "n_records": 5, "fit_intercept": False, "solver": solver}
    given = None if heaviest is None else np.append(np.full(4, 0.5), np.full(records - 4, heaviest))
    public |= {} if heaviest is None else {"max_weight": 1.0}
    pushed = np.ones(1) if classes == 2 else np.where(np.arange(classes) == 1, 1.0, -1.0)
    with noise_from(noise):
        models = (DPLinearSVC(EPSILON, DELTA, **public).fit(X, y.astype(int), given) for _ in range(fits))
        return np.array([pushed @ model.coef_[:, 0] for model in models])


def proven_epsilon(here, there, alpha):
    """Return what epsilon guessing `here` above a threshold proves, which the pilot fits choose."""
    pilots = [np.tile(found[:PILOT], FITS // PILOT) for found in (here, there)]
    candidates = np.quantile(here[:PILOT], np.linspace(0.02, 0.98, 49))
    threshold = max(candidates, key=lambda t: _bound(*(found > t for found in pilots), alpha))
    return _bound(here[PILOT:] > threshold, there[PILOT:] > threshold, alpha)


def _bound(right, wrong, alpha):
    n, hits, misses = len(right), np.count_nonzero(right), np.count_nonzero(wrong)
    least = beta.ppf(alpha / 2, hits, n - hits + 1) if hits else 0.0
    most = beta.ppf(1.0 - alpha / 2, misses + 1, n - misses) if misses < n else 1.0
    return math.log((least - DELTA) / most) if least > DELTA else 0.0


def audit(share, seed, classes, heaviest=None):
    noise = Noise(seed, share)
    without, with_it = (weights(records, noise, PILOT + FITS, classes, heaviest) for records in (4, 5))
    return max(proven_epsilon(with_it, without, ALPHA / 2), proven_epsilon(-without, -with_it, ALPHA / 2))


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_nobody_proves_more_than_is_promised_and_half_the_noise_is_found_out(classes):
    assert 0.5 < audit(share=1.0, seed=1, classes=classes) <= EPSILON  # guessing blindly would prove 0
    assert audit(share=0.5, seed=2, classes=classes) > EPSILON


@pytest.mark.slow
def test_nobody_proves_more_of_a_record_that_claims_a_huge_weight():
    assert 0.5 < audit(share=1.0, seed=3, classes=2, heaviest=1e9) <= EPSILON
    assert audit(share=0.5, seed=4, classes=2, heaviest=1e9) > EPSILON


@pytest.mark.parametrize(("hits", "least"), [(10, 0.6915), (9, 0.5550)])
def test_shares_are_bounded_as_clopper_and_pearson_do(hits, least):
    """The one-sided 97.5% bounds of 10 and 9 hits in 10, from their table, and of no misses: .3085."""
    right, wrong = np.arange(10) < hits, np.zeros(10, dtype=bool)
    assert _bound(right, wrong, 0.05) == pytest.approx(math.log((least - DELTA) / 0.3085), abs=1e-3)
