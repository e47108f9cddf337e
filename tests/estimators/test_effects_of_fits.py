"""Fits with inference: centres, standard errors, references, refusals before a charge."""

import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from privfit import (
    DPHuberRegressor,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    Ledger,
)
from privfit.curator import Curator
from privfit.penalties import NonNegative
from privfit.schema import Categorical, Label, Numeric, Schema
from privfit.solvers import BudgetWarning

AMPLE = {
    "rho": 900.0,
    "noise": "seeded",
    "random_state": 0,
    "max_passes": 40,
}  # hardly any noise: what is left is arithmetic
REGIONS = ("east", "north", "south")
SCHEMA = Schema(
    [
        Numeric("age", 0.0, 100.0),
        Categorical("region", REGIONS, reference="north", missing="refuse"),
        Categorical("sex", ("f", "m"), missing="indicator"),
    ],
    label=Label("ill", ("no", "yes"), positive="yes"),
)


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.uniform(20.0, 80.0, n),
            "region": rng.choice(REGIONS, n),
            "sex": rng.choice(["f", "m", "x"], n, p=[0.5, 0.4, 0.1]),
        }
    )
    score = 0.03 * (table["age"] - 50.0) + 0.8 * (table["region"] == "south") - 0.5 * (table["sex"] == "m")
    table["ill"] = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-score)), "yes", "no")
    return table


def design(table):
    """Return the columns of the contrasts, the intercept last: region against north, sex against f."""
    columns = [table["age"] / 100.0, table["region"] == "east", table["region"] == "south"]
    columns += [table["sex"] == "m", table["sex"] == "x", np.ones(len(table))]
    return np.column_stack(columns).astype(float)


def logistic(X, y, alpha=0.0):
    """Return the maximum of the likelihood and the sandwich of its covariance."""
    signs = np.where(y, 1.0, -1.0)
    n = len(X)

    def objective(w):
        return np.logaddexp(0.0, -signs * (X @ w)).sum() + 0.5 * alpha * n * (w @ w)

    def gradient(w):
        return X.T @ (-signs / (1.0 + np.exp(signs * (X @ w)))) + alpha * n * w

    found = minimize(objective, np.zeros(X.shape[1]), jac=gradient, method="BFGS", options={"gtol": 1e-6})
    w = found.x
    p = 1.0 / (1.0 + np.exp(-(X @ w)))
    H = (X.T * (p * (1.0 - p))) @ X + alpha * n * np.eye(len(w))
    scores = (y - p)[:, None] * X
    return w, np.linalg.solve(H, np.linalg.solve(H, scores.T @ scores).T)


def test_without_noise_effects_are_those_of_the_likelihood_with_references_dropped():
    table = people(4000)
    model = DPLogisticRegression(schema=SCHEMA, inference=True, **AMPLE).fit(table)
    names = ("age", "region=east", "region=north", "region=south", "sex=f", "sex=m", "sex=other", "intercept")
    assert model.inference_.names == names
    assert model.inference_.is_reference.tolist() == [name in ("region=north", "sex=f") for name in names]
    w, covariance = logistic(design(table), (table["ill"] == "yes").to_numpy())
    free = ~model.inference_.is_reference
    centre = np.append(model.coef_, model.intercept_)
    # records longer than the radius count less, so both are estimates of the same, a little apart
    errors = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(centre[free] - w) < 0.5 * errors)
    np.testing.assert_allclose(model.std_err_[free], errors, rtol=0.1)
    np.testing.assert_allclose(centre, model.inference_.estimate)
    assert not centre[~free].any()
    assert model.conf_int()[~free].tolist() == [[0.0, 0.0]] * 2
    assert np.all(model.privacy_err_[free] < 0.01 * errors)
    np.testing.assert_allclose(np.sqrt(np.diag(model.covariance_)), model.std_err_)
    difference = model.inference_.effect([0, 1, 0, -1, 0, 0, 0, 0])
    a = np.array([0, 1, -1, 0, 0, 0])
    assert difference.std_err == pytest.approx(math.sqrt(a @ covariance @ a), rel=0.1)


