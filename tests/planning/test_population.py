"""Invented people are of the shape that was asked for."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from privfit.planning.population import Population


@pytest.mark.parametrize(("positives", "auc"), [(0.5, 0.6), (0.3, 0.8), (0.02, 0.9), (0.9, 0.97)])
def test_the_rule_reaches_the_auc_and_the_share_that_were_asked_for(positives, auc):
    rng = np.random.default_rng(1)
    population = Population.of(40, positives, auc, rng)
    X, y = population.draw(100_000, rng)
    assert X.min() >= 0.0
    assert X.max() <= 1.0
    # 100,000 labels say the share to .005 and the AUC to .02 at four standard errors (2,000 positives)
    assert y.mean() == pytest.approx(positives, abs=0.01)
    assert roc_auc_score(y, X @ population.weights) == pytest.approx(auc, abs=0.02)


def test_half_the_columns_are_yes_or_no_and_some_are_correlated():
    rng = np.random.default_rng(2)
    X, _ = Population.of(40, 0.5, 0.8, rng).draw(20_000, rng)
    binary = ((X == 0) | (X == 1)).all(axis=0)
    assert binary.sum() == 20
    assert 0.01 < X[:, binary].mean(axis=0).min() < X[:, binary].mean(axis=0).max() < 0.55
    correlations = np.corrcoef(X[:, ~binary].T)[np.triu_indices(20, 1)]
    assert 0.1 < np.abs(correlations).max() < 0.5
