"""Intervals hold as often as they say, which a wrong scale of the noise would not."""

import numpy as np
import pytest
from scipy.stats import binom
from scored import drawn
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from privfit.engine.table import Table
from privfit.mechanisms.gaussian import Measurement
from privfit.metrics.bin_counts import BinCounts
from privfit.metrics.strategies import LOGITS, Strategy
from privfit.metrics.two_labels import TwoLabelEvaluation

REPEATS = 400  # a scale that is half, or one and a half times, the right one is then missed once in 100,000
ALPHA = 1e-6  # the probability of a false alarm of each test below, were the seed not fixed
FEWEST, MOST = (int(binom.ppf(q, REPEATS, 0.95)) for q in (ALPHA, 1.0 - ALPHA))
STRATEGIES = {"curves": Strategy.of_curves(LOGITS), "labels": Strategy.of_outcomes()}


def hits(name, truth, scores, y, *, kind="curves", n_records=None, wrong_by=1.0):
    """Count in how many of many releases the interval holds the truth."""
    strategy = STRATEGIES[kind]
    question, n_bins = strategy.question(), len(strategy.edges) + 1
    counts = np.bincount(np.searchsorted(strategy.edges, scores) + n_bins * y, minlength=2 * n_bins)
    sums, rng = counts @ question.shares, np.random.default_rng(5)
    sensitivity = question.bounded(Table(np.ones((1, 1)), intercept=False)).sensitivity
    sigma = Measurement(sums, sensitivity, 0.01).sigma
    found = 0
    with threadpool_limits(1):
        for _ in range(REPEATS):
            noisy = sums + wrong_by * sigma * rng.standard_normal(sums.shape)
            cells = BinCounts.estimated(Measurement(noisy, sensitivity, 0.01), strategy, n_records)
            low, high = getattr(
                TwoLabelEvaluation(None, cells, (0, 1), kind == "curves", True, 0.01), name
            ).interval
            found += low <= truth <= high
    return found


@pytest.mark.parametrize("kind", STRATEGIES)
@pytest.mark.parametrize("n_records", [None, 1000])
def test_intervals_of_accuracy_hold_neither_too_seldom_nor_too_often(kind, n_records):
    scores, y = drawn(1000, prevalence=0.3)
    scores = scores.ravel()
    truth = np.mean((scores > 0) == y)
    told = {wrong_by: hits("accuracy", truth, scores, y, kind=kind, n_records=n_records, wrong_by=wrong_by)
            for wrong_by in (1.0, 1.5, 0.5)}  # fmt: skip
    assert FEWEST <= told[1.0] <= MOST
    assert told[1.5] < FEWEST
    assert told[0.5] > MOST


@pytest.mark.parametrize("n_records", [None, 1000])
@pytest.mark.parametrize("prevalence", [0.5, 0.1])
def test_intervals_of_auc_hold_often_enough_also_where_one_label_is_rare(prevalence, n_records):
    scores, y = drawn(1000, prevalence=prevalence)
    scores = scores.ravel()
    truth = roc_auc_score(y, scores)
    assert hits("roc_auc", truth, scores, y, n_records=n_records) >= FEWEST
    if prevalence == 0.5:  # at a tenth, bins leave too much open for this to show
        assert hits("roc_auc", truth, scores, y, n_records=n_records, wrong_by=2.0) < FEWEST


def test_intervals_of_auc_allow_for_the_worst_order_in_a_bin():
    """All scores of one bin in the worst order, and in the best: the exact AUC is 0 or 1."""
    left, right = STRATEGIES["curves"].edges[40:42]
    inside = np.linspace(left, right, 1002)[1:-1]
    y = (np.arange(1000) >= 500).astype(int)
    assert hits("roc_auc", 1.0, inside, y) >= FEWEST
    assert hits("roc_auc", 0.0, inside, 1 - y) >= FEWEST


def test_intervals_of_losses_hold_often_enough():
    scores, y = drawn(1000, prevalence=0.3)
    p = 1.0 / (1.0 + np.exp(-scores.ravel()))
    brier = np.mean((y - p) ** 2)
    log_loss = -np.mean(np.log(np.clip(np.where(y == 1, p, 1.0 - p), 0.01, 0.99)))
    for name, truth in (("brier_score", brier), ("log_loss", log_loss)):
        assert hits(name, truth, scores.ravel(), y) >= FEWEST
        assert hits(name, truth, scores.ravel(), y, wrong_by=2.0) < FEWEST


@pytest.mark.parametrize("n_records", [None, 10])
def test_cells_have_the_noise_that_is_said_of_them_and_pairs_have_no_bias(n_records, monkeypatch):
    """Few records, so that products of noises matter. Five standard errors: a false alarm in a million."""
    parts = []
    monkeypatch.setattr(BinCounts, "fieller", lambda self, over, under, *slopes: parts.append((over, under)))
    strategy, exact, rng = STRATEGIES["labels"], np.array([1.0, 2.0, 3.0, 4.0]), np.random.default_rng(7)
    wins, found = np.array([[0.5, 0.0], [1.0, 0.5]]), []
    for _ in range(4000):
        released = Measurement(exact, 1.0, 0.01)
        noisy = Measurement(exact + released.sigma * rng.standard_normal(4), 1.0, 0.01)
        found.append(BinCounts.estimated(noisy, strategy, n_records))
        found[-1].pairs(wins)
    counts, stated = np.array([cells.counts for cells in found]), found[0].covariance
    if n_records is not None:
        np.testing.assert_allclose(counts.sum(axis=1), n_records)
    np.testing.assert_allclose(np.cov(counts.T), stated, atol=5 * np.sqrt(2 / 4000) * stated.max())
    truth = exact[2:] @ wins @ exact[:2], exact[2:].sum() * exact[:2].sum()
    errors = np.std(parts, axis=0) / np.sqrt(4000)
    assert np.all(np.abs(np.mean(parts, axis=0) - truth) < 5 * errors)
