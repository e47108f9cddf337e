"""Invented people are of the shape that was asked for."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from privfit.planning.population import Population
from privfit.planning.targets import Classes, Numbers


def drawn(target, strength, n=50_000):
    rng = np.random.default_rng(1)
    population = Population.of(40, rng, shares=getattr(target, "shares", ()))
    return population, *target.draw(population, strength, n, rng)


@pytest.mark.parametrize("positives", [0.5, 0.3, 0.02, 0.9])
def test_labels_are_as_frequent_as_was_asked_for_and_can_be_told_apart(positives):
    population, X, y = drawn(Classes((1.0 - positives, positives), 0.8), 2.0)
    assert X.min() >= 0.0
    assert X.max() <= 1.0
    # 50,000 labels say the share to .009 at four standard errors
    assert y.mean() == pytest.approx(positives, abs=0.01)
    assert abs(roc_auc_score(y, X @ (X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)))) > 0.65
    numbers = X[:, population.is_number]
    np.testing.assert_allclose(numbers.std(axis=0), 1 / 6, rtol=0.1)  # bounds are six of them apart


def test_several_classes_are_as_frequent_as_was_asked_for():
    shares = (0.6, 0.3, 0.1)
    _, _, y = drawn(Classes(shares, 0.8), 2.0)
    np.testing.assert_allclose(np.bincount(y) / len(y), shares, atol=0.01)


def test_numbers_have_a_standard_deviation_of_one_and_are_explained_by_the_scores():
    population, X, y = drawn(Numbers(0.5), 1.0)
    assert y.std() == pytest.approx(1.0, rel=0.03)
    assert np.corrcoef(population.scores(X), y)[0, 1] ** 2 == pytest.approx(0.5, abs=0.03)


def test_columns_go_together_by_causes_of_which_each_explains_less_than_the_one_before():
    rng = np.random.default_rng(2)
    X = Population.of(40, rng, numbers=40).features(20_000, rng)
    variances = np.linalg.eigvalsh(np.corrcoef(X.T))[::-1]
    causes = 1.0 / np.arange(1, 41)
    assert variances[0] / 40 == pytest.approx(causes[0] / causes.sum(), rel=0.4)
    assert variances[:10].sum() / 40 == pytest.approx(causes[:10].sum() / causes.sum(), rel=0.25)


def test_half_the_columns_are_yes_or_no_unless_something_else_is_said():
    rng = np.random.default_rng(2)
    for numbers, expected in ((None, 20), (7, 7), (0, 0)):
        population = Population.of(40, rng, numbers=numbers)
        X = population.features(5_000, rng)
        binary = ((X == 0) | (X == 1)).all(axis=0)
        assert (~binary).sum() == population.is_number.sum() == expected
        assert 0.01 < X[:, binary].mean(axis=0).min() < X[:, binary].mean(axis=0).max() < 0.55


def test_rows_of_a_person_are_alike_and_not_the_same():
    rng = np.random.default_rng(3)
    population = Population.of(40, rng, numbers=40)
    X = population.features(2_000, rng, 2)
    first, second = X[::2].ravel(), X[1::2].ravel()
    assert len(X) == 4_000
    # of columns that causes explain alone
    assert np.corrcoef(first, second)[0, 1] == pytest.approx(0.5, abs=0.05)
