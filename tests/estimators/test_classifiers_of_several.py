"""Classifiers of more than two classes: scikit-learn's attributes and shapes, and what is said of labels."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import cross_val_score

import privfit
from privfit import DPLinearSVC, DPLogisticRegression, Ledger, PrivacyLeakWarning
from privfit.leaks import PrivacyLeakError, strict

NAMES = np.array(["fair", "good", "poor"])
MODELS = [DPLogisticRegression, DPLinearSVC]


def table(n=3000, seed=0):
    """Return records in [0, 1] and one of three numbers, which a linear model explains but for noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    scores = (X - 0.5) @ (8.0 * rng.normal(size=(4, 3)))
    return X, np.argmax(scores + rng.gumbel(size=(n, 3)), axis=1)


X, NUMBERS = table()
Y = NAMES[NUMBERS]


def fitted(model, **settings):
    settings = {"classes": NAMES, "noise": "seeded", "random_state": 0} | settings
    return model(4.0, 1e-6, feature_bounds=(0.0, 1.0), **settings).fit(X, Y)


@pytest.mark.parametrize("model", MODELS)
def test_attributes_and_shapes_are_those_of_scikit_learn(model):
    ours = fitted(model, classes=NAMES[::-1])
    plain = LogisticRegression().fit(X, Y)
    assert ours.classes_.tolist() == plain.classes_.tolist() == NAMES.tolist()
    for name in ("coef_", "intercept_"):
        assert getattr(ours, name).shape == getattr(plain, name).shape
    scores = ours.decision_function(X)
    assert scores.shape == plain.decision_function(X).shape
    np.testing.assert_allclose(scores, X @ ours.coef_.T + ours.intercept_, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), NAMES[scores.argmax(axis=1)])
    assert ours.score(X, Y) == accuracy_score(Y, ours.predict(X))
    assert ours.score(X, Y) > plain.score(X, Y) - 0.05


def test_probabilities_are_the_softmax_of_the_scores():
    model = fitted(DPLogisticRegression)
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (len(X), 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(probabilities), model.predict_log_proba(X), atol=1e-12)
    odds = model.predict_log_proba(X)[:, 1:] - model.predict_log_proba(X)[:, :1]
    scores = model.decision_function(X)
    np.testing.assert_allclose(odds, scores[:, 1:] - scores[:, :1], atol=1e-12)
    without = log_loss(Y, LogisticRegression().fit(X, Y).predict_proba(X))
    assert log_loss(Y, probabilities) < without + 0.03, "and they are calibrated"
    assert not hasattr(fitted(DPLinearSVC), "predict_proba")


def test_without_privacy_it_is_scikit_learns_multinomial_model():
    ours = DPLogisticRegression(solver="nonprivate", classes=NAMES).fit(X, Y)
    plain = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(X, Y)
    np.testing.assert_allclose(ours.coef_ - ours.coef_.mean(axis=0), plain.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.predict_proba(X), plain.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_the_majority_is_the_largest_class(model):
    constant = model(solver="majority", classes=NAMES).fit(X, Y)
    assert set(constant.predict(X)) == {NAMES[np.bincount(NUMBERS).argmax()]}


# -- labels


def test_undeclared_labels_are_warned_of_and_refused_in_strict_mode():
    with pytest.warns(PrivacyLeakWarning, match=r"set of labels .* classes=\(one, other, \.\.\.\)"):
        guessed = DPLogisticRegression(noise="seeded", random_state=0).fit(X, Y)
    assert any("read off the data" in a for a in guessed.privacy_.assumptions)
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    with strict(), pytest.raises(PrivacyLeakError, match="declare it with classes="):
        DPLogisticRegression(ledger=ledger).fit(X, Y)
    assert ledger.spent == 0.0
    declared = DPLogisticRegression(noise="seeded", random_state=0, classes=NAMES).fit(X, Y)
    np.testing.assert_array_equal(guessed.coef_, declared.coef_)
    assert "the labels fair, good and poor are public" in declared.privacy_.assumptions


def test_a_label_that_is_not_declared_is_refused_before_a_charge_and_not_quoted():
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    labels = Y.copy().astype(object)
    labels[17] = "John Smith"
    with pytest.raises(ValueError, match=r"not in classes=\('fair', 'good', 'poor'\)") as refusal:
        DPLogisticRegression(classes=NAMES, ledger=ledger).fit(X, labels)
    assert "John" not in str(refusal.value)
    assert ledger.spent == 0.0


def test_a_class_without_records_is_a_class():
    few = DPLogisticRegression(1.0, classes=[*NAMES, "unheard of"], noise="seeded", random_state=0).fit(X, Y)
    assert few.coef_.shape == (4, 4)
    assert "unheard of" not in few.predict(X)


def test_many_labels_are_not_listed():
    many = DPLogisticRegression(1.0, classes=range(12), noise="seeded", random_state=0).fit(X, NUMBERS)
    assert "the 12 labels that were declared are public" in many.privacy_.assumptions


def test_integers_stand_for_declared_text_as_meta_estimators_pass_them():
    model = DPLogisticRegression(4.0, classes=NAMES, noise="seeded", random_state=0).fit(X, NUMBERS)
    assert model.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(
        model.coef_, DPLogisticRegression(4.0, classes=NAMES, noise="seeded", random_state=0).fit(X, Y).coef_
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        members = [(str(k), DPLogisticRegression(4.0, classes=NAMES)) for k in range(2)]
        assert set(VotingClassifier(members).fit(X, Y).predict(X)) <= set(NAMES)


# -- uses


@pytest.mark.parametrize("model", MODELS)
def test_a_saved_model_predicts_the_same(model, tmp_path):
    before = fitted(model)
    before.save(tmp_path / "model.json")
    after = privfit.load(tmp_path / "model.json")
    assert type(after) is model
    np.testing.assert_array_equal(after.decision_function(X), before.decision_function(X))
    np.testing.assert_array_equal(after.predict(X), before.predict(X))


def test_cross_validation_draws_on_one_ledger():
    ledger = Ledger(epsilon=3.0, delta=1e-6)
    model = DPLogisticRegression(1.0, classes=NAMES, feature_bounds=(0.0, 1.0), ledger=ledger)
    assert cross_val_score(model, X, Y, cv=3).mean() > 0.4
    assert len({entry.what for entry in ledger.entries}) >= 3


@pytest.mark.parametrize("model", MODELS)
def test_a_budget_of_next_to_nothing_learns_nothing(model):
    """With rho near 0 accuracy is that of chance: no path of the fit sees the data for nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        right = [
            model(1e-4, classes=range(3), noise="seeded", random_state=seed).fit(X, NUMBERS).score(X, NUMBERS)
            for seed in range(12)
        ]
    # the largest class's share is .4; the mean of 12 random models exceeds .55 with probability below 1e-3
    assert np.mean(right) < 0.55
