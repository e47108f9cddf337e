"""Scores are those of scikit-learn but for noise and bins, and say how far off they may be."""

import json
import math
import re

import numpy as np
import pytest
from scored import drawn, public_model
from sklearn import metrics as exact
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from privfit import DPLinearSVC, DPLogisticRegression, Ledger, metrics

pytestmark = [
    pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning"),
    pytest.mark.filterwarnings("ignore:Beware. the .* scores of this model:privfit.PrivacyLeakWarning"),
]

AMPLE = 1e3  # the noise of a count is then 0.02
SEEDED = {"noise": "seeded", "random_state": 0}
X, Y = drawn(1000)


def truths(scores, y):
    p = 1.0 / (1.0 + np.exp(-scores))
    return {
        "accuracy": exact.accuracy_score(y, scores > 0),
        "balanced_accuracy": exact.balanced_accuracy_score(y, scores > 0),
        "roc_auc": exact.roc_auc_score(y, scores),
        "brier_score": exact.brier_score_loss(y, p),
        "log_loss": exact.log_loss(y, np.clip(p, 0.01, 0.99)),
    }


@pytest.mark.parametrize("n_records", [None, 1000])
@pytest.mark.parametrize("prevalence", [0.5, 0.1])
def test_with_an_ample_budget_scores_are_those_of_scikit_learn(prevalence, n_records):
    scores, y = drawn(1000, prevalence=prevalence)
    found = metrics.evaluate(public_model(), scores, y, rho=AMPLE, n_records=n_records, **SEEDED).scores()
    expected = truths(scores.ravel(), y)
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value, abs=0.005), name
        # three half-widths are six standard deviations; test_intervals.py tests how often intervals hold
        low, high = found[name].interval
        assert low - 2 * found[name].noise <= value <= high + 2 * found[name].noise


def test_only_predicted_labels_need_no_bins():
    found = metrics.evaluate(public_model(), X, Y, rho=AMPLE, curves=False, **SEEDED)
    expected = truths(X.ravel(), Y)
    assert set(found.scores()) == {"accuracy", "balanced_accuracy"}
    for name, score in found.scores().items():
        assert score.value == pytest.approx(expected[name], abs=1e-3)
        assert score.binning == 0.0
    with pytest.raises(ValueError, match="roc_auc needs the distribution of scores, which was not bought"):
        _ = found.roc_auc


@pytest.mark.parametrize("distance", [0.8, 1.2, 2.5, 3.2])
def test_on_a_thousand_records_the_noise_is_as_small_as_promised_and_printed(distance):
    """At rho = 0.01: 0.03 for accuracy, and for AUC 0.05 on average if the number of records is public.

    Half-widths are computed from the release. AUC's has, at the largest distance, a mean of .0479 and a
    standard deviation of .001, or .0496 and .0019 if the number is bought. So a release stays below .053, and
    so does the mean of 20 if the number is bought, each at five standard errors. A tenth more noise would be
    noticed.
    """
    (scores, y), model = drawn(1000, distance=distance), public_model()
    settings = [{"rho": 0.01, "noise": "seeded", "random_state": seed} for seed in range(20)]
    public = [metrics.evaluate(model, scores, y, n_records=1000, **given) for given in settings]
    for found in public:
        assert found.accuracy.noise <= 0.03
        assert found.roc_auc.noise <= 0.053
        for line, noise in (("Accuracy", found.accuracy.noise), ("AUC", found.roc_auc.noise)):
            assert re.search(rf"^{line} .*noise ±{noise:.3f}", str(found), re.MULTILINE)
    assert np.mean([found.roc_auc.noise for found in public]) <= 0.05
    bought = [metrics.evaluate(model, scores, y, **given) for given in settings]
    accuracies = np.mean([found.accuracy.noise for found in bought])
    assert accuracies <= 0.03
    assert np.mean([found.roc_auc.noise for found in bought]) <= 0.053
    # accuracy alone has seven tenths of that noise, give or take .03, or .0139 whatever is released
    assert metrics.accuracy(model, scores, y, **settings[0]).noise <= 0.83 * accuracies
    assert metrics.accuracy(model, scores, y, n_records=1000, **settings[0]).noise <= 0.0139


def test_confusion_matrix_has_true_labels_in_rows():
    model = public_model(("ill", "well"))
    found = metrics.confusion_matrix(model, X, np.where(Y == 1, "well", "ill"), rho=AMPLE, **SEEDED)
    expected = exact.confusion_matrix(Y, X.ravel() > 0)
    assert found.labels == ("ill", "well")
    np.testing.assert_allclose(found.counts, expected, atol=0.2)
    assert np.all(np.abs(found.counts - expected) <= 3 * found.noise)  # six standard deviations
    np.testing.assert_allclose((found.low + found.high) / 2, found.counts)


def test_roc_curve_rises_through_the_exact_one():
    curve = metrics.roc_curve(public_model(), X, Y, rho=AMPLE, **SEEDED)
    for name, label in (("fpr", 0), ("tpr", 1)):
        rates = [np.mean(X[label == Y, 0] > threshold) for threshold in curve["threshold"]]
        np.testing.assert_allclose(curve[name], rates, atol=1e-3)
    noisy = metrics.roc_curve(public_model(), X, Y, rho=0.01, **SEEDED)
    for name in ("fpr", "tpr"):
        assert np.all(np.diff(noisy[name]) >= 0.0)
        assert np.all((noisy[f"{name}_low"] <= noisy[name]) & (noisy[name] <= noisy[f"{name}_high"]))


