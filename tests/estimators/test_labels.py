"""Labels as scikit-learn users meet them: sorted classes, meta-estimators, tables with one class."""

import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier

from privfit import DPLinearSVC, DPLogisticRegression, Ledger, PrivacyLeakError, PrivacyLeakWarning, strict

pytestmark = [
    pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning"),
    pytest.mark.filterwarnings(
        "ignore:Beware:privfit.PrivacyLeakWarning"
    ),  # families have tests of their own
]

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 3))
Y = (X @ [3.0, -2.0, 0.0] + 0.3 * rng.normal(size=2000) > 0).astype(int)

PAIRS = {"string": ("unwell", "well"), "bool": (False, True), "integer": (3, 7), "float": (0.0, 2.0)}
declared = pytest.mark.parametrize("classes", [pair[::step] for pair in PAIRS.values() for step in (1, -1)])


def model(classes, epsilon=20.0, **settings):
    return DPLogisticRegression(
        epsilon, classes=classes, feature_bounds=(-4, 4), noise="seeded", random_state=0, **settings
    )


def labelled(classes):
    return np.array(sorted(classes))[Y]


@declared
def test_classes_are_sorted_whatever_order_they_were_declared_in(classes):
    fitted = model(classes).fit(X, labelled(classes))
    assert fitted.classes_.tolist() == sorted(classes)
    assert fitted.predict_proba(X[:1]).shape == (1, 2)
    positive = fitted.decision_function(X) > 0
    np.testing.assert_array_equal(fitted.predict(X), np.array(sorted(classes))[positive.astype(int)])
    assert fitted.score(X, labelled(classes)) > 0.9


@declared
def test_scores_that_assume_sorted_classes_are_right(classes):
    y = labelled(classes)
    fitted = model(classes).fit(X, y)
    positive = np.asarray(y == sorted(classes)[1])
    assert roc_auc_score(positive, fitted.decision_function(X)) > 0.97
    assert log_loss(y, fitted.predict_proba(X), labels=sorted(classes)) < 0.3
    search = GridSearchCV(model(classes), {"epsilon": [0.05, 20.0]}, scoring="neg_log_loss", cv=3).fit(X, y)
    assert search.best_params_ == {"epsilon": 20.0}
    auc = GridSearchCV(model(classes), {"alpha": [0.0]}, scoring="roc_auc", cv=2).fit(X, y)
    assert auc.best_score_ > 0.95


@declared
def test_calibration_and_threshold_tuning_work(classes):
    y = labelled(classes)
    calibrated = CalibratedClassifierCV(model(classes), cv=2).fit(X, y)
    assert calibrated.score(X, y) > 0.9
    tuned = TunedThresholdClassifierCV(model(classes), cv=2).fit(X, y)
    assert tuned.score(X, y) > 0.8


META = {
    "voting": lambda m: VotingClassifier([("a", m), ("b", m)], voting="soft"),
    "hard voting": lambda m: VotingClassifier([("a", m), ("b", m), ("c", m)]),
    "stacking": lambda m: StackingClassifier([("a", m)], LogisticRegression(), cv=2),
    "one vs rest": OneVsRestClassifier,
}


@pytest.mark.parametrize("meta", META)
@pytest.mark.parametrize("classes", [PAIRS[kind][::step] for kind in ("string", "bool") for step in (1, -1)])
def test_meta_estimators_that_number_the_labels_are_understood(meta, classes):
    y = labelled(classes)
    ensemble = META[meta](model(classes)).fit(X, y)
    assert ensemble.score(X, y) > 0.9
    assert set(ensemble.predict(X)) == set(classes)
    assert ensemble.estimators_[0].classes_.tolist() == [0, 1]


@pytest.mark.parametrize("meta", ["voting", "stacking"])
def test_integer_classes_that_a_meta_estimator_renumbers_are_refused_with_the_reason(meta):
    with pytest.raises(
        ValueError, match=r"number the labels 0 and 1 themselves, .* classes=\(0, 1\) or strings"
    ):
        META[meta](model((3, 7))).fit(X, labelled((3, 7)))
    assert META[meta](model((0, 1))).fit(X, Y).score(X, Y) > 0.9


@pytest.mark.parametrize("classes", [PAIRS["string"], PAIRS["bool"]])
def test_cross_val_predict_puts_probabilities_into_the_right_columns(classes):
    y = labelled(classes)
    proba = cross_val_predict(model(classes), X, y, cv=2, method="predict_proba")
    assert roc_auc_score(Y, proba[:, 1]) > 0.95


def test_integers_beside_declared_strings_are_codes_by_dtype_alone():
    coded = model(("a", "b")).fit(X, Y)
    assert coded.classes_.tolist() == [0, 1]
    assert set(coded.predict(X)) == {0, 1}
    named = model(("a", "b")).fit(X, np.array(["a", "b"])[Y])
    np.testing.assert_array_equal(coded.coef_, named.coef_)
    assert "numbered them 0 and 1" in coded.privacy_.text
    with pytest.raises(ValueError, match="not in classes"):
        model(("a", "b")).fit(X, Y.astype(float))


# -- one record does not decide whether a model can be fitted ----------------------------------------------


@pytest.mark.parametrize("labels", [np.zeros(2000), np.ones(2000, dtype=int), np.zeros(2000, dtype=bool)])
@pytest.mark.parametrize("classes", [None, (0, 1)])
def test_one_class_present_takes_the_same_noisy_path_as_two(labels, classes):
    one = labels.copy()
    one[0] = not one[0]
    fits = []
    for y in (labels, one):
        with warnings.catch_warnings():
            warnings.simplefilter("error", PrivacyLeakWarning)
            fits.append(model(classes, epsilon=1.0).fit(X, y))
    entries = [[(e.what, e.mechanism, e.rho) for e in fit.ledger_.entries] for fit in fits]
    assert entries[0][:3] == entries[1][:3]
    assert len(entries[0]) > 50
    assert fits[0].classes_.tolist() == fits[1].classes_.tolist() == [0, 1]


def test_minus_one_and_one_are_no_convention_because_all_ones_cannot_tell():
    with pytest.warns(PrivacyLeakWarning, match="The set of labels was taken from the data"):
        model(None).fit(X, 2 * Y - 1)
    assert model(None).fit(X, np.ones(2000, dtype=int)).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("labels", [Y, Y.astype(bool), Y.astype(float)])
@pytest.mark.parametrize("estimator", [DPLogisticRegression, DPLinearSVC])
def test_strict_mode_always_wants_classes(labels, estimator):
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    with strict(), pytest.raises(PrivacyLeakError, match=r"declare it with classes=\(one, other, ...\)"):
        estimator(ledger=ledger).fit(X, labels)
    assert ledger.spent == 0.0
    with strict():
        estimator(epsilon=0.5, ledger=ledger, classes=(0, 1), n_records=2000).fit(X, labels)
