"""Predictions do to a row what the fit did to it."""

import numpy as np
import pytest
from scipy import sparse

from privfit import DPLogisticRegression
from privfit.estimators.preparation import Preparation

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 3))
WEIGHTS = np.array([1.0, -2.0, 0.5])
BOUNDS = np.full(3, -0.5), np.array([0.5, 1.0, 2.0])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("unit_rows", [True, False])
@pytest.mark.parametrize("bounds", [None, BOUNDS])
def test_rows_are_clipped_and_then_scaled(form, bounds, unit_rows, intercept):
    clipped = X if bounds is None else np.clip(X, *bounds)
    expected = clipped @ WEIGHTS + 0.25 * intercept
    if unit_rows:
        expected /= np.sqrt((clipped**2).sum(axis=1) + intercept)
    scores = Preparation(bounds, intercept, unit_rows).scores(form(X), WEIGHTS, 0.25 * intercept)
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


def test_a_fitted_model_knows_its_preparation_whatever_becomes_of_its_settings():
    y = np.arange(50) % 2
    model = DPLogisticRegression(5.0, solver="objective-perturbation", feature_bounds=(-1, 1)).fit(X, y)
    assert model.preparation_.unit_rows
    assert model.preparation_.intercept
    np.testing.assert_array_equal(model.preparation_.bounds[1], np.ones(3))
    before = model.decision_function(X)
    model.set_params(fit_intercept=False, feature_bounds=None)
    np.testing.assert_array_equal(model.decision_function(X), before)
