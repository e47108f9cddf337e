"""Curves at the command line: from a draft to a model that is explained, shown and exported."""

import json
import runpy

import numpy as np
import pytest
from people import SCHEMA, write_table
from running import privfit

from privfit import Schema, load


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "people.csv", 3000, seed=1)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


def train(*options, code=0):
    return privfit("train", "people.csv", "--schema", "schema.toml", "--out", "m.json", *options, code=code)


def test_a_draft_declares_curves_that_can_be_filled_in(folder):
    text = privfit("schema", "draft", "people.csv", "--label", "sick", "--curves").stdout
    assert text.count("curve = true") == 6  # of five columns and of the guide
    assert "curve" not in Schema.from_toml("schema.toml").to_toml()


def test_a_model_with_curves_is_explained_shown_and_exported(folder):
    said = " ".join(train("--curves", "--epsilon", "4", "--records", "3000").stdout.split())
    assert "The model is in m.json. 2 columns have a curve, which privfit explain describes" in said
    model = load("m.json")
    assert list(model.curves_) == ["born", "income"]
    text = privfit("explain", "m.json").stdout
    lines = [line for line in text.splitlines() if line.startswith("income")]
    assert 1 <= len(lines) <= 4
    assert "from 0 to " in text
    assert "row for each stretch" in " ".join(text.split())
    explained = json.loads(privfit("explain", "m.json", "--json").stdout)["curves"]
    assert [curve["column"] for curve in explained] == ["born", "income"]
    assert explained[0]["at"][0] == "1920-01-01"
    assert explained[1]["effects"] == model.curves_["income"].heights.tolist()
    privfit("report", "m.json", "--out", "card.html")
    assert (folder / "card.html").read_text().count("<svg") == 2
    privfit("export", "m.json", "--numpy", "scorer.py")
    scorer = runpy.run_path("scorer.py")
    cells = {"born": ["1930-05-06", "", "1800-01-01", "2006-07-08"], "city": ["Bern", "?", "Genf", "Bern"]}
    cells |= {"income": ["$1,200", "-5", None, "190000"], "smoker": ["yes", "no", "?", ""]}
    np.testing.assert_allclose(scorer["predict_proba"](cells), model.predict_proba(cells), atol=1e-12)


def test_with_a_small_budget_there_are_no_curves_and_that_is_said(folder):
    text = train("--curves", "--epsilon", "0.001", "--records", "3000").stdout
    assert "No column has a curve, because the privacy budget is too small for one." in " ".join(text.split())
    assert "2 columns have no curve" in str(load("m.json").privacy_.notes)
    assert load("m.json").curves_ == {}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ('categories = ["Basel", "Bern", "Genf"]\ncurve = true', "column 'city' has a curve, which only"),
        ('thousands = ","\ncurve = -1', "curve of column 'income' must be true, false, a number of edges"),
        ('thousands = ","\ncurve = [5, 3]', "The edges of column 'income' must be"),
        ('thousands = ","\ncurve = "yes"', "curve of column 'income' must be true, false, a number of edges"),
    ],
)
def test_a_curve_that_makes_no_sense_is_refused_before_a_charge(folder, wrong, message):
    privfit("ledger", "open", "people.db", "--dataset", "people", "--epsilon", "1")
    right = wrong.split("\n")[0]
    (folder / "schema.toml").write_text(SCHEMA.replace(right, wrong))
    refusal = " ".join(train("--ledger", "people.db", code=2).stderr.split())
    assert message in refusal
    assert refusal.count(". ") == 0  # one sentence
    assert json.loads(privfit("ledger", "status", "people.db", "--json").stdout)["spent"] == 0
