"""Model files and pickles of models with a schema: the same model, one sentence for strangers, no records."""

import json
import pickle
from dataclasses import fields

import numpy as np
import pytest
from declared import POLICIES, TYPES, people, schema_of, trained, whole_schema

import privfit
from privfit import DPLogisticRegression, Ledger
from privfit.metrics import evaluate
from privfit.publication import Published, to_json
from privfit.schema import Date


def kept(model, tmp_path):
    model.save(tmp_path / "model.json")
    return privfit.load(tmp_path / "model.json")


COLUMNS = {
    **{
        f"{kind}-{policy}": TYPES[kind][0](**POLICIES[policy](TYPES[kind][1]))
        for kind in TYPES
        for policy in POLICIES
    },
    "date": Date("x", "1920-01-01", "2010-12-31", format="%d.%m.%Y", fill="1950-02-03"),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_type_comes_back(kind, tmp_path):
    model = trained(schema_of(COLUMNS[kind]))
    loaded = kept(model, tmp_path)
    assert loaded.schema_ == model.schema_
    assert loaded.weights_ == model.weights_
    assert to_json(loaded.published()) == to_json(model.published())


def test_a_loaded_model_predicts_and_is_evaluated_on_raw_frames(tmp_path):
    model = trained(whole_schema(dates=True))
    loaded, frame = kept(model, tmp_path), people(seed=1)
    assert np.array_equal(loaded.decision_function(frame), model.decision_function(frame))
    scores = evaluate(loaded, frame, frame["outcome"], ledger=Ledger(rho=1.0), rho=0.5)
    assert 0.0 <= scores.accuracy.value <= 1.0


def entry(*path, **change):
    def harm(schema):
        for key in path:
            schema = schema[key]
        schema.update(change)

    return harm


HOSTILE = {
    "no columns": lambda schema: schema.update(columns=[]),
    "columns that are text": lambda schema: schema.update(columns="age"),
    "a number for a column": lambda schema: schema.update(columns=[1]),
    "no label": lambda schema: schema.pop("label"),
    "another key": lambda schema: schema.update(run="rm -rf"),
    "endless bounds": entry("columns", 1, high=10**400),
    "bounds upside down": entry("columns", 1, low=1e9),
    "bounds of text": entry("columns", 1, low="0"),
    "a type unheard of": entry("columns", 1, type="__import__"),
    "categories of lists": entry("columns", 3, categories=[["North"]]),
    "one category too many": entry("columns", 3, categories=["North", "East", "South", "West"]),
    "the same twice": entry("columns", 3, categories=["North", "North", "South"]),
    "a policy unheard of": entry("columns", 1, missing="eval"),
    "a fill that is a table": entry("columns", 2, fill={}),
    "a unit that is a list": entry("columns", 1, unit=[]),
    "marks that are a pattern": entry("columns", 1, thousands="(a+)+"),
    "no date": entry("columns", 8, low="1920-13-01"),
    "a format that is a pattern": entry("columns", 8, format="(a+)+$"),
    "classes of lists": entry("label", classes=[[], []]),
    "another positive class": entry("label", positive="?"),
    "records below zero": lambda schema: schema.update(records=-1),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_schema_gets_one_sentence(case, tmp_path):
    path = tmp_path / "model.json"
    trained(whole_schema(dates=True)).save(path)
    written = json.loads(path.read_text())
    HOSTILE[case](written["preprocessing"]["schema"])
    path.write_text(json.dumps(written))
    with pytest.raises(ValueError, match=r"^[^\n]* is no model file: [^\n]*$"):
        privfit.load(path)


def test_classes_that_the_schema_does_not_have_are_refused(tmp_path):
    path = tmp_path / "model.json"
    trained(whole_schema()).save(path)
    written = json.loads(path.read_text())
    written["target"]["classes"] = ["ill", "well"]
    path.write_text(json.dumps(written))
    with pytest.raises(ValueError, match="its classes are not those of its schema"):
        privfit.load(path)


def test_pickles_are_small_and_hold_no_cell():
    frame = people(5_000)
    frame["region"] = [f"CANARY{i}" for i in range(len(frame))]  # nothing that the schema lists
    frame["income"] = 1234.5 + 1e-7 * np.arange(len(frame))
    model = DPLogisticRegression(1.0, 1e-6, schema=whole_schema(dates=True)).fit(frame)
    pickled = pickle.dumps(model)
    assert len(pickled) < 50_000
    cells = [value.tobytes() for value in frame["income"].to_numpy()[1:200]]
    assert b"CANARY" not in pickled
    assert not any(cell in pickled for cell in cells)
    assert b"CANARY" not in to_json(model.published()).encode()
    model.table_ = frame
    spoiled = pickle.dumps(model)  # the search would find them
    assert b"CANARY" in spoiled
    assert any(cell in spoiled for cell in cells)


def test_what_is_published_is_released_or_public():
    """Whoever adds a field says here, and in docs/privacy.md, why it may leave the house (claim R1)."""
    released = {
        "weights",
        "intercepts",
        "covariance",
        "inference",
        "bounds",
        "steps",
    }  # by the solver, through the curator
    declared = {"kind", "link", "has_intercept", "target", "feature_names", "columns", "unit_rows", "schema"}
    declared |= {"settings", "weighting"}
    said = {"privacy", "evidence", "versions"}  # the promise and what was spent on it (R2); of software
    assert {field.name for field in fields(Published)} == released | declared | said
