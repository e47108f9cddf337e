"""What regressors take as targets and as a loss, and what becomes of a declared start at a tiny budget."""

from decimal import Decimal

import numpy as np
import pytest

from privfit import DPLinearClassifier, DPLinearRegression, DPLinearRegressor, DPPoissonRegressor

rng = np.random.default_rng(0)
X = rng.uniform(-1.0, 1.0, (300, 2))
Y = np.round(10.0 + 3.0 * X[:, 0], 2)
SEEDED = {"noise": "seeded", "random_state": 0, "feature_bounds": (-1.0, 1.0), "n_records": 300}


def test_decimals_and_objects_that_are_numbers_are_numbers():
    exact = np.array([Decimal(str(number)) for number in Y], dtype=object)
    settings = SEEDED | {"target_bounds": (0.0, 20.0)}
    fits = [DPLinearRegression(1.0, **settings).fit(X, y) for y in (Y, exact, list(exact), Y.astype(object))]
    for fitted in fits[1:]:
        np.testing.assert_array_equal(fitted.coef_, fits[0].coef_)


@pytest.mark.parametrize("text", [Y.astype(str), np.append(Y[1:].astype(object), "10")], ids=["all", "one"])
def test_text_is_refused_in_a_sentence_that_says_what_to_do(text):
    with pytest.raises(ValueError, match=r"^y has dtype \w+, and a regression predicts numbers: convert it"):
        DPLinearRegression(1.0, **SEEDED).fit(X, text)


def test_an_unknown_loss_is_refused_with_the_names_that_are_known_and_the_models_of_others():
    names = "'quantile_0.5', 'quantile_0.9', 'smoothed_quantile_0.5_0.25', 'squared'"
    with pytest.raises(ValueError, match="got 'huber'; DPHuberRegressor, DPQuantileRegressor and") as refused:
        DPLinearRegressor(1.0, loss="huber", **SEEDED).fit(X, Y)
    assert f"or one of 'huber_1.345', 'poisson', {names}, got" in str(refused.value)
    with pytest.raises(ValueError, match="or one of 'hinge', 'logistic', 'smoothed_hinge', got 'log'"):
        DPLinearClassifier(1.0, loss="log", classes=(0, 1), **SEEDED).fit(X, Y > 10.0)


@pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")
@pytest.mark.parametrize("model", [DPLinearRegression, DPPoissonRegressor])
def test_a_budget_that_buys_only_a_constant_keeps_a_declared_start(model):
    """300 records at epsilon .1 have a reach of 9; below 25 nothing but a constant is bought."""
    start = np.array([3.0, 0.5]), 1.5
    fitted = model(0.1, target_bounds=(0.0, 40.0), start=start, **SEEDED).fit(X, Y)
    np.testing.assert_allclose(fitted.coef_, start[0], rtol=1e-12)
    assert fitted.intercept_ == pytest.approx(start[1], rel=1e-12)
    assert "the declared start was kept" in str(fitted.privacy_.notes)
