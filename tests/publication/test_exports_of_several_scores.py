"""Models of several classes, numbers and counts, converted: raw tables go in, our predictions come out."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from test_several_scores import COLUMNS, SIGN, SOFTMAX, of_classes, of_counts, of_numbers

from privfit.models.links import LOG
from privfit.publication import from_json, to_json
from privfit.publication.numpy_file import numpy_source
from privfit.publication.onnx import to_onnx
from privfit.publication.plain import to_sklearn
from privfit.schema import Numeric, Schema, encode

CURVED = [COLUMNS[0], Numeric("age", 20, 60, missing="indicator", curve=[25, 33.3, 50])]
MODELS = {
    "softmax": of_classes(SOFTMAX),
    "hinges": of_classes(SIGN),
    "integers": of_classes(SOFTMAX, (3, 7, 40)),
    "number": of_numbers(),
    "count": of_counts(),
    "softmax of curves": of_classes(SOFTMAX, columns=CURVED),
    "hinges of curves": of_classes(SIGN, columns=CURVED),
    "number of curves": of_numbers(CURVED),
    "count of curves": of_counts(CURVED),
}
FRAME = pd.DataFrame(
    {
        "town": ["Bern", "Oslo", None, "Paris", "Rome", "Bern"],
        "age": [20.0, 75.0, np.nan, 33.3, -4.0, 41.7],
    }
)


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]


def scores_of(model):
    rows = encode(FRAME, Schema.from_dict(model.schema), sparse=False, dtype=np.float64)
    return rows @ model.weights.T + model.intercepts


def expected(model):
    scores = scores_of(model)
    if model.link.predicts_classes:
        return np.array(model.classes)[scores.argmax(axis=1)]
    return np.exp(scores[:, 0]) if model.link is LOG else scores[:, 0]


def check(model, predicted):
    if model.link.predicts_classes:
        assert np.array_equal(predicted, expected(model))
    else:
        np.testing.assert_allclose(predicted, expected(model), rtol=1e-12)


def test_scikit_learn_reads_raw_frames(model):
    plain = to_sklearn(model)
    check(model, plain.predict(FRAME))
    if model.link.predicts_classes:
        np.testing.assert_allclose(plain.decision_function(FRAME), scores_of(model), rtol=0, atol=1e-12)
    kinds = {"softmax": LogisticRegression, "identity": LinearRegression, "log": PoissonRegressor}
    assert isinstance(plain[-1], kinds.get(model.link.name, object))


def test_skops_stores_it_without_trust(model):
    skops = pytest.importorskip("skops.io")
    stored = skops.dumps(to_sklearn(model))
    assert skops.get_untrusted_types(data=stored) == []
    check(model, skops.loads(stored).predict(FRAME))


def test_a_numpy_file_reads_raw_rows(model):
    module = {}
    exec(numpy_source(model), module)
    rows = FRAME.astype(object).where(FRAME.notna(), None)
    check(model, module["predict"](rows.to_dict("list")))
    check(model, module["predict"](rows.to_dict("records")))
    if model.link.probabilities is not None:
        shares = model.link.probabilities(scores_of(model))
        np.testing.assert_allclose(module["predict_proba"](rows.to_dict("list")), shares, rtol=0, atol=1e-12)


def test_onnx_takes_raw_columns(model):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(to_onnx(model), providers=["CPUExecutionProvider"])
    outputs = session.run(
        None, {"town": FRAME[["town"]].fillna("").to_numpy(), "age": FRAME[["age"]].to_numpy()}
    )
    check(model, np.array(outputs[0]))
    if model.link.predicts_classes:
        shares = scores_of(model)
        shares = shares if model.link.probabilities is None else model.link.probabilities(shares)
        np.testing.assert_allclose(outputs[1], shares, rtol=0, atol=1e-12)


def test_the_file_loses_nothing(model):
    assert to_json(from_json(to_json(model))) == to_json(model)
