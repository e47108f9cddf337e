"""Exports of models with hostile names of columns, categories and labels: nothing runs, and scores agree."""

import runpy

import numpy as np
import pandas as pd
import pytest

from privfit import DPLogisticRegression, Schema
from privfit.publication.numpy_file import write_numpy
from privfit.publication.onnx import to_onnx
from privfit.schema import Categorical, Label, Numeric, Ordinal

NAMES = {
    "code": "'\"\"\"+str(open('pwned', 'w'))+\"\"\"'",
    "a line of code": "a\nopen('pwned', 'w')\n",
    "a template": "{0.__class__}{weights}%s${x}",
    "an end of text": "a\x00b",
    "a terminal's commands": "\x1b[2J\u202e\u2028",
    "markup": "<!DOCTYPE x [<!ENTITY a 'b'>]>&a;",
    "a path": "../../x",
    "a parameter of scikit-learn": "remainder",
    "parts of a name": "a__b",
    "a long name": 100_000 * "x",
}


@pytest.fixture(params=NAMES, scope="module")
def trained(request):
    evil, rng, n = NAMES[request.param], np.random.default_rng(0), 100
    schema = Schema(
        [
            Numeric(evil, 0, 10, unit=evil, missing="indicator", curve=2),
            Categorical(f"c{evil}", [f"{evil}1", f"{evil}2"], missing="indicator"),
            Ordinal(f"o{evil}", [f"{evil}low", f"{evil}high"]),
        ],
        Label(f"y{evil}", [f"{evil}no", f"{evil}yes"]),
    )
    frame = pd.DataFrame(
        {
            evil: rng.uniform(0, 12, n),
            f"c{evil}": rng.choice([f"{evil}1", f"{evil}2", "?"], n).tolist(),
            f"o{evil}": rng.choice([f"{evil}low", f"{evil}high"], n).tolist(),
            f"y{evil}": rng.choice([f"{evil}no", f"{evil}yes"], n).tolist(),
        }
    )
    return DPLogisticRegression(5.0, schema=schema).fit(frame), frame


def test_a_file_of_numpy_runs_nothing_and_predicts_the_same(trained, tmp_path, monkeypatch):
    model, frame = trained
    monkeypatch.chdir(tmp_path)
    write_numpy(model.published(), tmp_path / "scorer.py")
    scorer = runpy.run_path("scorer.py")
    np.testing.assert_allclose(scorer["predict_proba"](frame), model.predict_proba(frame), atol=1e-12)
    assert scorer["predict"](frame).tolist() == model.predict(frame).tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["scorer.py"]
    source = (tmp_path / "scorer.py").read_text()
    assert {c for c in source if not c.isprintable()} == {"\n"}  # code that is shown otherwise than it runs


def test_onnx_keeps_the_names_and_predicts_the_same(trained):
    runtime = pytest.importorskip("onnxruntime")
    model, frame = trained
    session = runtime.InferenceSession(to_onnx(model.published()), providers=["CPUExecutionProvider"])
    cells = {
        taken.name: frame[taken.name].to_numpy(np.float64 if "double" in taken.type else object)[:, None]
        for taken in session.get_inputs()
    }
    labels, chances = session.run(None, cells)
    np.testing.assert_allclose(chances, model.predict_proba(frame), atol=1e-12)
    assert labels.tolist() == model.predict(frame).tolist()


def test_skops_trusts_nothing_new_and_predicts_the_same(trained, tmp_path):
    stored = pytest.importorskip("skops.io")
    model, frame = trained
    stored.dump(model.to_sklearn(), tmp_path / "model.skops")
    assert stored.get_untrusted_types(file=tmp_path / "model.skops") == []
    plain = stored.load(tmp_path / "model.skops")
    np.testing.assert_allclose(plain.predict_proba(frame), model.predict_proba(frame), atol=1e-12)
