"""Models with a schema, converted: raw tables go in, and the predictions are ours."""

import numpy as np
import pandas as pd
import pytest
from declared import POLICIES, TYPES, people, schema_of, trained, whole_schema
from scipy.special import expit

from privfit import DPLinearSVC
from privfit.publication.onnx import to_onnx
from privfit.schema import Categorical, Date, Integer, Numeric, Ordinal, encode

# scikit-learn warns of columns whose names a part does not know
pytestmark = pytest.mark.filterwarnings(
    "error:X has feature names", "error:X does not have valid feature names"
)


@pytest.fixture(
    params=[(kind, policy) for kind in TYPES for policy in POLICIES], ids="-".join, scope="module"
)
def column(request):
    """A model of one column, a frame that fits it, and a frame with cells that do not."""
    kind, policy = request.param
    declare, fill, cells = TYPES[kind]
    fact = declare(**POLICIES[policy](fill))
    model, frame = trained(schema_of(fact)), pd.DataFrame({"x": cells})
    fits = np.array([not np.isnan(fact.read(cell)) for cell in cells])
    return model, frame if policy != "refuse" else frame[fits], frame[~fits]


def test_a_pipeline_of_scikit_learn_reads_raw_frames(column):
    model, frame, odd = column
    plain = model.to_sklearn()
    assert plain.decision_function(frame) == pytest.approx(
        model.decision_function(frame), rel=1e-13, abs=1e-13
    )
    assert np.array_equal(plain.predict(frame), model.predict(frame))
    if model.schema_.features[0].missing == "refuse" and len(odd):
        with pytest.raises(ValueError, match=r"unknown categories|NaN"):
            plain.predict(odd)


def ran(model, frame, **how):
    """Run the model as ONNX on the raw columns of a frame."""
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(to_onnx(model.published(), **how), providers=["CPUExecutionProvider"])
    inputs = {}
    for wanted in session.get_inputs():
        cells = frame[[wanted.name]]
        text = wanted.type == "tensor(string)"
        inputs[wanted.name] = (
            cells.astype(object).fillna("").to_numpy() if text else cells.to_numpy(np.float64)
        )
    return session.run(None, inputs)


def test_onnx_takes_raw_columns(column):
    model, frame, odd = column
    labels, probabilities = ran(model, frame)
    assert probabilities == pytest.approx(model.predict_proba(frame), rel=1e-13, abs=1e-13)
    assert np.array_equal(labels, model.predict(frame))
    if model.schema_.features[0].missing == "refuse" and len(odd):
        assert np.isnan(ran(model, odd)[1]).all()


def test_onnx_takes_half_a_child_for_what_does_not_fit():
    model = trained(schema_of(Integer("children", 0, 9, missing="indicator")))
    frame = pd.DataFrame({"children": [2.5, 2.0, np.inf, -np.inf]})
    assert ran(model, frame)[1] == pytest.approx(model.predict_proba(frame), rel=1e-13)


SETTINGS = {
    "logistic": {},
    "svm": {"kind": DPLinearSVC},
    "unit rows": {"solver": "objective-perturbation"},
    "unit rows, no intercept": {"solver": "objective-perturbation", "fit_intercept": False},
}


@pytest.fixture(params=SETTINGS, scope="module")
def model(request):
    return trained(whole_schema(), **SETTINGS[request.param])


def test_all_columns_together_in_any_order_among_others(model):
    frame = people(seed=1)
    shuffled = frame[frame.columns[::-1]]
    assert model.to_sklearn().decision_function(shuffled) == pytest.approx(
        model.decision_function(frame), rel=1e-12, abs=1e-12
    )


def test_onnx_takes_all_columns_together(model):
    frame = people(seed=1)
    labels, scores = ran(model, frame)
    assert np.array_equal(labels, model.predict(frame))
    ours = model.decision_function(frame)
    expected = expit(ours) if hasattr(model, "predict_proba") else ours
    assert scores[:, 1] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_skops_stores_the_pipeline_without_trust(model):
    skops = pytest.importorskip("skops.io")
    frame, stored = people(seed=1), skops.dumps(model.to_sklearn())
    assert skops.get_untrusted_types(data=stored) == []
    assert np.array_equal(
        skops.loads(stored).decision_function(frame), model.to_sklearn().decision_function(frame)
    )


def test_encoded_columns_are_an_input_of_their_own(model):
    frame = people(seed=1)
    encoded = encode(frame, model.schema_, sparse=False, dtype=np.float64)
    plain = model.to_sklearn(encoded=True)
    names = pd.DataFrame(encoded, columns=model.get_feature_names_out())
    assert plain.decision_function(names) == pytest.approx(
        model.decision_function(frame), rel=1e-12, abs=1e-12
    )


def test_skl2onnx_converts_a_pipeline_without_gaps_to_fill():
    skl2onnx, runtime = pytest.importorskip("skl2onnx"), pytest.importorskip("onnxruntime")
    age = Numeric("age", 0, 120, missing="refuse")
    model = trained(schema_of(age, Categorical("region", ["North", "East", "South"])))
    frame = people(seed=1).dropna()
    types = skl2onnx.common.data_types
    inputs = [("age", types.FloatTensorType([None, 1])), ("region", types.StringTensorType([None, 1]))]
    graph = skl2onnx.to_onnx(
        model.to_sklearn(), initial_types=inputs, options={"zipmap": False}, target_opset=17
    ).SerializeToString()
    cells = {"age": frame[["age"]].to_numpy(np.float32), "region": frame[["region"]].to_numpy(object)}
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    assert session.run(None, cells)[1] == pytest.approx(model.predict_proba(frame), abs=1e-6)


def test_a_column_that_scikit_learn_cannot_read_is_named():
    born = Date("born", "1920-01-01", "2010-12-31")
    with pytest.raises(ValueError, match=r"^Column 'born' is a date, which .*encoded=True\.$"):
        trained(schema_of(born)).to_sklearn()
    with pytest.raises(ValueError, match=r"^Column 'rank' has numbers .*does not rise.*encoded=True\.$"):
        trained(schema_of(Ordinal("rank", ["3", "2", "1"]))).to_sklearn()
    trained(schema_of(born)).to_sklearn(encoded=True)
