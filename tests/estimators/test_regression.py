"""The base of regressors: targets between public bounds, weights in their units, the same promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_regressor
from toy_regressor import ToyRegressor  # noqa: F401  # a fixture

from privfit import BudgetExceeded, DPLogisticRegression, Ledger, Schema
from privfit.estimators.targets import IntervalEncoder
from privfit.metrics import accuracy
from privfit.schema import Label, NumberLabel, Numeric

TRUE = np.array([30.0, -20.0, 0.0])
BOUNDS = (-50.0, 250.0)
SETTINGS = {"target_bounds": BOUNDS, "feature_bounds": (-3.0, 3.0), "noise": "seeded", "random_state": 0}


def table(n=5_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 3))
    return X, 100.0 + X @ TRUE + rng.normal(0.0, 10.0, n)


@pytest.mark.parametrize("solver", ["adaptive", "gradient-descent", "nonprivate"])
def test_a_regressor_of_a_few_lines_is_fitted_in_the_units_of_its_targets(ToyRegressor, solver):  # noqa: F811
    X, y = table()
    settings = SETTINGS if solver != "nonprivate" else {"target_bounds": BOUNDS}
    model = ToyRegressor(20.0, solver=solver, **settings).fit(X, y)
    # over 12 seeds the standard deviation of an error was below 0.1
    np.testing.assert_allclose(model.coef_, TRUE, atol=1.5)
    np.testing.assert_allclose(model.intercept_, 100.0, atol=3.0)
    assert model.coef_.shape == (3,)
    assert is_regressor(model)
    np.testing.assert_array_equal(model.predict(X), X @ model.coef_ + model.intercept_)
    assert model.score(X, y) > 0.9


def test_a_model_without_an_intercept_leaves_zero_where_it_is(ToyRegressor):  # noqa: F811
    X, y = table()
    model = ToyRegressor(20.0, solver="gradient-descent", fit_intercept=False, **SETTINGS).fit(X, y - 100.0)
    np.testing.assert_allclose(model.coef_, TRUE, atol=8.0)  # over 12 seeds the largest error was 2.7
    assert model.intercept_ == 0.0


def test_the_statement_says_that_the_bounds_are_public_and_the_ledger_pays(ToyRegressor):  # noqa: F811
    ledger = Ledger(epsilon=2.0, delta=1e-5)
    model = ToyRegressor(1.0, ledger=ledger, **SETTINGS).fit(*table())
    assert "the bounds of the target, -50 and 250, are public" in str(model.privacy_)
    assert ledger.spent > 0.0
    assert clone(model).target_bounds == BOUNDS
    with pytest.raises(BudgetExceeded):
        ToyRegressor(2.0, 1e-5, ledger=ledger, **SETTINGS).fit(*table())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target_bounds": (1.0, 1.0)}, "low < high"),
        ({"target_bounds": (0.0, np.inf)}, "low < high"),
        ({"target_bounds": (0.0, np.nan)}, "low < high"),
        ({"target_bounds": 3.0}, "must be two numbers"),
        ({"target_bounds": ("a", "b")}, "must be two numbers"),
        ({"solver": "objective-perturbation"}, "needs targets that are two labels"),
        ({"solver": "approximate-minima-perturbation"}, "needs targets that are two labels"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_charged(ToyRegressor, settings, message):  # noqa: F811
    ledger = Ledger(epsilon=2.0, delta=1e-5)
    with pytest.raises(ValueError, match=message):
        ToyRegressor(1.0, ledger=ledger, **SETTINGS | settings).fit(*table(100))
    assert ledger.spent == 0.0


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array(["SECRET"] * 100), "y has dtype"),
        (np.where(np.arange(100) == 7, np.nan, 123456.0), "NaN or inf"),
        (np.zeros((100, 2)), "one number for each row"),
        (np.zeros(99), "inconsistent"),
        (None, "requires y"),
    ],
)
def test_targets_that_are_no_numbers_are_refused_without_quoting_one(ToyRegressor, y, message):  # noqa: F811
    ledger = Ledger(epsilon=2.0, delta=1e-5)
    with pytest.raises(ValueError, match=message) as refusal:
        ToyRegressor(1.0, ledger=ledger, **SETTINGS).fit(table(100)[0], y)
    assert "SECRET" not in str(refusal.value)
    assert "123456" not in str(refusal.value)
    assert ledger.spent == 0.0


@given(st.floats(-1e60, 1e60), st.floats(-1e60, 1e60), st.floats(allow_nan=False), st.booleans())
def test_no_code_is_beyond_one_whatever_is_rounded(one, other, y, intercept):
    low, high = sorted((one, other))
    if high - low >= 1e-60:
        assert abs(IntervalEncoder(low, high, intercept).encode(np.array([y]))[0]) <= 1.0


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("low", "high"), [(-50.0, 250.0), (0.1, 0.3), (-1e60, 1e60), (1e9, 1e9 + 1)])
def test_codes_are_between_minus_one_and_one_and_come_back(low, high, intercept):
    encoder = IntervalEncoder(low, high, intercept)
    y = np.array([low, high, low - 1.0, high + 1.0, -1e300, 1e300, 0.5 * low + 0.5 * high])
    codes = encoder.encode(y)
    assert np.abs(codes).max() <= 1.0
    if intercept:  # a model whose only weight is the intercept predicts it in the target's units
        back = np.array([encoder.in_units(np.array([0.0, code]))[-1] for code in codes])
    else:
        back = np.array([encoder.in_units(np.array([code]))[0] for code in codes])
    np.testing.assert_allclose(back, np.clip(y, low, high), rtol=1e-12)
    assert "public" in encoder.assumption


def test_scores_of_labels_are_not_bought_for_numbers(ToyRegressor):  # noqa: F811
    ledger = Ledger(epsilon=3.0, delta=1e-5)
    X, y = table(500)
    model = ToyRegressor(1.0, ledger=ledger, **SETTINGS).fit(X, y)
    spent = ledger.spent
    with pytest.raises(ValueError, match="accuracy is no score of ToyRegressor; its scores are r2, "):
        accuracy(model, X, y)
    assert ledger.spent == spent


# -- with a schema

PEOPLE = {"age": list(range(20, 80)) * 10, "cost": [f"${20 * age}" for age in range(20, 80)] * 10}


def schema_of(label):
    return Schema([Numeric("age", 0, 120)], label)


def test_a_schema_gives_the_targets_and_their_bounds(ToyRegressor):  # noqa: F811
    label = NumberLabel("cost", 0, 2000, unit="$", missing="drop")
    gaps = {"age": [*PEOPLE["age"], 50, 50], "cost": [*PEOPLE["cost"], "", "unknown"]}
    model = ToyRegressor(
        1.0, schema=schema_of(label), noise="seeded", random_state=1, solver="nonprivate"
    ).fit(gaps)
    assert model.target_bounds_ == (0.0, 2000.0)
    assert model.predict({"age": [30, 60]}) == pytest.approx([600, 1200], rel=0.05)
    assert model.score(gaps) > 0.98
    assert model.score(PEOPLE, [20.0 * age for age in PEOPLE["age"]]) > 0.98


@pytest.mark.parametrize(
    ("label", "settings", "message"),
    [
        (Label("cost", [0, 1]), {}, "The label 'cost' has classes, and ToyRegressor predicts numbers"),
        (NumberLabel("cost", 0, 9), {"target_bounds": (0, 9)}, "The schema declares target_bounds already"),
    ],
)
def test_a_schema_that_does_not_fit_the_model_is_refused(ToyRegressor, label, settings, message):  # noqa: F811
    ledger = Ledger(epsilon=1.0)
    with pytest.raises(ValueError, match=message):
        ToyRegressor(1.0, schema=schema_of(label), ledger=ledger, **settings).fit(PEOPLE)
    assert ledger.spent == 0


def test_classifiers_refuse_a_label_that_is_a_number():
    with pytest.raises(ValueError, match="The label 'cost' is a number, and DPLogisticRegression predicts"):
        DPLogisticRegression(schema=schema_of(NumberLabel("cost"))).fit(PEOPLE)
