"""The black-box audit for private scores: what epsilon can somebody prove who sees them and nothing else?"""

import numpy as np
import pytest
from replay import noise_from
from sklearn.linear_model import LinearRegression
from test_audit import ALPHA, DELTA, EPSILON, FITS, PILOT, Noise, proven_epsilon

from privfit import Ledger, metrics
from privfit.metrics.number_marks import FACTORS

MODEL = LinearRegression()
MODEL.coef_, MODEL.intercept_, MODEL.n_features_in_ = np.ones(1), 0.0, 1
K, VISITS = 3, 7  # records of the person that are used at most, and that there are


def totals(with_person, noise, people):
    """Return what each set of scores says of a record that has the largest residual that there can be.

    The other records have none. All that the record adds points in one direction, along which it is sought.
    """
    records = 4 + (VISITS if people else 1) * with_person
    X, y = np.zeros((records, 1)), np.append(np.zeros(4), np.ones(records - 4))
    person_id = "groups" if people else None
    whose = {"groups": np.minimum(np.arange(records), 4), "rows_per_person": K} if people else {}
    found = []
    with noise_from(noise):
        for _ in range(PILOT + FITS):
            ledger = Ledger(epsilon=EPSILON, delta=DELTA, person_id=person_id)
            scores = metrics.evaluate(
                MODEL, X, y, epsilon=EPSILON, delta=DELTA, target_bounds=(0, 1), ledger=ledger, **whose
            )
            factors = np.array([1.0, *(FACTORS.get(name, 1.0) for name in scores.sums)])
            found.append(factors**2 @ scores.estimates.counts)
    return np.array(found)


def audit(seed, *, people=False, share=1.0):
    noise = Noise(seed, share)
    without, with_it = (totals(with_person, noise, people) for with_person in (False, True))
    return max(proven_epsilon(with_it, without, ALPHA / 2), proven_epsilon(-without, -with_it, ALPHA / 2))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning")
@pytest.mark.parametrize("people", [False, True], ids=["a record", "a person with seven records"])
def test_nobody_proves_more_of_scores_than_is_promised_and_half_the_noise_is_found_out(people):
    """An honest audit fails with probability ALPHA at most; seeds are fixed."""
    assert 0.5 < audit(seed=1, people=people) <= EPSILON
    assert audit(seed=2, people=people, share=0.5) > EPSILON
