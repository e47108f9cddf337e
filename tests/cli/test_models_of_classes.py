"""From a messy file to predictions with models of several classes, at the command line."""

import csv
import json
import random

import pytest
from running import privfit

SCHEMA = """
[[columns]]
name = "who"
type = "id"

[[columns]]
name = "age"
type = "integer"
low = 18
high = 90

[label]
name = "ward"
classes = ["surgery", "general", "short stay"]
missing = "drop"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chance = random.Random(0)
    with open("stays.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["who", "age", "ward"])
        for i in range(900):
            age = chance.randint(18, 90)
            ward = "surgery" if age > 65 else "general" if age > 40 else "short stay"
            writer.writerow([f"p{i}", age if i % 30 else "", ward if i % 45 else ""])
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


def test_several_classes_are_trained_scored_explained_exported_and_predicted(folder):
    train = ("train", "stays.csv", "--schema", "schema.toml", "--epsilon", 5)
    privfit(*train, "--out", "model.json", "--report", "card.html")
    privfit("evaluate", "model.json", "stays.csv", "--out", "scores.json")
    scores = json.loads((folder / "scores.json").read_text())
    assert 0.0 <= scores["accuracy"]["value"] <= 1.0
    privfit("report", "model.json", "--scores", "scores.json", "--out", "card.html")
    page = (folder / "card.html").read_text()
    assert "Weights for short stay, all of them" in page
    low, high = (scores["recall"][end][1] for end in ("low", "high"))
    assert f"{scores['recall']['values'][1]:.3f} ({low:.3f} to {high:.3f})" in page
    (folder / "cut.json").write_text(json.dumps(scores | {"recall": {"labels": ["general"], "values": []}}))
    told = privfit("report", "model.json", "--scores", "cut.json", "--out", "card.html", code=2).stderr
    assert "cut.json holds no scores" in told
    heading = next(
        line for line in privfit("explain", "model.json").stdout.splitlines() if line.startswith("column ")
    )
    assert heading.split() == ["column", "level", "general", "short", "stay", "surgery", "change"]
    told = json.loads(privfit("explain", "model.json", "--json").stdout)
    assert {row["class"] for row in told["weights"]} == set(told["intercept"]) == set(told["classes"])
    assert told["speaks_for"] is None
    privfit("predict", "model.json", "stays.csv", "--probabilities", "--out", "predicted.csv")
    with open("predicted.csv", encoding="utf-8", newline="") as file:
        heading, *rows = csv.reader(file)
    probabilities = [f"probability of {ward}" for ward in ("general", "short stay", "surgery")]
    assert heading == ["who", "ward", *probabilities]
    assert len(rows) == 900
    assert all(sum(map(float, row[2:])) == pytest.approx(1.0) for row in rows)
    privfit("export", "model.json", "--numpy", "scorer.py")
    module = {}
    exec((folder / "scorer.py").read_text(), module)
    assert [str(module["predict"]([{"age": row}])[0]) for row in ("80", "")] == [
        _predicted(rows, folder, "80"),
        _predicted(rows, folder, ""),
    ]
    exact = json.loads(privfit("evaluate", "model.json", "stays.csv", "--public-data", "--json").stdout)
    assert set(exact) >= {"accuracy", "balanced_accuracy"}


def _predicted(rows, folder, age):
    """What was predicted for the first person of that age."""
    with open(folder / "stays.csv", encoding="utf-8", newline="") as file:
        ages = [row[1] for row in csv.reader(file)][1:]
    return rows[ages.index(age)][1]


def test_a_class_that_was_forgotten_is_refused_before_a_charge(folder):
    (folder / "schema.toml").write_text(SCHEMA.replace(', "short stay"', ""))
    told = privfit("train", "stays.csv", "--schema", "schema.toml", "--out", "model.json", code=2).stderr
    assert "ward: " in told
    assert "have another label; correct the classes, or tell one label from all others" in told
