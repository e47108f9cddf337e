"""Fitted classifiers of several classes are saved, loaded and converted, and predict the same."""

import json

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

import privfit
from privfit import DPLinearSVC, DPLogisticRegression, Schema
from privfit.publication import json_schema
from privfit.publication.numpy_file import numpy_source
from privfit.publication.onnx import to_onnx
from privfit.schema import Categorical, Label, Numeric

WARDS = ["surgery", "general", "short stay"]
SCHEMA = Schema(
    [Numeric("age", 20, 80), Categorical("town", ["Basel", "Bern"], missing="indicator")],
    Label("ward", WARDS, missing="drop"),
)


def table(n=800):
    rng = np.random.default_rng(0)
    age, town = rng.uniform(10, 90, n), rng.choice(["Basel", "Bern", "?"], n)
    ward = np.where(age > 65, "surgery", np.where(town == "Bern", "general", "short stay")).astype(object)
    ward[::40] = None
    return pd.DataFrame({"age": age, "town": town, "ward": ward})


@pytest.fixture(scope="module", params=[DPLogisticRegression, DPLinearSVC])
def model(request):
    return request.param(4.0, schema=SCHEMA, noise="seeded", random_state=0).fit(table())


def test_a_loaded_model_predicts_the_same_bit_for_bit(model, tmp_path):
    model.save(tmp_path / "model.json")
    written = json.loads((tmp_path / "model.json").read_text())
    Draft202012Validator(json_schema()).validate(written)
    assert written["target"] == {"type": "classes", "classes": sorted(WARDS)}
    loaded = privfit.load(tmp_path / "model.json")
    assert type(loaded) is type(model)
    assert np.array_equal(loaded.decision_function(table()), model.decision_function(table()))
    assert np.array_equal(loaded.predict(table()), model.predict(table()))
    assert loaded.score(table()) == model.score(table()) > 0.6
    assert loaded.privacy_.text == model.privacy_.text
    assert "the labels general, short stay and surgery are public" in model.privacy_.text
    assert str(loaded.weights_) == str(model.weights_)
    assert loaded.weights_.classes == tuple(sorted(WARDS))
    loaded.save(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == written


def test_a_file_with_other_classes_than_its_schema_is_refused(model, tmp_path):
    model.save(tmp_path / "model.json")
    written = json.loads((tmp_path / "model.json").read_text())
    written["target"]["classes"][0] = "intensive"
    (tmp_path / "model.json").write_text(json.dumps(written))
    with pytest.raises(ValueError, match="its classes are not those of its schema"):
        privfit.load(tmp_path / "model.json")


def test_other_programs_predict_the_same_clipping_included(model):
    frame = table()[["age", "town"]]
    frame.loc[:2, "age"] = [500.0, -500.0, np.nan]
    labels, scores = model.predict(frame), model.decision_function(frame)
    plain = model.to_sklearn()
    assert np.array_equal(plain.predict(frame), labels)
    np.testing.assert_allclose(plain.decision_function(frame), scores, rtol=0, atol=1e-12)
    module = {}
    exec(numpy_source(model.published()), module)
    assert np.array_equal(module["predict"](frame.to_dict("list")), labels)
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(to_onnx(model.published()))
    columns = {"age": frame[["age"]].to_numpy(), "town": frame[["town"]].astype(object).to_numpy()}
    found, second = session.run(None, columns)
    assert np.array_equal(found, labels)
    shares = model.predict_proba(frame) if hasattr(model, "predict_proba") else scores
    np.testing.assert_allclose(second, shares, rtol=0, atol=1e-12)


def test_the_page_draws_every_class(model, tmp_path):
    model.report(tmp_path / "card.html")
    page = (tmp_path / "card.html").read_text()
    for ward in WARDS:
        assert f"<caption>Weights for {ward}, all of them</caption>" in page
    assert "general, short stay and surgery" in page
