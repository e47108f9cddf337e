"""Weights of records in private scores: as in scikit-learn below a declared bound, and what is refused."""

import numpy as np
import pytest
import sklearn
from sklearn import metrics as exact
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_validate

from privfit import DPLogisticRegression, Ledger, PrivacyLeakError, metrics, strict
from privfit.leaks import PrivacyLeakWarning
from privfit.schema import Label, Numeric, Schema, Weight

pytestmark = [
    pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning"),
    pytest.mark.filterwarnings("ignore:Beware. the .* scores of this model:privfit.PrivacyLeakWarning"),
]

AMPLE = {"rho": 1e3, "noise": "seeded", "random_state": 0}
rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 2))
BINARY = (X[:, 0] + rng.logistic(size=3000) > 0).astype(int)
CLASSES = (X @ [[1.0, 0.0, -1.0], [0.0, 1.0, 0.5]] + rng.gumbel(size=(3000, 3))).argmax(axis=1)
NUMBERS = X[:, 0] + rng.normal(size=3000)
WEIGHTS = np.where(X[:, 1] > 0, 3.0, 0.5) * rng.random(3000)
LARGEST = 2.0
GIVEN = {"sample_weight": WEIGHTS, "max_weight": LARGEST}
COUNTED = np.minimum(WEIGHTS, LARGEST)  # what the weights count as


def test_weighted_scores_of_two_labels_are_those_of_scikit_learn():
    model = LogisticRegression().fit(X, BINARY)
    found = metrics.evaluate(model, X, BINARY, **GIVEN, **AMPLE)
    predicted, scores = model.predict(X), model.decision_function(X)
    weighted = {"sample_weight": COUNTED}
    assert found.accuracy.value == pytest.approx(
        exact.accuracy_score(BINARY, predicted, **weighted), abs=1e-3
    )
    low, high = found.roc_auc.interval
    assert low <= exact.roc_auc_score(BINARY, scores, **weighted) <= high
    matrix = exact.confusion_matrix(BINARY, predicted, **weighted)
    np.testing.assert_allclose(found.confusion_matrix.counts, matrix, atol=0.5)
    plain = metrics.evaluate(model, X, BINARY, **AMPLE)
    assert abs(plain.confusion_matrix.counts.sum() - 3000) < 1.0


def test_weighted_scores_of_classes_are_those_of_scikit_learn():
    model = LogisticRegression().fit(X, CLASSES)
    found = metrics.evaluate(model, X, CLASSES, **GIVEN, **AMPLE)
    predicted, weighted = model.predict(X), {"sample_weight": COUNTED}
    expected = exact.balanced_accuracy_score(CLASSES, predicted, **weighted)
    assert found.balanced_accuracy.value == pytest.approx(expected, abs=2e-3)
    chances = np.clip(model.predict_proba(X)[np.arange(3000), CLASSES], 0.01, 0.99)
    expected = np.average(-np.log(chances), weights=COUNTED)
    assert found.log_loss.value == pytest.approx(expected, abs=5e-3)


def test_weighted_scores_of_numbers_are_those_of_scikit_learn():
    model = LinearRegression().fit(X, NUMBERS)
    bounds = {"target_bounds": (-8.0, 8.0)}
    found = metrics.evaluate(model, X, NUMBERS, **GIVEN, **bounds, **AMPLE)
    expected = exact.r2_score(NUMBERS, model.predict(X), sample_weight=COUNTED)
    assert found.r2.value == pytest.approx(expected, abs=5e-3)
    alone = metrics.mean_absolute_error(model, X, NUMBERS, **GIVEN, **bounds, **AMPLE)
    expected = exact.mean_absolute_error(NUMBERS, model.predict(X), sample_weight=COUNTED)
    assert alone.value == pytest.approx(expected, abs=2e-3)


def test_negative_and_missing_weights_count_as_nothing():
    model = LogisticRegression().fit(X, BINARY)
    broken = np.where(np.arange(3000) % 3 == 0, np.nan, np.where(np.arange(3000) % 3 == 1, -7.0, 1.0))
    found = metrics.accuracy(model, X, BINARY, sample_weight=broken, max_weight=1.0, **AMPLE)
    kept = np.arange(3000) % 3 == 2
    assert found.value == pytest.approx(model.score(X[kept], BINARY[kept]), abs=1e-3)


