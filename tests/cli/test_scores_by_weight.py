"""Records count by the column of weights that the schema declares, in scores at the command line, too."""

import csv
import json
import random

import pytest
from running import privfit

SCHEMA = """
[[columns]]
name = "age"
type = "integer"
low = 18
high = 90

[[columns]]
name = "pweight"
type = "weight"
max = 4

[label]
name = "sick"
classes = ["no", "yes"]
"""


@pytest.fixture
def survey(tmp_path, monkeypatch):
    """All old people are sick, and every second young one, whose weight counts as 4: most of the weight."""
    monkeypatch.chdir(tmp_path)
    chance = random.Random(0)
    with open("survey.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "pweight", "sick"])
        for i in range(1200):
            old = chance.random() < 0.5
            odd = not old and i % 2 == 0
            writer.writerow([chance.randint(70, 90) if old else chance.randint(18, 40), 9 if odd else 1,
                             "yes" if old or odd else "no"])  # fmt: skip
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


def test_exact_and_private_scores_are_weighted_alike(survey):
    privfit("train", "survey.csv", "--schema", "schema.toml", "--epsilon", 5, "--out", "model.json")
    exact = json.loads(privfit("evaluate", "model.json", "survey.csv", "--public-data", "--json").stdout)
    bought = json.loads(privfit("evaluate", "model.json", "survey.csv", "--rho", 500, "--json").stdout)
    for name, value in exact.items():
        assert bought[name]["value"] == pytest.approx(value, abs=0.05), name
    privfit("predict", "model.json", "survey.csv", "--out", "predicted.csv")
    with open("survey.csv", encoding="utf-8") as file, open("predicted.csv", encoding="utf-8") as predicted:
        rows = list(zip(csv.DictReader(file), csv.DictReader(predicted), strict=True))
    right = [row["sick"] == guess["sick"] for row, guess in rows]
    weights = [min(float(row["pweight"]), 4.0) for row, _ in rows]
    weighted = sum(weight for weight, hit in zip(weights, right, strict=True) if hit) / sum(weights)
    assert exact["accuracy"] == pytest.approx(weighted)
    assert exact["accuracy"] != pytest.approx(sum(right) / len(right), abs=0.02)
    assert "the largest weight, 4, is public" in " ".join(bought["privacy"]["text"].split())