def test_calibration_curve_tells_what_happened_where_a_probability_was_predicted():
    scores, y = drawn(20_000)
    curve = metrics.calibration_curve(public_model(), scores, y, rho=AMPLE, **SEEDED)
    p = 1.0 / (1.0 + np.exp(-scores.ravel()))
    for k in np.flatnonzero(curve["records"] > 500):
        group = (p > curve["lowest"][k]) & (p <= curve["highest"][k])
        assert curve["records"][k] == pytest.approx(group.sum(), abs=2)
        assert curve["observed"][k] == pytest.approx(y[group].mean(), abs=2e-3)
        assert curve["predicted"][k] == pytest.approx(p[group].mean(), abs=5e-3)
        assert curve["lowest"][k] <= curve["predicted"][k] <= curve["highest"][k]


def test_what_noise_drowns_is_said_to_be_unknown():
    """Noise may look like records: in one of 60 releases for accuracy, and at one of 30 points of the curve.

    More than 5 of 20 releases do so with a probability of 1e-6, and at 15% of the points, ten standard
    deviations, never. An evaluation that always shows its estimates shows all of them.
    """
    found = [
        metrics.evaluate(public_model(), X[:20], Y[:20], rho=1e-4, noise="seeded", random_state=seed)
        for seed in range(20)
    ]
    assert sum(each.accuracy.interval == (0.0, 1.0) for each in found) >= 15
    assert sum(each.roc_auc.noise == 0.5 for each in found) >= 15
    assert np.mean([np.isfinite(each.calibration_curve["observed"]) for each in found]) < 0.15
    for each in found:
        json.dumps(each.to_dict(), allow_nan=False)


def test_sampling_adds_to_the_interval_and_has_a_name_of_its_own():
    found = metrics.evaluate(public_model(), X, Y, rho=AMPLE, n_records=1000, **SEEDED)
    second, first = X[Y == 1, 0], X[Y == 0, 0]
    ahead = second[:, None] > first
    delong = ahead.mean(axis=1).var() / len(second) + ahead.mean(axis=0).var() / len(first)
    accuracy = found.accuracy.value
    for score, variance in ((found.accuracy, accuracy * (1 - accuracy) / 1000), (found.roc_auc, delong)):
        width = 1.96 * math.sqrt(variance) + score.binning
        assert (score.population[1] - score.population[0]) / 2 == pytest.approx(width, rel=0.05)
        assert score.population[0] <= score.interval[0] <= score.interval[1] <= score.population[1]


def test_margins_have_an_order_and_no_probabilities():
    model = DPLinearSVC(epsilon=5.0, ledger=Ledger(rho=2e3), classes=(0, 1)).fit(X, Y)
    found = metrics.evaluate(model, X, Y, rho=AMPLE, **SEEDED)
    margins = model.decision_function(X)
    assert found.accuracy.value == pytest.approx(np.mean((margins > 0) == Y), abs=1e-3)
    assert found.roc_auc.interval[0] <= exact.roc_auc_score(Y, margins) <= found.roc_auc.interval[1]
    assert set(found.to_dict()) == {
        "accuracy", "balanced_accuracy", "confusion_matrix", "roc_auc", "roc_curve", "privacy",
        "evidence",
    }  # fmt: skip
    for name in ("log_loss", "brier_score", "calibration_curve"):
        with pytest.raises(ValueError, match=rf"{name} needs probabilities, .* has no predict_proba"):
            getattr(found, name)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LinearSVC(),
        RandomForestClassifier(5, random_state=0),
        make_pipeline(FunctionTransformer(), LogisticRegression()),
        make_pipeline(
            FunctionTransformer(), DPLogisticRegression(5.0, classes=(0, 1), ledger=Ledger(rho=2e3))
        ),
    ],
    ids=lambda model: repr(model)[:60],
)
def test_any_classifier_of_two_classes_is_scored_by_its_own_predictions(model):
    model.fit(X, Y)
    found = metrics.evaluate(model, X, Y, rho=AMPLE, **SEEDED)
    assert found.accuracy.value == pytest.approx(np.mean(model.predict(X) == Y), abs=1e-3)


def test_everything_known_goes_into_json_and_a_small_table():
    found = metrics.evaluate(public_model(), X, Y, rho=0.01, **SEEDED)
    held = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert held["accuracy"]["value"] == found.accuracy.value
    assert held["accuracy"]["interval"] == list(found.accuracy.interval)
    assert held["privacy"]["rho"] == 0.01
    assert len(held["roc_curve"]["tpr"]) == len(found.roc_curve["tpr"])
    assert repr(found) == str(found)
    assert "Accuracy " in repr(found)
    html = found._repr_html_()
    assert html.count("<tr>") == 6
    assert f"±{found.roc_auc.noise:.3f}" in html
    assert "0.01-zCDP" in found.privacy.text
    assert "set of scores" in found.privacy.text


def test_two_scores_of_a_seeded_scorer_have_different_noise():
    scorer = metrics.make_scorer("accuracy", rho=0.01, ledger=Ledger(rho=1.0), **SEEDED)
    assert scorer(public_model(), X, Y) != scorer(public_model(), X, Y)


class Silent(ClassifierMixin, BaseEstimator):
    classes_ = np.array([0, 1])

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True


def test_a_classifier_that_only_names_labels_is_refused():
    with pytest.raises(ValueError, match="Silent has neither predict_proba nor decision_function"):
        metrics.accuracy(Silent(), X, Y, rho=0.1)
