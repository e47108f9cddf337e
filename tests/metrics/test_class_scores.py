"""Scores of several classes are those of scikit-learn but for noise, and say how far off they may be."""

import json

import numpy as np
import pytest
from scipy.stats import binom
from sklearn import metrics as exact
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from privfit import Ledger, metrics
from privfit.engine.table import Table
from privfit.mechanisms.gaussian import Measurement
from privfit.metrics import class_marks
from privfit.metrics.class_marks import marked_classes
from privfit.metrics.classes import LOSS_STEP, ClassEvaluation, log_loss_range
from privfit.metrics.estimates import Estimates

pytestmark = [
    pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning"),
    pytest.mark.filterwarnings("ignore:Beware. the .* scores of this model:privfit.PrivacyLeakWarning"),
]

AMPLE = {"rho": 1e3, "noise": "seeded", "random_state": 0}  # the noise of a count is then 0.04
REPEATS = 400
ALPHA = 1e-6  # the probability of a false alarm of each coverage test below, were the seed not fixed
FEWEST, MOST = (int(binom.ppf(q, REPEATS, 0.95)) for q in (ALPHA, 1.0 - ALPHA))


def table(n=4000, classes=4, seed=0):
    """Return records of classes of different size, and a public model of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    scores = X @ rng.normal(size=(3, classes)) + np.linspace(0.0, 1.0, classes)
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    model = LogisticRegression()
    model.classes_ = np.array([f"class {k}" for k in range(classes)])
    coefficients = np.linalg.lstsq(X, scores, rcond=None)[0]
    model.coef_, model.intercept_, model.n_features_in_ = coefficients.T, np.linspace(0.0, 1.0, classes), 3
    return model, X, model.classes_[y]


MODEL, X, Y = table()


def truths(model, X, y):
    p, predicted = model.predict_proba(X), model.predict(X)
    one_hot = y[:, None] == model.classes_
    return {
        "accuracy": exact.accuracy_score(y, predicted),
        "balanced_accuracy": exact.balanced_accuracy_score(y, predicted),
        "log_loss": -np.mean(np.log(np.clip(p[one_hot], 0.01, 0.99))),
        "brier_score": np.mean(((p - one_hot) ** 2).sum(axis=1)),
    }


def test_with_an_ample_budget_scores_are_those_of_scikit_learn():
    found = metrics.evaluate(MODEL, X, Y, **AMPLE)
    expected = truths(MODEL, X, Y)
    assert set(found.scores()) == set(expected)
    for name, value in expected.items():
        assert found.scores()[name].value == pytest.approx(value, abs=1e-3), name
    predicted = MODEL.predict(X)
    np.testing.assert_allclose(found.confusion_matrix.counts, exact.confusion_matrix(Y, predicted), atol=0.5)
    for name, score in (("recall", exact.recall_score), ("precision", exact.precision_score)):
        shares = getattr(found, name)
        assert shares.labels == tuple(MODEL.classes_)
        np.testing.assert_allclose(shares.values, score(Y, predicted, average=None), atol=2e-3)
        assert np.all((shares.low <= shares.values) & (shares.values <= shares.high))
    held = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert held["recall"]["labels"] == list(MODEL.classes_)
    assert "Balanced accuracy" in repr(found)


def test_many_classes_have_no_matrix_and_all_else():
    model, X, y = table(classes=40)
    found = metrics.evaluate(model, X, y, **AMPLE)
    for name, value in truths(model, X, y).items():
        assert found.scores()[name].value == pytest.approx(value, abs=0.01), name
    with pytest.raises(ValueError, match="precision is available for at most 32 classes"):
        _ = found.precision
    ledger = Ledger(rho=1.0)
    with pytest.raises(ValueError, match="confusion_matrix is available for at most 32 classes"):
        metrics.confusion_matrix(model, X, y, rho=0.1, ledger=ledger)
    assert ledger.spent == 0.0


@pytest.mark.parametrize("name", ["roc_auc", "roc_curve", "calibration_curve"])
def test_curves_are_refused_before_a_charge(name):
    ledger = Ledger(rho=1.0)
    with pytest.raises(ValueError, match=f"{name} is available for two classes only"):
        getattr(metrics, name)(MODEL, X, Y, rho=0.1, ledger=ledger)
    assert ledger.spent == 0.0


def test_labels_alone_have_less_noise_and_no_losses():
    found = metrics.evaluate(MODEL, X, Y, rho=0.01, curves=False)
    both = metrics.evaluate(MODEL, X, Y, rho=0.01)
    assert set(found.scores()) == {"accuracy", "balanced_accuracy"}
    assert found.accuracy.noise < both.accuracy.noise
    with pytest.raises(ValueError, match="log_loss was not bought; evaluate with curves=True"):
        _ = found.log_loss


def test_margins_have_classes_and_no_probabilities():
    model = LinearSVC()
    model.__dict__.update(MODEL.__dict__)
    found = metrics.evaluate(model, X, Y, **AMPLE)
    assert found.accuracy.value == pytest.approx(np.mean(model.predict(X) == Y), abs=1e-3)
    ledger = Ledger(rho=1.0)
    with pytest.raises(ValueError, match="log_loss needs probabilities, and this model has no predict_proba"):
        metrics.log_loss(model, X, Y, rho=0.1, ledger=ledger)
    assert ledger.spent == 0.0


def test_a_scorer_scores_several_classes():
    scorer = metrics.make_scorer(("balanced_accuracy", "neg_log_loss"), **AMPLE, ledger=Ledger(rho=1e4))
    found, expected = scorer(MODEL, X, Y), truths(MODEL, X, Y)
    assert found["balanced_accuracy"] == pytest.approx(expected["balanced_accuracy"], abs=1e-3)
    assert found["neg_log_loss"] == pytest.approx(-expected["log_loss"], abs=1e-3)


def half_a_step_off():
    """Return probabilities for which the log loss of the second class lies between two steps."""
    low, high = log_loss_range(0.01)
    loss = low + 0.5 * (high - low) * (1.0 + 100.5 * LOSS_STEP)
    return np.append(np.exp(-loss), np.full(3, (1.0 - np.exp(-loss)) / 3.0))[[1, 0, 2, 3]]


class Moody(LogisticRegression):
    """A model that rounds a record by what is around it, by less than it may."""

    def predict_proba(self, X):
        return np.tile(self.chances, (len(X), 1)) * (1.0 + (1e-8 * np.arange(-1, 3) if len(X) > 1 else 0.0))


@pytest.mark.parametrize("chances", [np.full(4, 0.25), half_a_step_off()], ids=["tie", "between two steps"])
def test_what_lies_at_a_tie_or_between_two_steps_is_computed_of_the_record_alone(chances, monkeypatch):
    model = Moody()
    model.__dict__.update(MODEL.__dict__)
    model.chances = chances
    given = {"wanted": (), "curves": True, "clip": 0.01, "known": ""}

    def columns(n):
        return marked_classes(model, np.zeros((n, 1)), np.ones(n, dtype=int), **given).columns

    np.testing.assert_array_equal(columns(50), np.repeat(columns(1), 50, axis=0))
    monkeypatch.setattr(class_marks, "applied", lambda compute, model, X, unsure, columns: compute(model, X))
    assert np.any(columns(50) != columns(1))  # so that it matters


def test_probabilities_that_are_no_numbers_are_refused_before_a_charge():
    class Broken(LogisticRegression):
        def predict_proba(self, X):
            return np.where(np.arange(len(X))[:, None] == 3, np.nan, super().predict_proba(X))

    model, ledger = Broken(), Ledger(rho=1.0)
    model.__dict__.update(MODEL.__dict__)
    with pytest.raises(ValueError, match="Broken does not give a number of each class for each record"):
        metrics.evaluate(model, X, Y, rho=0.1, ledger=ledger)
    assert ledger.spent == 0.0


# -- intervals ----------------------------------------------------------------------------------------------


def hits(name, truth, model, X, y, *, n_records=None, wrong_by=1.0, rho=0.01, part="interval"):
    """Count in how many of many releases the interval holds the truth."""
    numbers = np.searchsorted(model.classes_, y)
    marks = marked_classes(model, X, numbers, (), curves=True, clip=0.01, known="")
    bounded = marks.strategy.question().bounded(Table(marks.columns, intercept=False))
    sums, rng, found = bounded.look(), np.random.default_rng(5), 0
    sigma = Measurement(sums, bounded.sensitivity, rho).sigma
    for _ in range(REPEATS):
        noisy = sums + wrong_by * sigma * rng.standard_normal(sums.shape)
        released = Measurement(noisy, bounded.sensitivity, rho)
        estimates = Estimates.estimated(released, marks.strategy, n_records)
        score = getattr(ClassEvaluation(None, estimates, marks.classes, True, True, 0.01), name)
        low, high = (score.low[0], score.high[0]) if hasattr(score, "low") else getattr(score, part)
        found += low <= truth <= high
    return found


@pytest.mark.parametrize("n_records", [None, 1000])
@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy", "log_loss", "brier_score", "recall"])
def test_intervals_hold_neither_too_seldom_nor_too_often(name, n_records):
    model, X, y = table(1000)
    truth = exact.recall_score(y, model.predict(X), average=None)[0] if name == "recall" else None
    given = name, truths(model, X, y)[name] if truth is None else truth, model, X, y
    found = hits(*given, n_records=n_records)
    # the mean of ratios has an interval that is a little too wide where a class is small beside the noise
    assert FEWEST <= found <= (REPEATS if name == "balanced_accuracy" else MOST)
    assert hits(*given, n_records=n_records, wrong_by=1.8) < FEWEST


def test_a_class_that_noise_hides_leaves_the_balanced_accuracy_open():
    """Noise looks like records in one release of 25; so in 9 of 20 once in ten million times."""
    rare = np.append(np.flatnonzero(Y != "class 0")[:500], np.flatnonzero(Y == "class 0")[:2])
    found = [
        metrics.evaluate(MODEL, X[rare], Y[rare], rho=0.01, noise="seeded", random_state=seed)
        for seed in range(20)
    ]
    assert sum(each.balanced_accuracy.interval == (0.0, 1.0) for each in found) > 11
    assert all(each.accuracy.interval != (0.0, 1.0) for each in found)


def test_sampling_adds_to_the_interval_what_a_binomial_adds():
    found = metrics.evaluate(MODEL, X, Y, n_records=len(Y), **AMPLE)
    share = found.accuracy.value
    half = (found.accuracy.population[1] - found.accuracy.population[0]) / 2
    assert half == pytest.approx(1.96 * np.sqrt(share * (1 - share) / len(Y)), rel=0.05)
    for score in found.scores().values():
        assert score.population[0] <= score.interval[0] <= score.interval[1] <= score.population[1]
