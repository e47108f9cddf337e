"""A model file holds the model and its promise, and a stranger's file does no harm."""

import functools
import json
import pickle
import re

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import privfit
from privfit import DPLinearSVC, DPLogisticRegression, Ledger
from privfit.publication import json_schema, to_json


def people(n=400, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 3, (n, p))
    return X, np.where(X[:, 0] + rng.normal(0, 1, n) > 1, "yes", "no")


def fitted(model=DPLogisticRegression, **settings):
    X, y = people()
    settings = {
        "classes": ("no", "yes"),
        "n_records": 400,
        "noise": "seeded",
        "random_state": 9876543,
    } | settings
    return model(4.0, 1e-6, **settings).fit(X, y)


MODELS = {
    "logistic": lambda: fitted(feature_bounds=(-1, 3)),
    "bought bounds": lambda: fitted(),
    "svm": lambda: fitted(DPLinearSVC, feature_bounds=(-1, 3)),
    "no intercept": lambda: fitted(fit_intercept=False),
    "unit rows": lambda: fitted(solver="objective-perturbation", feature_bounds=(-1, 3)),
    "unit rows, no bounds": lambda: fitted(solver="objective-perturbation"),
    "unit rows, no intercept": lambda: fitted(solver="objective-perturbation", fit_intercept=False),
    "no privacy": lambda: fitted(solver="nonprivate", noise="secure", random_state=None),
    "a shared account": lambda: fitted(ledger=Ledger(epsilon=5.0, delta=1e-5)),
}


@pytest.fixture(params=MODELS, scope="module")
def model(request):
    return MODELS[request.param]()


def test_a_saved_model_predicts_and_promises_the_same(model, tmp_path):
    model.save(tmp_path / "model.json")
    loaded = privfit.load(tmp_path / "model.json")
    X = 3.0 * people(seed=1)[0]  # beyond the bounds, too
    assert type(loaded) is type(model)
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert str(loaded.privacy_) == str(model.privacy_)
    assert loaded.trace_ == model.trace_
    assert to_json(loaded.published()) == to_json(model.published())


def test_the_file_follows_its_published_schema(model, tmp_path):
    model.save(tmp_path / "model.json")
    written = json.loads((tmp_path / "model.json").read_text())
    Draft202012Validator.check_schema(json_schema())
    Draft202012Validator(json_schema()).validate(written)
    assert written["versions"]["privfit"] == privfit.__version__
    assert "9876543" not in json.dumps(written)


def test_frames_keep_their_column_names(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = people()
    frame = pd.DataFrame(X, columns=list("abcde"))
    DPLogisticRegression(4.0, classes=("no", "yes")).fit(frame, y).save(tmp_path / "model.json")
    loaded = privfit.load(tmp_path / "model.json")
    assert loaded.feature_names_in_.tolist() == list("abcde")
    loaded.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"a": "z"}))


def test_a_file_may_say_what_it_likes_about_the_promise_the_words_follow_from_the_numbers(tmp_path):
    fitted().save(tmp_path / "model.json")
    written = json.loads((tmp_path / "model.json").read_text())
    written["privacy"]["text"] = "perfectly anonymous"
    (tmp_path / "model.json").write_text(json.dumps(written))
    assert "(4, 1e-06)-differentially private" in privfit.load(tmp_path / "model.json").privacy_.text


def changed(path, value):
    def change(written):
        entry = written
        for key in path[:-1]:
            entry = entry[key]
        entry[path[-1]] = value
        return json.dumps(written)

    return change