def test_another_reference_says_the_same():
    table = people(4000)
    other = Schema(
        [*SCHEMA.features[:1], Categorical("region", REGIONS, missing="refuse"), SCHEMA.features[2]],
        label=SCHEMA.label,
    )
    one = DPLogisticRegression(schema=SCHEMA, inference=True, **AMPLE).fit(table)
    two = DPLogisticRegression(schema=other, inference=True, **AMPLE).fit(table)
    a = np.array([0, 0, -1, 1, 0, 0, 0, 0])  # south against north
    for first, second in zip(one.predict_proba(table)[:9, 1], two.predict_proba(table)[:9, 1], strict=True):
        assert first == pytest.approx(second, abs=1e-3)
    assert one.inference_.effect(a).estimate == pytest.approx(two.inference_.effect(a).estimate, abs=1e-3)
    assert one.inference_.effect(a).std_err == pytest.approx(two.inference_.effect(a).std_err, rel=1e-2)


def test_a_category_whose_missing_cells_have_no_level_counts_them_as_the_reference():
    fact = Categorical("sex", ("f", "m"))
    schema = Schema([*SCHEMA.features[:2], fact], label=SCHEMA.label)
    table = people(4000)
    model = DPLogisticRegression(schema=schema, inference=True, **AMPLE).fit(table)
    X = design(table)[:, [0, 1, 2, 3, 5]]
    w, covariance = logistic(X, (table["ill"] == "yes").to_numpy())
    free = ~model.inference_.is_reference
    errors = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(model.inference_.estimate[free] - w) < 0.5 * errors)
    np.testing.assert_allclose(model.std_err_[free], errors, rtol=0.1)


@pytest.mark.parametrize("intercept", [True, False])
def test_alpha_is_part_of_the_objective(intercept):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, size=(5000, 3))
    y = rng.random(5000) < 1.0 / (1.0 + np.exp(-(X @ [1.0, -0.5, 0.0])))
    settings = {"alpha": 0.05, "fit_intercept": intercept, "feature_bounds": (-1.0, 1.0)}
    model = DPLogisticRegression(n_records=5000, inference=True, **settings, **AMPLE).fit(X, y)
    w, covariance = logistic(np.column_stack([X, np.ones(5000)])[:, : 3 + intercept], y, alpha=0.05)
    errors = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(model.inference_.estimate - w) < 0.3 * errors)
    np.testing.assert_allclose(model.std_err_, errors, rtol=0.1)


def test_only_named_columns_are_judged():
    model = DPLogisticRegression(schema=SCHEMA, inference=["sex"], **AMPLE).fit(people(2000))
    judged = [effect.refused is None for effect in model.inference_.effects]
    assert judged == [False, False, True, False, True, True, True, False]  # references are 0 for nothing


# -- the budget ----------------------------------------------------------------------------------------------


def test_everything_is_paid_by_the_one_promise_and_named_in_the_statement():
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(20_000, 3))
    model = DPLogisticRegression(
        1.0, ledger=ledger, n_records=20_000, feature_bounds=(-1.0, 1.0), inference=True
    )
    model.fit(X, X[:, 0] + np.random.default_rng(1).logistic(size=20_000) > 0.0)
    assert 0.98 * ledger.rho < ledger.spent <= ledger.rho
    assert model.privacy_.epsilon == 1.0
    for words in ("gradient for the effects", "curvature for the effects", "squared scores for the effects"):
        assert words in str(model.privacy_)
    assert np.isfinite(model.conf_int()).all()


def test_a_fit_without_inference_has_no_intervals():
    model = DPLogisticRegression(1.0, feature_bounds=(-1.0, 1.0), n_records=100)
    model.fit(np.zeros((100, 2)), np.arange(100) % 2)
    with pytest.raises(AttributeError, match="set inference=True"):
        model.conf_int()
    assert not hasattr(model, "covariance_")


