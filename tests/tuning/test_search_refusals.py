"""What a search refuses, in one sentence and before anything is charged."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from privfit import (
    DPHuberRegressor,
    DPLinearClassifier,
    DPLinearRegression,
    DPLinearRegressor,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    DPSearchCV,
    Ledger,
    metrics,
)
from privfit.estimators.base import DPLinearModel
from privfit.models.registry import MODELS
from privfit.tuning.candidates import PRIVACY, TRIED

X = np.random.default_rng(0).normal(size=(200, 2))
Y = (X[:, 0] > 0).astype(int)
PUBLIC = {"classes": (0, 1), "feature_bounds": (-4, 4)}
GRID = {"alpha": [0.0, 0.1]}

# Settings that no search may try, with the reason. A new setting of an estimator has to be put here, or into
# `candidates.TRIED` if it changes nothing about what is promised, what is public and what is predicted.
FIXED = {
    "what is public about the table": {
        *("schema", "classes", "n_records", "feature_bounds", "target_bounds", "max_weight", "mean_weight"),
        "rows_per_person",
    },
    "what is predicted, or said of it": {"quantile", "loss", "inference"},
    "what is printed": {"verbose"},
}


def refused(message, estimator=None, grid=None, X=X, y=Y, groups=None, **settings):
    ledger = Ledger(epsilon=5.0)
    model = DPLogisticRegression(**PUBLIC) if estimator is None else estimator
    search = DPSearchCV(model, GRID if grid is None else grid, **{"ledger": ledger, **settings})
    with pytest.raises(ValueError, match=message) as raised:
        search.fit(X, y, groups=groups)
    assert ledger.spent == 0.0
    assert ledger.entries == ()
    sentence = str(raised.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence


@pytest.mark.parametrize("model", sorted(MODELS))
def test_it_is_decided_of_every_setting_whether_it_may_be_tried(model):
    settings = set(MODELS[model].estimator().get_params(deep=False))
    unknown = settings - {*TRIED, *PRIVACY}.union(*FIXED.values())
    assert not unknown, "say in FIXED, or in candidates.TRIED, whether a search may try it"
    assert not set(TRIED) & {*PRIVACY}.union(*FIXED.values())


@pytest.mark.parametrize("name", PRIVACY)
def test_settings_that_decide_what_is_promised_are_not_tried(name):
    refused(f"param_grid names {name}, which decides what is promised", grid={name: [1, 2]})


@pytest.mark.parametrize("name", ["classes", "n_records", "schema", "feature_bounds", "verbose"])
def test_what_is_public_is_not_tried(name):
    refused(f"param_grid names {name}, which says what is public", grid={name: [1, 2]})


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"strength": [1, 2]}, "grid names 'strength', which is no setting of a logistic regression"),
        ({"solver__steps": [1, 2]}, "which is no setting"),
        ({"alpha": 0.1}, "grid must name settings with a list of values"),
        ({"alpha": "0.1"}, "grid must name settings with a list of values"),
        ("alpha", "grid must name settings"),
        (None, "grid must name settings"),
        ({}, "2 to 100 settings to choose among, got 1"),
        ({"alpha": [0.0]}, "2 to 100 settings to choose among, got 1"),
        ({"alpha": np.linspace(0, 1, 101)}, "2 to 100 settings to choose among, got 101"),
        ({"alpha": [0.1, 0, 0.0]}, "param_grid names alpha = 0.0 twice, and every fit costs privacy budget"),
        ([{"alpha": [0.0, 0.1]}, {"alpha": [np.float64(0.1)]}], "param_grid names alpha = 0.1 twice"),
        (
            {"weight_shrinkage": [0.0, 0.5]},
            "weight_shrinkage, and the records have no weights; give sample_w",
        ),
        ({"alpha": [0.0, -1.0]}, "alpha must be a non-negative"),
        ({"alpha": [0.0, "a"]}, "alpha must be a non-negative"),
        ({"curves": [None, True]}, "schema"),
        ({"solver": ["adaptive", "sgd"]}, "solver"),
        ({"solver": ["adaptive", "nonprivate"]}, "promises no privacy"),
        ({"solver": ["adaptive", "objective-perturbation"]}, "one release with a proof of its own"),
        ({"class_weight": [None, {7: 2.0}]}, "class_weight names 7"),
        ({"start": [None, ([1.0], 0.0)]}, "start"),
    ],
)
def test_a_grid_that_cannot_be_tried_is_refused(grid, message):
    given = grid if grid is not None else 7
    refused(message, grid=given)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LogisticRegression(), "one of privfit's own models, not of LogisticRegression"),
        (DPLogisticRegression, "not of DPLogisticRegression"),
        (make_pipeline(StandardScaler(), DPLogisticRegression()), "not of Pipeline"),
        (DPLogisticRegression(1.0, **PUBLIC), "epsilon is a setting of DPSearchCV"),
        (DPLogisticRegression(delta=1e-9, **PUBLIC), "delta is a setting of DPSearchCV"),
        (DPLogisticRegression(rho=0.1, **PUBLIC), "rho is a setting of DPSearchCV"),
        (DPLogisticRegression(ledger=Ledger(epsilon=1.0), **PUBLIC), "ledger is a setting of DPSearchCV"),
        (DPLogisticRegression(noise="seeded", **PUBLIC), "noise is a setting of DPSearchCV"),
        (DPLogisticRegression(random_state=0, **PUBLIC), "random_state is a setting of DPSearchCV"),
        (DPLogisticRegression(inference=True, **PUBLIC), "After a search there are no intervals"),
    ],
)
def test_an_estimator_that_says_what_the_search_says_is_refused(estimator, message):
    refused(message, estimator)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scoring": "accuracy"}, "scoring of a logistic regression must be one of log_loss, brier_score"),
        ({"scoring": "mean_absolute_error"}, "scoring of a logistic regression must be one of"),
        ({"scoring": print}, "got a builtin_function_or_method"),
        ({"clip": 0.0}, "clip must be a positive"),
        ({"clip": 2.0}, "clip must be at most 1"),
        ({"held_out": 0.0}, "held_out must be a positive"),
        ({"held_out": 0.9}, "held_out must be at most 0.5"),
        ({"log_loss_clip": 0.5}, "log_loss_clip must be at most 0.25"),
        ({"refit": "accuracy"}, "refit must be True or False"),
        ({"epsilon": -1.0}, "epsilon must be a positive"),
        ({"epsilon": 1.0, "rho": 0.1}, "two ways to state one privacy budget"),
        ({"noise": "none"}, "noise must be"),
        ({"ledger": "people.db"}, "ledger must be a privfit.Ledger"),
        ({"groups": np.arange(200)}, "set rows_per_person"),
        ({"y": None}, "requires y to be passed"),
        ({"y": Y[:-1]}, "inconsistent numbers of samples"),
        ({"y": np.where(Y, "a", "b")}, "labels that are not in classes"),
        ({"X": X[:, :0]}, "feature"),
        ({"X": np.where(X > 2.5, np.nan, X)}, "X contains NaN or inf"),
        ({"X": X[:1], "y": Y[:1]}, "too few records"),
    ],
)
def test_other_settings_and_tables_are_refused(settings, message):
    refused(message, **settings)


@pytest.mark.parametrize(
    ("model", "offered"),
    [
        (DPLinearSVC, "hinge_loss, zero_one_loss"),
        (DPLinearClassifier, "hinge_loss, zero_one_loss"),
        (DPLinearRegression, "mean_absolute_error, mean_squared_error"),
        (DPHuberRegressor, "mean_absolute_error, mean_squared_error"),
        (DPLinearRegressor, "mean_absolute_error, mean_squared_error"),
        (DPPoissonRegressor, "mean_absolute_error, mean_squared_error, mean_poisson_deviance"),
        (DPQuantileRegressor, "mean_absolute_error, mean_squared_error, mean_pinball_loss"),
    ],
)
def test_losses_of_other_kinds_of_models_are_refused(model, offered):
    assert issubclass(model, DPLinearModel)
    refused(f"scoring of {model()._noun} must be one of {offered}, got 'r2'", model(), scoring="r2")


def test_a_search_that_was_not_fitted_cannot_be_scored():
    with pytest.raises(ValueError, match="not fitted yet"):
        metrics.accuracy(DPSearchCV(DPLogisticRegression(**PUBLIC), GRID), X, Y, rho=0.1)


def test_the_settings_are_given_once_by_either_of_two_names():
    for named in ({"param_grid": GRID}, {"grid": GRID}):
        DPSearchCV(DPLogisticRegression(**PUBLIC), **named).check()
    for named in ({}, {"param_grid": GRID, "grid": GRID}):
        with pytest.raises(ValueError, match="needs the settings to try, once: param_grid="):
            DPSearchCV(DPLogisticRegression(**PUBLIC), **named).check()
