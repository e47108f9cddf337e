"""Regressors whose promise is about people with several records: by groups, and by the id of a schema."""

import numpy as np
import pytest

from privfit import DPHuberRegressor, DPLinearRegression, DPPoissonRegressor, DPQuantileRegressor, Schema
from privfit.schema import Identifier, NumberLabel, Numeric, Weight

REGRESSORS = (DPLinearRegression, DPHuberRegressor, DPQuantileRegressor, DPPoissonRegressor)
VISITS = 1_500
PEOPLE = np.arange(VISITS) // 3


def table():
    x = np.random.default_rng(0).uniform(0.0, 10.0, VISITS)
    return x, np.round(3.0 * x)


@pytest.mark.parametrize("declared", [{}, {"target_bounds": (0.0, 30.0), "feature_bounds": (0.0, 10.0)}])
@pytest.mark.parametrize("estimator", REGRESSORS)
def test_people_with_several_records_are_fitted_with_the_whole_budget(estimator, declared):
    x, y = table()
    model = estimator(2.0, rows_per_person=3, **declared).fit(x[:, None], y, groups=PEOPLE)
    assert np.isfinite(model.predict(x[:, None])).all()
    assert "number of people" in model.privacy_.spending
    assert model.ledger_.remaining < 0.01 * model.privacy_.rho


def test_a_schema_may_have_ids_weights_and_a_number_to_predict(tmp_path):
    x, y = table()
    visits = {"who": [f"p{i}" for i in PEOPLE], "x": x, "w": np.ones(VISITS), "y": y}
    columns = [Identifier("who", rows_per_person=3), Numeric("x", 0, 10), Weight("w", 2.0)]
    model = DPLinearRegression(2.0, schema=Schema(columns, NumberLabel("y", 0, 30))).fit(visits)
    assert np.isfinite(model.predict(visits)).all()
    model.save(tmp_path / "model.json")
