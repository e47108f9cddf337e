"""Intervals hold what they estimate as often as they say, and naive ones far less often."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from privfit import DPHuberRegressor, DPLogisticRegression

N, FITS, EPSILON = 2000, 90, 1.0
TRUE = np.array([0.6, -0.4, 0.0, 0.3])  # the intercept last


def table(rng, kind):
    X = rng.uniform(-1.0, 1.0, size=(N, 3))
    X[:, 1] = 0.5 * X[:, 0] + 0.5 * X[:, 1]
    score = X @ TRUE[:3] + TRUE[3]
    if kind is DPLogisticRegression:
        return X, rng.random(N) < 1.0 / (1.0 + np.exp(-score))
    return X, score + 0.3 * rng.standard_t(3, N)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [DPLogisticRegression, DPHuberRegressor])
def test_intervals_cover_and_those_that_ignore_the_noise_do_not(kind):
    """90 fits of four effects, at 95%.

    If intervals covered 95%, and the four of a fit were equal, fewer than 84% of 90 would cover with a
    probability below 1e-4. Intervals made of the sampling part of the standard error alone cover about three
    fifths: more than 80% would not be noise ignored.
    """
    rng = np.random.default_rng(11)
    public = {"feature_bounds": (-1.0, 1.0), "n_records": N, "max_passes": 30, "inference": True}
    if kind is DPHuberRegressor:
        public["target_bounds"] = (-4.0, 4.0)
    covered, naive, answered = [], [], []
    for _ in range(FITS):
        model = kind(EPSILON, noise="seeded", random_state=rng, **public).fit(*table(rng, kind))
        low, high = model.conf_int().T
        known = np.isfinite(low)
        answered.append(known)
        covered.extend(((low <= TRUE) & (high >= TRUE))[known])
        errors = np.abs(model.inference_.estimate - TRUE) / model.sampling_err_
        naive.extend(errors[known] <= norm.ppf(0.975))
    assert np.mean(answered) > 0.5
    assert np.mean(covered) >= 0.84
    assert np.mean(naive) <= 0.8
    assert np.mean(covered) - np.mean(naive) > 3.0 * math.sqrt(0.25 / FITS)


@pytest.mark.slow
def test_intervals_of_several_classes_cover():
    """60 fits of two classes' effects against a first class, at 95%.

    If intervals covered 95%, and all of a fit were equal, fewer than 82% of 60 would cover with a probability
    below 3e-4. Intervals of half the length cover about two thirds, and are found out.
    """
    rng, n = np.random.default_rng(12), 4000
    true = np.array([[0.0, 0.6, -0.5], [0.0, -0.4, 0.5], [0.0, 0.3, -0.2]])  # the intercept's row last
    compared = (true[:, 1:] - true[:, :1]).T.ravel()
    covered, narrow, answered = [], [], []
    for _ in range(60):
        X = rng.uniform(-1.0, 1.0, size=(n, 2))
        scores = np.exp(np.column_stack([X, np.ones(n)]) @ true)
        shares = np.cumsum(scores / scores.sum(axis=1, keepdims=True), axis=1)
        y = (rng.random((n, 1)) > shares[:, :2]).sum(axis=1)
        model = DPLogisticRegression(
            EPSILON,
            noise="seeded",
            random_state=rng,
            classes=(0, 1, 2),
            feature_bounds=(-1.0, 1.0),
            n_records=n,
            max_passes=30,
            inference=True,
        ).fit(X, y)
        low, high = model.conf_int().T
        known = np.isfinite(low)
        answered.append(known)
        distances = np.abs(compared - 0.5 * (low + high))[known]
        covered.extend(distances <= 0.5 * (high - low)[known])
        narrow.extend(distances <= 0.25 * (high - low)[known])
    assert np.mean(answered) > 0.5
    assert np.mean(covered) >= 0.82
    assert np.mean(narrow) < 0.82