HOSTILE = {
    "empty": (lambda _: "", "not whole JSON"),
    "cut off": (lambda w: json.dumps(w)[:-20], "not whole JSON"),
    "nested without end": (lambda _: "[" * 100_000, "not whole JSON"),
    "not a number": (
        lambda w: json.dumps(w).replace('"intercepts": [', '"intercepts": [NaN, '),
        "not whole JSON",
    ),
    "another document": (lambda _: '{"hello": 1}', "holds no privfit model"),
    "a list": (lambda _: "[]", "holds no privfit model"),
    "a later version": (
        changed(["version"], 3),
        "not version 1 or 2, which this privfit reads; update privfit",
    ),
    "a version that is no number": (changed(["version"], True), "not version 1 or 2"),
    "an unknown entry of what predictions depend on": (
        changed(["preprocessing", "extra"], 1),
        "its entry preprocessing breaks the rule 'additionalProperties'",
    ),
    "no intercepts": (lambda w: json.dumps({k: w[k] for k in w if k != "intercepts"}), "the rule 'required'"),
    "a link unheard of": (changed(["link"], "probit"), "its entry link breaks the rule 'enum'"),
    "another link": (changed(["link"], "sign"), "models of the kind 'logistic' do not have the link 'sign'"),
    "a link that its target cannot have": (
        changed(["link"], "identity"),
        "a model of 'two labels' cannot have the link 'identity'",
    ),
    "a target of another kind": (
        lambda w: json.dumps(w | {"target": {"type": "interval", "low": 0, "high": 1}, "link": "identity"}),
        "models of the kind 'logistic' do not have the link 'identity'",
    ),
    "a target unheard of": (
        changed(["target", "type"], "forest"),
        "its entry target breaks the rule 'oneOf'",
    ),
    "a kind unheard of": (
        changed(["kind"], "forest"),
        "must be one of those that this privfit has: classifier,",
    ),
    "a row too many": (
        lambda w: json.dumps(w | {"weights": [*w["weights"], [1.0] * 5]}),
        "with 1 score for each record needs 1 row of weights",
    ),
    "an intercept too many": (changed(["intercepts"], [1.0, 2.0]), "needs 1 intercept"),
    "rows of different lengths": (changed(["weights"], [[1.0], [1.0, 2.0]]), "have different lengths"),
    "a covariance that is too small": (changed(["covariance"], [[1.0]]), "must have 6 rows and columns"),
    "weights of text": (changed(["weights", 0, 0], "1"), "its entry weights/0/0 breaks the rule 'type'"),
    "a weight too many": (
        changed(["weights"], [[1.0] * 6]),
        "does not have one pair of bounds for each weight",
    ),
    "an endless integer": (changed(["weights", 0, 0], 10**400), "a number in it is too large"),
    "an endless integer that no check reads": (
        changed(["steps", 0, "step"], 10**400),
        "a number in it is too",
    ),
    "a number beyond the largest": (
        lambda w: json.dumps(w).replace('"intercepts": [', '"intercepts": [1e400, '),
        "a number in it is too large",
    ),
    "integers of a million digits": (
        lambda w: json.dumps(w).replace('"version": 2', '"version": ' + 1_000_000 * "9"),
        "a number in it is too large",
    ),
    "a label that is half a character": (
        changed(["target", "classes"], ["no", "\ud800"]),
        "not valid Unicode: it holds",
    ),
    "a name that is half a character": (changed(["versions"], {"\udfff": ""}), "not valid Unicode: it holds"),
    "two intercepts": (
        lambda w: json.dumps(w).replace('"intercepts": ', '"intercepts": [1.0], "intercepts": '),
        "it names a key twice in one place",
    ),
    "two kinds of promise": (
        lambda w: json.dumps(w).replace('"kind": "gaussian"', '"kind": "gaussian", "kind": "direct"'),
        "it names a key twice in one place",
    ),
    "a name that clears the screen": (
        changed(["privacy", "spending"], {"\x1b[2J\nAll is well": -1}),
        re.escape(r"its entry privacy/spending/\x1b[2J\nAll is well breaks the rule 'minimum'"),
    ),
    "a name as long as the file": (
        changed(["privacy", "spending"], {1_000_000 * "x": -1}),
        r"its entry privacy/spending/x{183} breaks the rule",
    ),
    "fits below zero": (changed(["privacy", "family", "fits"], -1), "breaks the rule 'minimum'"),
    "noise below zero": (changed(["steps", 0, "sigma"], -1.0), "breaks the rule 'minimum'"),
    "a promise of nothing": (
        changed(["privacy", "promise", "rho"], 0.0),
        "breaks the rule 'exclusiveMinimum'",
    ),
    "a promise without a price": (changed(["privacy", "promise", "rho"], None), "breaks the rule 'type'"),
    "a promise of the largest number": (
        changed(["privacy", "promise", "epsilon"], 1e308),
        "breaks the rule 'maximum'",
    ),
    "bounds upside down": (changed(["preprocessing", "clip", "low", 0], 1e9), "a lower bound in it is above"),
    "one class": (changed(["target", "classes"], ["no", "no"]), "not two different labels"),
    "two kinds of class": (changed(["target", "classes"], ["no", 1]), "not two different labels of one type"),
    "a name too many": (
        changed(["feature_names"], list("abcdef")),
        "does not have one feature name for each weight",
    ),
    "a negative promise": (
        changed(["privacy", "promise", "rho"], -1.0),
        "breaks the rule 'exclusiveMinimum'",
    ),
    "a promise that its price does not keep": (
        changed(["privacy", "promise", "epsilon"], 0.1),
        "the promise in it makes no sense",
    ),
    "a promise of another kind": (
        changed(["privacy", "promise", "mu"], 1.0),
        "the promise in it makes no sense",
    ),
    "a kind of promise unheard of": (changed(["privacy", "promise", "kind"], "x"), "breaks the rule 'enum'"),
}


