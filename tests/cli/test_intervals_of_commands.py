"""Intervals at the command line: what was published about them is explained, and shown on the page."""

import json
import sys
from pathlib import Path

import pytest
from people import SCHEMA, write_table
from running import privfit

sys.path.append(str(Path(__file__).parents[1] / "publication"))
from inferred import LABELS, published_model


@pytest.fixture
def saved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = published_model("logit")
    model.save("model.json")
    return model


@pytest.mark.parametrize("kind", LABELS)
def test_explain_prints_the_table_that_python_prints(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = published_model(kind)
    model.save("model.json")
    text = privfit("explain", "model.json", "--intervals", "--level", "0.9").stdout
    assert text == f"{model.summary(0.9)}\n"


def test_json_has_every_effect(saved):
    told = json.loads(privfit("explain", "model.json", "--intervals", "--json").stdout)
    assert told["level"] == 0.95
    assert told["changed"] == "the log odds of outcome = well"
    assert told["effects"] == json.loads(json.dumps(saved.summary().records()))


def test_the_largest_effects_may_be_shown_alone(saved):
    text = privfit("explain", "model.json", "--intervals", "--top", "3").stdout
    assert text == f"{saved.summary().top(3)}\n"


def test_a_number_may_be_shown_per_several_units(saved):
    text = privfit("explain", "model.json", "--intervals", "--per", "age:10").stdout
    assert text == f"{saved.summary(per={'age': 10})}\n"
    for words, reason in (
        ("age", "a column, a colon and a number"),
        ("age:ten", "a column, a colon and a number"),
        ("region:1", "'region'"),
        ("age:1000", "at most 72 years"),
    ):
        assert reason in privfit("explain", "model.json", "--intervals", "--per", words, code=2).stderr


def test_the_page_shows_them(saved, tmp_path):
    privfit("report", "model.json", "--out", "card.html")
    assert 'class="effects"' in (tmp_path / "card.html").read_text()


def test_a_trained_model_has_intervals_if_they_were_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "people.csv", 6000, seed=1)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    train = ("train", "people.csv", "--schema", "schema.toml", "--epsilon", "8", "--out")
    said = " ".join(privfit(*train, "m.json", "--inference", "--report", "card.html").stdout.split())
    assert "Standard errors of all effects are known: privfit explain m.json --intervals shows them." in said
    text = privfit("explain", "m.json", "--intervals").stdout
    (smoker,) = (line.split() for line in text.splitlines() if line.startswith("smoker = yes"))
    # the table was made with odds of .8 against .1 and more, so the odds ratio is far above 5
    assert smoker[-4] == "<0.001"
    assert 5.0 < float(smoker[-2]) < float(smoker[-1])
    assert "city = Basel" in text
    assert "Spent on intervals" in text
    assert 'class="effects"' in (tmp_path / "card.html").read_text()
    said = " ".join(privfit(*train, "n.json", "--inference", "--epsilon", "0.001").stdout.split())
    assert "The privacy budget is too small for standard errors of the effects." in said
    said = " ".join(privfit(*train, "two.json", "--effect", "smoker", "--effect", "born").stdout.split())
    assert "Standard errors of all effects are known" in said
    told = json.loads(privfit("explain", "two.json", "--intervals", "--json").stdout)["effects"]
    assert {effect["column"] for effect in told if effect["std_err"] is not None} == {"smoker", "born"}
    refused = privfit(*train, "x.json", "--effect", "smokers", code=2).stderr
    assert "--effect names 'smokers', which is no column" in " ".join(refused.split())
    refused = privfit(*train, "x.json", "--effect", "smoker", "--inference", code=2).stderr
    assert "--inference asks for all effects" in " ".join(refused.split())
    privfit(*train, "plain.json")
    assert "has no intervals" in privfit("explain", "plain.json", "--intervals", code=2).stderr


def test_a_model_that_cannot_have_intervals_is_refused_before_a_charge(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "people.csv", 100, seed=1)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    privfit("ledger", "open", "people.db", "--dataset", "people", "--epsilon", "2")
    refused = privfit(
        *("train", "people.csv", "--schema", "schema.toml", "--out", "m.json", "--ledger", "people.db"),
        *("--model", "svm", "--inference"),
        code=2,
    )
    assert "inference" in refused.stderr
    assert json.loads(privfit("ledger", "status", "people.db", "--json").stdout)["spent"] == 0.0


def test_what_cannot_be_shown_is_refused(saved):
    saved.inference_ = None
    saved.save("plain.json")
    refused = privfit("explain", "plain.json", "--intervals", code=2).stderr
    assert "plain.json has no intervals; train a model with: privfit train --inference" in " ".join(
        refused.split()
    )
    refused = privfit("explain", "model.json", "--intervals", "--level", "95", code=2).stderr
    assert "--level must be between 0 and 1" in refused
