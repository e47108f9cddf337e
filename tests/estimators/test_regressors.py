"""The four regressors: with bounds or with nothing declared, settings, refusals."""

import numpy as np
import pytest

from privfit import (
    DPHuberRegressor,
    DPLinearRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    Ledger,
)
from privfit.estimators.regression import LinearRegressor

TRUE = np.array([30.0, -20.0, 0.0])
REGRESSORS = (DPLinearRegression, DPHuberRegressor, DPQuantileRegressor, DPPoissonRegressor)


def table(n=5_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 3))
    return X, 100.0 + X @ TRUE + rng.normal(0.0, 10.0, n)


def counts_or_numbers(model, n=3_000, seed=0):
    X, y = table(n, seed)
    return X, np.maximum(np.round(y / 20.0), 0.0) if model is DPPoissonRegressor else y


@pytest.mark.parametrize("model", REGRESSORS)
@pytest.mark.parametrize("declared", [{}, {"target_bounds": (0.0, 300.0), "feature_bounds": (-3.0, 3.0)}])
def test_regressors_learn_with_nothing_declared_and_with_bounds(model, declared):
    """Over 20 seeds the least score was .77 at epsilon 4, without privacy it is .86 to .95."""
    X, y = counts_or_numbers(model)
    fitted = model(4.0, noise="seeded", random_state=0, **declared).fit(X, y)
    assert fitted.score(X, y) > 0.6
    assert fitted.coef_.shape == (3,)
    assert np.ndim(fitted.intercept_) == 0
    low, high = fitted.target_bounds_
    if declared:
        assert (low, high) == (0.0, 300.0)
        assert "300, is public" in str(fitted.privacy_) or "0 and 300, are public" in str(fitted.privacy_)
    else:
        assert high == 2.0 ** np.ceil(np.log2(high))
        assert "bought with a part of the privacy budget" in str(fitted.privacy_)


@pytest.mark.parametrize("model", REGRESSORS)
def test_every_regressor_takes_the_settings_of_all(model):
    """Those with a setting of their own write all of them out."""
    assert set(LinearRegressor._get_param_names()) <= set(model._get_param_names())
    settings = {name: object() for name in model._get_param_names()}
    assert model(**settings).get_params(deep=False) == settings


@pytest.mark.parametrize(
    ("model", "settings", "message"),
    [
        (DPHuberRegressor, {"tau": 0.0}, "tau"),
        (DPHuberRegressor, {"tau": np.nan}, "tau"),
        (DPQuantileRegressor, {"quantile": 1.0}, "quantile must lie between 0.001 and 0.999"),
        (DPQuantileRegressor, {"quantile": 0.0}, "quantile"),
        (DPPoissonRegressor, {"fit_intercept": False}, "needs an intercept"),
        (DPPoissonRegressor, {"target_bounds": (-1.0, 5.0)}, "must not be negative"),
    ],
)
def test_bad_settings_of_one_regressor_are_refused_before_anything_is_charged(model, settings, message):
    ledger = Ledger(epsilon=2.0, delta=1e-5)
    with pytest.raises(ValueError, match=message):
        model(1.0, ledger=ledger, **settings).fit(*counts_or_numbers(model, 100))
    assert ledger.spent == 0.0


@pytest.mark.parametrize("model", REGRESSORS)
def test_every_regressor_has_the_settings_of_all(model):
    """The command line gives them to whichever model is trained."""
    assert set(LinearRegressor().get_params()) <= set(model().get_params())