@functools.cache
def saved():
    return to_json(fitted(feature_bounds=(-1, 3)).published())


@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_that_is_no_model_gets_one_sentence(case, tmp_path):
    harm, message = HOSTILE[case]
    path = tmp_path / "model.json"
    path.write_text(harm(json.loads(saved())))
    with pytest.raises(ValueError, match=message) as caught:
        privfit.load(path)
    assert str(caught.value).startswith(f"{path} is no model file: ")
    assert "\n" not in str(caught.value)


def test_a_file_of_bytes_gets_one_sentence(tmp_path):
    (tmp_path / "model.json").write_bytes(b"\x80\x04\x95")
    with pytest.raises(ValueError, match="it is not text"):
        privfit.load(tmp_path / "model.json")


def test_a_statement_of_a_stranger_is_one_paragraph_that_a_terminal_can_show(tmp_path):
    written = json.loads(saved())
    evil = "\x1b[2J\n\u202e"
    written["privacy"] |= {
        "relation": evil,
        "assumptions": [evil],
        "notes": [evil],
        "spending": {evil: 1.0},
        "family": {"fits": 2, "scores": 0, "epsilon": 9.0, "delta": 1e-6, "unknown": evil},
    }
    (tmp_path / "model.json").write_text(json.dumps(written))
    loaded = privfit.load(tmp_path / "model.json")
    assert str(loaded.privacy_).isprintable()
    assert r"\x1b[2J\n\u202e" in str(loaded.privacy_)


def test_a_mark_that_editors_put_in_front_is_read_over(tmp_path):
    fitted().save(tmp_path / "model.json")
    (tmp_path / "model.json").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "model.json").read_bytes())
    assert privfit.load(tmp_path / "model.json").n_features_in_ == 5


def test_a_label_that_no_file_can_hold_is_refused_and_the_old_file_stays(tmp_path):
    X, y = people()
    model = DPLogisticRegression(4.0, classes=("no", "\udc80")).fit(X, np.where(y == "yes", "\udc80", "no"))
    (tmp_path / "model.json").write_text("old")
    with pytest.raises(ValueError, match="A name or label of the model is not valid Unicode"):
        model.save(tmp_path / "model.json")
    assert (tmp_path / "model.json").read_text() == "old"


def test_a_refusal_that_quotes_a_long_name_is_cut_off(tmp_path):
    path = tmp_path / "model.json"
    fitted().save(path)
    long = 10_000 * "x"
    written = json.loads(path.read_text()) | {"feature_names": ["a"], "columns": ["a"], "weights": [[1.0]]}
    column = {"name": "a", "type": "categorical", "categories": [long, long]}
    written["preprocessing"] |= {"schema": {"columns": [column], "label": {"name": "y"}}, "clip": None}
    path.write_text(json.dumps(written))
    with pytest.raises(ValueError, match=r"xxx\.\.\.$") as refusal:
        privfit.load(path)
    assert len(str(refusal.value)) < 1000


def test_an_unfitted_model_cannot_be_saved(tmp_path):
    with pytest.raises(Exception, match="not fitted"):
        DPLogisticRegression().save(tmp_path / "model.json")


def test_pickles_of_fitted_models_are_small_and_hold_no_record():
    X, y = people(n=20_000)
    X[:, 0] = 2.0 - 1e-9 * np.arange(len(X))  # values that occur nowhere else
    model = DPLogisticRegression(1.0, classes=("no", "yes")).fit(X, y)
    pickled = pickle.dumps(model)
    assert len(pickled) < 100_000
    assert not any(value.tobytes() in pickled for value in X[1:200, 0])
    model.big_ = X
    assert any(value.tobytes() in pickle.dumps(model) for value in X[1:200, 0])  # the search would find one
