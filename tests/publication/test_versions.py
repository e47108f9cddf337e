"""Model files of version 1 predict as they did; version 2 says more, and is as strict where it matters."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from test_model_files import fitted
from toy_regressor import ToyRegressor  # noqa: F401  # a fixture

import privfit
from privfit.models.links import IDENTITY, LOG, SIGN, SOFTMAX
from privfit.models.registry import MODELS
from privfit.models.targets import Classes, Counts, Interval
from privfit.models.weights import weights_of
from privfit.publication import from_json, json_schema, to_json
from privfit.publication.numpy_file import numpy_source
from privfit.publication.onnx import to_onnx
from privfit.publication.plain import to_sklearn

OLD = Path(__file__).parent / "version_1"  # written by the last privfit that wrote version 1
EXPECTED = json.loads((OLD / "expected.json").read_text())


@pytest.mark.parametrize("name", EXPECTED["scores"])
def test_a_file_of_version_1_predicts_and_says_the_same(name, tmp_path):
    Draft202012Validator(json_schema(1)).validate(json.loads((OLD / f"{name}.json").read_text()))
    model = privfit.load(OLD / f"{name}.json")
    rows = pd.DataFrame(EXPECTED["records"]) if model.schema_ is not None else np.array(EXPECTED["rows"])
    if name == "logistic":
        rows = pd.DataFrame(rows, columns=list("abc"))
    assert model.decision_function(rows).tolist() == EXPECTED["scores"][name]
    assert model.predict(rows).tolist() == EXPECTED["labels"][name]
    assert [list(row)[:6] for row in weights_of(model.published())] == EXPECTED["weights"][name]
    model.save(tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["version"] == 2
    again = privfit.load(tmp_path / "model.json")
    assert again.decision_function(rows).tolist() == EXPECTED["scores"][name]
    assert str(again.privacy_) == str(model.privacy_)
    model.report(tmp_path / "page.html")


def test_a_file_of_version_1_is_held_to_the_rules_of_version_1(tmp_path):
    written = json.loads((OLD / "svm.json").read_text())
    for change in ({"extra": 1}, {"kind": "forest"}, {"weights": [written["weights"]]}):
        (tmp_path / "model.json").write_text(json.dumps(written | change))
        with pytest.raises(ValueError, match="breaks the rule"):
            privfit.load(tmp_path / "model.json")


def test_readers_ignore_entries_of_the_document_that_they_do_not_know():
    model = fitted().published()
    written = json.loads(to_json(model))
    read = from_json(json.dumps(written | {"comment": "of a later privfit", "covariance": None}))
    assert to_json(read) == to_json(model)


def test_a_covariance_is_written_and_read():
    model = fitted().published()
    size = model.n_columns + 1
    with_it = replace(model, covariance=np.arange(float(size * size)).reshape(size, size))
    assert np.array_equal(from_json(to_json(with_it)).covariance, with_it.covariance)
    assert from_json(to_json(model)).covariance is None


def test_what_the_format_cannot_express_is_not_published():
    model = fitted()
    model.classes_ = np.array(["a", "b", "c"])
    model.coef_, model.intercept_ = np.ones((2, 5)), np.ones(2)
    with pytest.raises(ValueError, match="a model of 'classes' with 3 scores for each record needs 3 rows"):
        model.published()
    model = fitted()
    model.coef_ = np.ones((3, 5))
    refusal = "cannot be published: a model of 'two labels' cannot have the link 'softmax'."
    with pytest.raises(ValueError, match=re.escape(refusal)):
        model.published()
    model.coef_, model.intercept_ = np.ones((1, 5)), np.ones(3)
    with pytest.raises(ValueError, match="needs 1 intercept"):
        model.published()


def test_a_regressor_is_saved_loaded_converted_and_shown(ToyRegressor, tmp_path):  # noqa: F811
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (2_000, 3))
    y = 100.0 + X @ [30.0, -20.0, 0.0]
    settings = {"target_bounds": (0.0, 200.0), "feature_bounds": (-1.0, 1.0)}
    model = ToyRegressor(4.0, solver="gradient-descent", **settings).fit(X, y)
    model.save(tmp_path / "model.json")
    written = json.loads((tmp_path / "model.json").read_text())
    Draft202012Validator(json_schema()).validate(written)
    assert written["target"] == {"type": "interval", "low": 0.0, "high": 200.0}
    assert written["link"] == "identity"
    loaded = privfit.load(tmp_path / "model.json")
    assert type(loaded) is ToyRegressor
    assert loaded.target_bounds == (0.0, 200.0)
    new = 3.0 * X[:50]
    assert np.array_equal(loaded.predict(new), model.predict(new))
    assert np.allclose(model.to_sklearn().predict(new), model.predict(new), rtol=0, atol=1e-9)
    weights = weights_of(model.published())
    assert weights.positive is None
    assert weights.meaning[0].startswith("A weight is how much the prediction changes when a column")
    model.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Toy regression with differential privacy" in page
    assert "a number; the fit clipped targets to 0 and 200" in page
    assert "positive class" not in page


def test_settings_that_are_part_of_the_loss_are_in_the_file(ToyRegressor, tmp_path):  # noqa: F811
    class Tuned(ToyRegressor):
        _kind, _loss_settings = "toy-tuned", ("alpha",)

        def _loss_of_fit(self):
            if self.alpha > 1.0:
                raise ValueError("alpha must be at most 1.")
            return super()._loss_of_fit()

    try:
        settings = {"target_bounds": (0.0, 200.0), "feature_bounds": (-1.0, 1.0), "alpha": 0.25}
        model = Tuned(4.0, solver="gradient-descent", **settings).fit(np.zeros((50, 2)), np.zeros(50))
        model.set_params(alpha=0.5)  # not what was fitted
        model.save(tmp_path / "model.json")
        written = json.loads((tmp_path / "model.json").read_text())
        Draft202012Validator(json_schema()).validate(written)
        assert written["settings"] == {"alpha": 0.25}
        assert privfit.load(tmp_path / "model.json").alpha == 0.25
        for entry, message in (({"alpha": 7}, "alpha must be at most 1"), ({"alpha": "x"}, "settings/alpha")):
            (tmp_path / "model.json").write_text(json.dumps(written | {"settings": entry}))
            with pytest.raises(ValueError, match=message):
                privfit.load(tmp_path / "model.json")
    finally:
        del MODELS["toy-tuned"]


def made_up(link, target, *, unit_rows=False):
    """A model of three columns that no estimator fits yet."""
    facts = fitted().published()
    rng = np.random.default_rng(1)
    return replace(
        facts,
        kind="made up",
        link=link,
        target=target,
        weights=rng.normal(size=(target.outputs, 3)),
        intercepts=rng.normal(size=target.outputs),
        bounds=(np.full(3, -1.0), np.full(3, 2.0)),
        unit_rows=unit_rows,
    )


MADE_UP = {
    "softmax": (SOFTMAX, Classes(("a", "b", "c"))),
    "one against rest": (SIGN, Classes((1, 2, 3, 4))),
    "numbers": (IDENTITY, Interval(-5.0, 5.0)),
    "counts": (LOG, Counts(50)),
}


@pytest.mark.parametrize("unit_rows", [False, True])
@pytest.mark.parametrize("name", MADE_UP)
def test_every_link_is_written_and_converted(name, unit_rows):
    model = made_up(*MADE_UP[name], unit_rows=unit_rows)
    Draft202012Validator(json_schema()).validate(json.loads(to_json(model)))
    assert to_json(from_json(to_json(model))) == to_json(model)
    X = np.random.default_rng(2).normal(0.0, 2.0, (40, 3))
    clipped = np.clip(X, -1.0, 2.0)
    scores = clipped @ model.weights.T + model.intercepts
    if unit_rows:
        scores /= np.sqrt((clipped**2).sum(axis=1) + 1.0)[:, None]
    expected = {
        "softmax": lambda: np.array(model.classes)[scores.argmax(axis=1)],
        "one against rest": lambda: np.array(model.classes)[scores.argmax(axis=1)],
        "numbers": lambda: scores[:, 0],
        "counts": lambda: np.exp(scores[:, 0]),
    }[name]()
    module = {}
    exec(numpy_source(model), module)
    plain = to_sklearn(model)
    onnxruntime = pytest.importorskip("onnxruntime")
    outputs = onnxruntime.InferenceSession(to_onnx(model)).run(None, {"X": X})
    for predicted in (module["predict"](X), plain.predict(X), np.array(outputs[0])):
        if model.link.predicts_classes:
            assert np.array_equal(predicted, expected)
        else:
            np.testing.assert_allclose(predicted, expected, rtol=1e-12)
    if model.link.probabilities is not None:
        shares = model.link.probabilities(scores)
        for predicted in (module["predict_proba"](X), plain.predict_proba(X), outputs[1]):
            np.testing.assert_allclose(predicted, shares, rtol=0, atol=1e-12)
    elif model.link.predicts_classes:
        for predicted in (module["decision_function"](X), plain.decision_function(X), outputs[1]):
            np.testing.assert_allclose(predicted, scores, rtol=0, atol=1e-12)


def test_a_loaded_file_does_not_become_another_model(tmp_path):
    softmax = made_up(*MADE_UP["softmax"])
    (tmp_path / "model.json").write_text(to_json(replace(softmax, kind="svm")))
    with pytest.raises(ValueError, match="models of the kind 'svm' do not have the link 'softmax'"):
        privfit.load(tmp_path / "model.json")
    (tmp_path / "model.json").write_text(to_json(replace(softmax, kind="logistic")))
    assert privfit.load(tmp_path / "model.json").published().link.name == "softmax"  # the file's own