BINARY = {"classes": (0, 1), "feature_bounds": (-1.0, 1.0), "inference": True}


@pytest.mark.parametrize(
    ("kind", "settings", "why"),
    [
        (DPLinearSVC, {}, "not available for the hinge loss"),
        (DPLogisticRegression, {"constraint": NonNegative()}, "must stay in a set"),
        (DPLogisticRegression, {"solver": "gradient-descent"}, "solvers adaptive and newton"),
        (DPLogisticRegression, {"inference": ["height"]}, "'height', which is no column"),
        (DPLogisticRegression, {"inference": "x0"}, "inference must be True, False or a list"),
        (DPLogisticRegression, {"inference": [1]}, "each of them a text"),
    ],
)
def test_what_is_not_known_is_refused_before_a_charge(kind, settings, why):
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    X = np.linspace(-1.0, 1.0, 100).reshape(50, 2)
    with pytest.raises(ValueError, match=why):
        kind(1.0, ledger=ledger, **BINARY | settings).fit(X, np.arange(50) % 2)
    assert not ledger.entries


def of_records(n, epsilon=1.0, **settings):
    """Fit records with four columns that are not related, with a declared number of records."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(n, 4))
    settings |= {"n_records": n, "feature_bounds": (-1.0, 1.0), "inference": True}
    settings |= {"noise": "seeded", "random_state": 0}
    return DPLogisticRegression(epsilon, delta=1e-6, **settings).fit(X, X[:, 0] + rng.logistic(size=n) > 0.0)


def advised(message):
    """Return the number of records and the epsilon that a message says would do."""
    records, epsilon = re.search(r"related, ([\d,]+) records .* epsilon = ([\d.]+)", message).groups()
    return int(records.replace(",", "")), float(epsilon)


def test_far_too_few_declared_records_are_refused_before_a_charge_with_what_would_do():
    """What it says would do is answered without a warning. Seeds are fixed, so there is no false alarm."""
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    with pytest.raises(ValueError, match="standard errors of 5 effects: nearly all would") as refusal:
        of_records(500, ledger=ledger)
    assert not ledger.entries
    n, epsilon = advised(str(refusal.value))
    assert 1000 < n < 4000
    with warnings.catch_warnings():
        warnings.simplefilter("error", BudgetWarning)
        assert np.isfinite(of_records(n).conf_int()).all()
        assert np.isfinite(of_records(500, epsilon).conf_int()).all()


def test_few_declared_records_are_warned_of_before_a_charge_with_what_would_do():
    """If warnings are errors, nothing is charged. The seeds are fixed, so there is no false alarm."""
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", BudgetWarning)
        with pytest.raises(BudgetWarning, match="5 effects: many of them may be refused") as warning:
            of_records(900, ledger=ledger)
        assert not ledger.entries
        n, epsilon = advised(str(warning.value))
        assert np.isfinite(of_records(n).conf_int()).all()
        assert np.isfinite(of_records(900, epsilon).conf_int()).all()
    with pytest.warns(BudgetWarning, match="many of them may be refused"):
        of_records(900, ledger=ledger)
    assert ledger.entries


def test_far_too_few_records_of_people_are_refused_before_a_charge():
    """A person with two records has twice the influence, so twice as many records are needed."""
    ledger = Ledger(epsilon=1.0, delta=1e-6, person_id="patient")
    settings = {"ledger": ledger, "feature_bounds": (-1.0, 1.0), "n_records": 500, "inference": True}
    X, people = np.linspace(-1.0, 1.0, 2000).reshape(500, 4), pd.Series(np.arange(500) // 2, name="patient")
    y = np.arange(500) % 2
    with pytest.raises(ValueError, match="standard errors of 5 effects: nearly all would") as refusal:
        DPLogisticRegression(1.0, rows_per_person=2, **settings).fit(X, y, groups=people)
    assert not ledger.entries
    of_people, _ = advised(str(refusal.value))
    with pytest.raises(ValueError, match="nearly all would") as refusal:
        of_records(300)
    assert of_people == pytest.approx(2 * advised(str(refusal.value))[0], abs=1)


def test_a_number_of_records_that_is_bought_and_far_too_small_is_warned_of():
    X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(100, 4))
    model = DPLogisticRegression(1.0, feature_bounds=(-1.0, 1.0), inference=True)
    with pytest.warns(BudgetWarning, match="nearly all would be refused"):
        model.fit(X, np.arange(100) % 2)
    assert np.isnan(model.conf_int()).mean() > 0.5


def test_curves_are_refused_before_a_charge():
    ledger = Ledger(epsilon=1.0, delta=1e-6)
    with pytest.raises(ValueError, match="a curve has many weights"):
        DPLogisticRegression(1.0, schema=SCHEMA, curves=3, inference=True, ledger=ledger).fit(people(500))
    assert not ledger.entries


# -- numbers and counts --------------------------------------------------------------------------------------


def numbers(n=6000):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, size=(n, 3))
    return X, 50.0 + 10.0 * (X @ [1.0, -0.5, 0.0]) + 5.0 * rng.normal(size=n), rng


def sandwich(rows, slopes, curvatures):
    H = (rows.T * curvatures) @ rows
    scores = slopes[:, None] * rows
    return np.sqrt(np.diag(np.linalg.solve(H, np.linalg.solve(H, scores.T @ scores).T)))


@pytest.mark.parametrize("kind", [DPLinearRegression, DPHuberRegressor])
def test_without_noise_effects_of_numbers_are_those_of_least_squares_in_their_units(kind):
    X, y, _ = numbers()
    model = kind(inference=True, target_bounds=(20.0, 80.0), feature_bounds=(-1.0, 1.0), **AMPLE).fit(X, y)
    rows = np.column_stack([X, np.ones(len(X))])
    w = np.linalg.lstsq(rows, y, rcond=None)[0]
    errors = sandwich(rows, rows @ w - y, np.ones(len(y)))
    assert np.all(np.abs(model.inference_.estimate - w) < errors)
    # Huber's estimate of normal residuals has 3% larger errors
    np.testing.assert_allclose(model.std_err_, errors, rtol=0.1)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), model.inference_.estimate)


def test_without_noise_effects_of_counts_are_those_of_the_likelihood():
    X, _, rng = numbers()
    y = rng.poisson(np.exp(0.5 + X @ [0.5, -0.3, 0.0]))
    # V's noise grows with the square of the bound of counts. The largest count is 10; with a bound of 15 the
    # standard errors vary by 2%, with 30 by up to 10%, so that the tolerance is five standard deviations.
    settings = AMPLE | {"target_bounds": (0.0, 15.0), "feature_bounds": (-1.0, 1.0)}
    model = DPPoissonRegressor(inference=True, **settings)
    model.fit(X, y)
    rows, w = np.column_stack([X, np.ones(len(X))]), np.zeros(4)
    for _ in range(20):
        mean = np.exp(rows @ w)
        w -= np.linalg.solve((rows.T * mean) @ rows, rows.T @ (mean - y))
    errors = sandwich(rows, mean - y, mean)
    assert np.all(np.abs(model.inference_.estimate - w) < 0.5 * errors)
    np.testing.assert_allclose(model.std_err_, errors, rtol=0.1)


@pytest.mark.parametrize("kind", [DPLinearRegression, DPPoissonRegressor])
@pytest.mark.parametrize("people", [False, True], ids=["records", "people"])
def test_effects_are_answered_at_every_epsilon_however_wide_the_bounds_of_targets_are(kind, people):
    """The noise of V is a third of the gradient's part of the variance, so that it refuses no effect.

    With a fixed share for V it is two thirds at epsilon 4. The seeds are fixed, so there is no false alarm.
    """
    X, y, rng = numbers(10_000)
    bounds, settings = (-450.0, 550.0), {"rows_per_person": 2} if people else {}
    if kind is DPPoissonRegressor:
        y, bounds = rng.poisson(np.exp(0.5 + X @ [0.5, -0.3, 0.0])), (0.0, 100.0)
    for epsilon in (2.0, 4.0, 8.0):
        model = kind(
            epsilon,
            1e-6,
            noise="seeded",
            random_state=1,
            feature_bounds=(-1.0, 1.0),
            target_bounds=bounds,
            n_records=len(y),
            inference=True,
            **settings,
        )
        found = model.fit(X, y, groups=np.arange(len(y)) // 2 if people else None).inference_
        assert found.sigma_spread == pytest.approx(found.sigma_gradient**2 / 3.0, rel=1e-3)
        assert [effect.refused for effect in found.effects] == [None] * 4


def test_weights_of_records_are_part_of_the_objective():
    X, y, rng = numbers()
    weights = rng.uniform(0.0, 4.0, len(y))
    model = DPLinearRegression(
        inference=True, target_bounds=(20.0, 80.0), feature_bounds=(-1.0, 1.0), max_weight=4.0, **AMPLE
    )
    model.fit(X, y, sample_weight=weights)
    rows = np.column_stack([X, np.ones(len(X))])
    w = np.linalg.solve((rows.T * weights) @ rows, rows.T @ (weights * y))
    errors = sandwich(rows, weights * (rows @ w - y), weights)
    assert np.all(np.abs(model.inference_.estimate - w) < 0.5 * errors)
    np.testing.assert_allclose(model.std_err_, errors, rtol=0.1)


def test_scores_of_a_persons_records_are_added_before_they_are_squared():
    """Standard errors are those of a sandwich by clusters; if records were people they would be too small."""
    rng = np.random.default_rng(4)
    people, k = 2000, 3
    own = rng.normal(size=people)
    X = np.repeat(rng.uniform(-1.0, 1.0, size=(people, 2)), k, axis=0)
    y = 50.0 + 10.0 * X[:, 0] + 4.0 * np.repeat(own, k) + 2.0 * rng.normal(size=people * k)
    groups = np.repeat(np.arange(people), k)
    model = DPHuberRegressor(
        inference=True, target_bounds=(20.0, 80.0), feature_bounds=(-1.0, 1.0), rows_per_person=k, **AMPLE
    )
    model.fit(X, y, groups=groups)
    rows = np.column_stack([X, np.ones(len(X))])
    w = np.linalg.lstsq(rows, y, rcond=None)[0]
    inverse = np.linalg.inv(rows.T @ rows)
    sums = np.add.reduceat((rows @ w - y)[:, None] * rows, np.arange(0, len(y), k), axis=0)
    errors = np.sqrt(np.diag(inverse @ sums.T @ sums @ inverse))
    assert np.all(np.abs(model.inference_.estimate - w) < errors)
    np.testing.assert_allclose(model.std_err_, errors, rtol=0.15)
    naive = sandwich(rows, rows @ w - y, np.ones(len(y)))
    assert np.all(naive < 0.7 * model.std_err_)


def test_the_solver_and_the_last_steps_are_paid_for_by_one_promise(monkeypatch):
    """All that the curator charges, to whichever ledger, adds up to what the fit promises."""
    paid, charge = [], Curator._charge

    def counting(self, rho, delta=0.0, **entry):
        paid.append(rho)
        charge(self, rho, delta, **entry)

    monkeypatch.setattr(Curator, "_charge", counting)
    rows = np.random.default_rng(0).normal(size=(3000, 2))
    public = {"classes": (False, True), "feature_bounds": (-4.0, 4.0), "n_records": 3000}
    model = DPLogisticRegression(8.0, inference=True, **public).fit(rows, rows[:, 0] > 0.0)
    assert sum(paid) == pytest.approx(model.privacy_.promise.rho, rel=1e-6)
    assert sum(model.ledger_.spending().values()) == pytest.approx(sum(paid), rel=1e-6)