def test_the_bound_is_that_of_the_model_unless_it_is_declared():
    ledger = Ledger(rho=1e5)
    settings = {"classes": (0, 1), "feature_bounds": (-4, 4), "n_records": 3000, "ledger": ledger}
    model = DPLogisticRegression(rho=0.1, max_weight=LARGEST, **settings).fit(X, BINARY, WEIGHTS)
    found = metrics.evaluate(model, X, BINARY, WEIGHTS, rho=0.1)
    assert "the largest weight, 2, is public" in found.privacy.text
    wider = metrics.evaluate(model, X, BINARY, WEIGHTS, max_weight=4.0, rho=0.1)
    assert "the largest weight, 4, is public" in wider.privacy.text
    assert wider.accuracy.noise > 1.5 * found.accuracy.noise


def test_an_undeclared_bound_is_read_off_with_a_warning_and_refused_in_strict_mode():
    model = LogisticRegression().fit(X, BINARY)
    with pytest.warns(PrivacyLeakWarning, match="The largest weight was taken from the data"):
        metrics.evaluate(model, X, BINARY, WEIGHTS, rho=0.1)
    ledger = Ledger(rho=1.0)
    with strict(), pytest.raises(PrivacyLeakError, match="The largest weight was taken from the data"):
        metrics.evaluate(model, X, BINARY, WEIGHTS, rho=0.1, ledger=ledger)
    assert ledger.spent == 0.0


def test_a_column_of_weights_is_read_as_the_schema_says():
    label = Label("ill", (0, 1))
    schema = Schema([Numeric("x", -4, 4), Numeric("z", -4, 4), Weight("pweight", LARGEST)], label)
    table = {"x": X[:, 0], "z": X[:, 1], "pweight": WEIGHTS, "ill": BINARY}
    model = DPLogisticRegression(rho=1.0, schema=schema, ledger=Ledger(rho=1e4)).fit(table)
    found = metrics.evaluate(model, table, rho=1e3)
    right = model.predict(table) == BINARY
    assert found.accuracy.value == pytest.approx(np.average(right, weights=COUNTED), abs=2e-3)
    assert "the largest weight, 2, is public" in found.privacy.text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sample_weight": WEIGHTS[:7]}, "X and sample_weight have inconsistent numbers of samples"),
        ({"sample_weight": ["John Smith"] * 3000}, "weights are numbers"),
        ({"max_weight": 0.0}, "max_weight must be a positive finite number"),
        ({"max_weight": np.inf}, "max_weight must be a positive finite number"),
    ],
)
def test_bad_weights_are_refused_before_a_charge(given, message):
    ledger, model = Ledger(rho=1.0), LogisticRegression().fit(X, BINARY)
    with pytest.raises(ValueError, match=message) as caught:
        metrics.evaluate(model, X, BINARY, **GIVEN | given, rho=0.1, ledger=ledger)
    assert "John Smith" not in str(caught.value)
    assert ledger.spent == 0.0


def test_the_population_has_the_variance_of_weighted_records():
    """Half of the records have weight 1 and half 0.2: the bound is at most a third too large."""
    model, weights = LogisticRegression().fit(X, BINARY), np.where(np.arange(3000) % 2, 1.0, 0.2)
    found = metrics.evaluate(model, X, BINARY, weights, max_weight=1.0, **AMPLE).accuracy
    right = model.predict(X) == BINARY
    spread = np.sqrt(np.sum((weights * (right - found.value)) ** 2)) / weights.sum()
    assert 1.0 <= (found.population[1] - found.population[0]) / (2 * 1.96 * spread) <= 1.35


def test_searches_hand_on_weights_where_they_are_asked_for():
    ledger, seen = Ledger(rho=1.0), []

    class Noting(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            seen.append(sample_weight is not None)
            return super().fit(X, y, sample_weight)

    scorer = metrics.make_scorer("accuracy", rho=0.1, max_weight=LARGEST, ledger=ledger)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = scorer.set_score_request(sample_weight=True)
        model = Noting().set_fit_request(sample_weight=True)
        found = cross_validate(model, X, BINARY, scoring=asking, params={"sample_weight": WEIGHTS}, cv=2)
    assert seen == [True, True]
    assert np.all(found["test_score"] > 0.6)
    with pytest.raises(TypeError, match="takes sample_weight and groups, not weight"):
        scorer.set_score_request(weight=True)
