"""Fitted regressors are saved, loaded and converted: predictions are equal bit for bit, or to 1e-9."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

import privfit
from privfit import (
    DPHuberRegressor,
    DPLinearRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    Schema,
)
from privfit.publication import json_schema
from privfit.publication.numpy_file import numpy_source
from privfit.publication.onnx import to_onnx
from privfit.schema import Categorical, CountLabel, NumberLabel, Numeric

COLUMNS = [Numeric("age", 20, 80, curve=3), Categorical("town", ["Basel", "Bern"], missing="indicator")]
BOUNDED, BOUGHT = NumberLabel("cost", 0, 900, unit="$"), NumberLabel("cost")
CASES = {
    "linear": (DPLinearRegression, {}, BOUNDED),
    "linear, bought": (DPLinearRegression, {}, BOUGHT),
    "huber": (DPHuberRegressor, {"tau": 2.0}, BOUGHT),
    "quantile": (DPQuantileRegressor, {"quantile": 0.8}, BOUNDED),
    "poisson": (DPPoissonRegressor, {}, CountLabel("cost", 40)),
    "poisson, bought": (DPPoissonRegressor, {}, CountLabel("cost")),
}


def table(n=800):
    rng = np.random.default_rng(0)
    age, town = rng.uniform(10, 90, n), rng.choice(["Basel", "Bern", "?"], n)
    return pd.DataFrame({"age": age, "town": town, "cost": np.round(0.4 * age + 3 * (town == "Bern"))})


@pytest.fixture(scope="module", params=CASES)
def case(request):
    estimator, settings, label = CASES[request.param]
    schema = Schema(COLUMNS, label)
    return estimator(2.0, schema=schema, noise="seeded", random_state=0, **settings).fit(table()), settings


def test_a_loaded_model_predicts_the_same_bit_for_bit(case, tmp_path):
    model, settings = case
    model.save(tmp_path / "model.json")
    written = json.loads((tmp_path / "model.json").read_text())
    Draft202012Validator(json_schema()).validate(written)
    loaded = privfit.load(tmp_path / "model.json")
    assert type(loaded) is type(model)
    assert np.array_equal(loaded.predict(table()), model.predict(table()))
    assert loaded.target_bounds_ == model.target_bounds_
    assert loaded.get_params()["schema"] == model.schema_  # with the edges that the fit wrote out
    assert {name: getattr(loaded, name) for name in settings} == settings
    assert loaded.privacy_.text == model.privacy_.text
    assert loaded.score(table()) == model.score(table())
    assert str(loaded.weights_) == str(model.weights_)
    loaded.save(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == written
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(table()), model.predict(table()))


def test_entries_that_nobody_knows_yet_are_ignored(case, tmp_path):
    model, _ = case
    model.save(tmp_path / "model.json")
    written = json.loads((tmp_path / "model.json").read_text())
    written |= {"intervals": [1], "settings": written.get("settings", {}) | {"later": 3.0}}
    (tmp_path / "model.json").write_text(json.dumps(written))
    loaded = privfit.load(tmp_path / "model.json")
    assert np.array_equal(loaded.predict(table()), model.predict(table()))


def test_other_programs_predict_the_same_clipping_included(case):
    model, _ = case
    frame = table()[["age", "town"]]
    frame.loc[:2, "age"] = [500.0, -500.0, np.nan]
    expected = model.predict(frame)
    np.testing.assert_allclose(model.to_sklearn().predict(frame), expected, rtol=1e-12)
    module = {}
    exec(numpy_source(model.published()), module)
    np.testing.assert_allclose(module["predict"](frame.to_dict("list")), expected, rtol=1e-12)
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(to_onnx(model.published()))
    columns = {"age": frame[["age"]].to_numpy(), "town": frame[["town"]].astype(object).to_numpy()}
    np.testing.assert_allclose(session.run(None, columns)[0], expected, rtol=1e-12)
