"""Weights at the command line: a column of the schema, and --class-weight."""

import json

import numpy as np
import pytest
from running import privfit

from privfit import load

pandas = pytest.importorskip("pandas")

SCHEMA = """[[columns]]
name = "age"
type = "numeric"
low = 0
high = 120

[[columns]]
name = "pweight"
type = "weight"
max = 5

[label]
name = "ill"
classes = ["no", "yes"]
"""


@pytest.fixture
def survey(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{20 + k % 60},{1 + k % 4},{'yes' if k % 60 > 40 else 'no'}" for k in range(400)]
    (tmp_path / "survey.csv").write_text("\n".join(["age,pweight,ill", *rows]) + "\n")
    (tmp_path / "survey.toml").write_text(SCHEMA)
    return tmp_path


def train(*options, code=0):
    return privfit("train", "survey.csv", "--schema", "survey.toml", "--out", "m.json", *options, code=code)


def test_a_column_of_weights_is_read_and_paid_for(survey):
    privacy = json.loads(train("--json").stdout)["privacy"]
    assert "sum of weights" in privacy["spending"]
    assert "the largest weight, 5, is public" in privacy["text"]


def test_a_table_without_its_weights_is_refused_before_a_charge(survey):
    (survey / "survey.csv").write_text("age,ill\n40,no\n50,yes\n")
    assert "pweight" in train(code=2).stderr


def test_classes_have_weights(survey):
    said = json.loads(train("--class-weight", "yes:5", "--class-weight", "no:1", "--json").stdout)
    assert "the weights of the classes are public" in said["privacy"]["text"]


def test_balanced_classes_are_bought(survey):
    assert (
        "classes" in json.loads(train("--class-weight", "balanced", "--json").stdout)["privacy"]["spending"]
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("maybe:5", "--class-weight must be balanced, or label:weight with one of the labels no, yes."),
        ("even", "--class-weight must be balanced, or label:weight"),
        ("yes:five", "--class-weight needs a finite number that is not negative"),
        ("yes:-1", "--class-weight needs a finite number that is not negative"),
    ],
)
def test_words_that_make_no_sense_are_refused(survey, words, message):
    assert message in " ".join(train("--class-weight", words, code=2).stderr.split())


def test_numbers_have_no_classes(survey):
    numbers = SCHEMA.replace('classes = ["no", "yes"]', 'type = "number"\nlow = 0\nhigh = 1')
    (survey / "survey.toml").write_text(numbers)
    assert "--class-weight is about classes" in " ".join(
        train("--class-weight", "balanced", code=2).stderr.split()
    )


def test_scores_are_weighted_too(survey):
    train()
    bought = json.loads(privfit("evaluate", "m.json", "survey.csv", "--json").stdout)
    assert "sum of weights" in str(bought) or "records have weights" in str(bought)
    exact = json.loads(privfit("evaluate", "m.json", "survey.csv", "--public-data", "--json").stdout)
    table = pandas.read_csv("survey.csv")
    right = load("m.json").predict(table) == table["ill"]
    assert exact["accuracy"] == pytest.approx(np.average(right, weights=table["pweight"]))
