"""What others load predicts the same: scikit-learn, ONNX, skops, and a file that needs NumPy only."""

import runpy
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from test_model_files import MODELS, fitted, people

from privfit.publication.numpy_file import numpy_source, write_numpy
from privfit.publication.onnx import to_onnx


@pytest.fixture(params=MODELS, scope="module")
def model(request):
    return MODELS[request.param]()


ROWS = 3.0 * people(seed=1)[0]  # beyond the bounds, too


def test_plain_scikit_learn_predicts_the_same(model):
    plain = model.to_sklearn()
    assert isinstance(plain, BaseEstimator)
    assert "privfit" not in type(plain).__module__
    assert plain.decision_function(ROWS) == pytest.approx(model.decision_function(ROWS), rel=1e-9, abs=1e-12)
    assert np.array_equal(plain.predict(ROWS), model.predict(ROWS))
    if hasattr(model, "predict_proba"):
        assert plain.predict_proba(ROWS) == pytest.approx(model.predict_proba(ROWS), rel=1e-9, abs=1e-12)
        logarithms = model.predict_log_proba(ROWS)
        likely = logarithms > -10.0  # scikit-learn takes the logarithm of a rounded probability
        assert plain.predict_log_proba(ROWS)[likely] == pytest.approx(logarithms[likely], rel=1e-9, abs=1e-12)


def test_onnx_predicts_the_same(model):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(to_onnx(model.published()), providers=["CPUExecutionProvider"])
    labels, scores = session.run(None, {"X": ROWS})
    far = np.abs(model.decision_function(ROWS)) > 1e-12
    assert far.mean() > 0.99
    assert np.array_equal(labels[far], model.predict(ROWS)[far])
    if hasattr(model, "predict_proba"):
        assert scores == pytest.approx(model.predict_proba(ROWS), rel=1e-9, abs=1e-12)
    else:
        assert scores[:, 1] == pytest.approx(model.decision_function(ROWS), rel=1e-9, abs=1e-12)


def test_skl2onnx_converts_the_plain_model(model):
    skl2onnx, runtime = pytest.importorskip("skl2onnx"), pytest.importorskip("onnxruntime")
    inputs = [("X", skl2onnx.common.data_types.DoubleTensorType([None, ROWS.shape[1]]))]
    graph = skl2onnx.to_onnx(
        model.to_sklearn(), initial_types=inputs, options={"zipmap": False}, target_opset=17
    ).SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    labels, scores = session.run(None, {"X": ROWS})
    far = np.abs(model.decision_function(ROWS)) > 1e-5
    assert np.array_equal(labels[far], model.predict(ROWS)[far])
    if hasattr(model, "predict_proba"):
        assert scores == pytest.approx(model.predict_proba(ROWS), abs=1e-6)


def test_skops_stores_it_without_trust(model):
    skops = pytest.importorskip("skops.io")
    stored = skops.dumps(model.to_sklearn())
    assert skops.get_untrusted_types(data=stored) == []
    assert np.array_equal(skops.loads(stored).predict(ROWS), model.predict(ROWS))


def test_a_file_of_numpy_predicts_the_same(model, tmp_path):
    write_numpy(model.published(), tmp_path / "scorer.py")
    scorer = runpy.run_path(str(tmp_path / "scorer.py"))
    assert len((tmp_path / "scorer.py").read_text().splitlines()) < 60
    assert scorer["decision_function"](ROWS) == pytest.approx(model.decision_function(ROWS), rel=1e-12)
    assert np.array_equal(scorer["predict"](ROWS), model.predict(ROWS))
    assert ("predict_proba" in scorer) == hasattr(model, "predict_proba")
    if hasattr(model, "predict_proba"):
        assert scorer["predict_proba"](ROWS) == pytest.approx(model.predict_proba(ROWS), rel=1e-9)


def test_the_file_needs_numpy_only(tmp_path):
    write_numpy(fitted().published(), tmp_path / "scorer.py")
    others = "{'sklearn', 'scipy', 'privfit'}"
    check = f"import sys, scorer; print(sorted({{m.split('.')[0] for m in sys.modules}} & {others}))"
    ran = subprocess.run(
        [sys.executable, "-c", check], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_names_and_labels_cannot_become_code(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = people()
    evil = '"]"); raise SystemExit("code was run") #\n'
    names = [f"{evil}{i}" for i in range(5)]
    model = fitted(classes=("no", "yes"))
    model = type(model)(4.0, classes=("no", f'yes{evil}"""')).fit(
        pd.DataFrame(X, columns=names), np.where(y == "yes", f'yes{evil}"""', "no")
    )
    (tmp_path / "scorer.py").write_text(numpy_source(model.published()))
    scorer = runpy.run_path(str(tmp_path / "scorer.py"))
    assert scorer["FEATURES"] == names
    assert scorer["CLASSES"].tolist() == model.classes_.tolist()
