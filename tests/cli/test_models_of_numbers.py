"""From a messy file to predictions with models of numbers, at the command line."""

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
name = "town"
type = "categorical"
categories = ["Basel", "Bern"]

[label]
name = "cost"
type = "number"
low = 0
high = 10_000
unit = "$"
thousands = ","
missing = "drop"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chance = random.Random(0)
    with open("bills.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "town", "cost"])
        for i in range(600):
            age, town = chance.randint(18, 90), chance.choice(["Basel", "Bern"])
            cost = 50 * age + (1000 if town == "Bern" else 0) + chance.randint(-200, 200)
            writer.writerow([age, town, "" if i % 50 == 0 else "n/a" if i % 50 == 1 else f"${cost:,}"])
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_a_number_is_trained_explained_shown_exported_and_predicted(folder):
    checked = privfit("schema", "check", "bills.csv", "--schema", "schema.toml", code=1).stdout
    assert "12 records have a label that is no number" in checked
    train = ("train", "bills.csv", "--schema", "schema.toml", "--epsilon", 5)
    told = privfit(*train, "--out", "model.json", "--report", "card.html")
    assert "Warning: cost: 12 records have a label that is no number" in told.stderr
    assert "records without a label are left out" in " ".join(told.stdout.split())
    explained = " ".join(privfit("explain", "model.json").stdout.split())
    assert "A weight is how many $ the prediction of cost changes" in explained
    weights = json.loads(privfit("explain", "model.json", "--json").stdout)
    assert weights["target"] == {"type": "interval", "low": 0.0, "high": 10000.0}
    assert weights["speaks_for"] is None
    assert "<dt>predicts</dt><dd>cost</dd>" in (folder / "card.html").read_text()
    privfit("predict", "model.json", "bills.csv", "--out", "predicted.csv")
    rows = rows_of("predicted.csv")
    assert rows[0] == ["cost"]
    assert len(rows) == 601
    privfit("export", "model.json", "--numpy", "scorer.py")
    module = {}
    exec((folder / "scorer.py").read_text(), module)
    table = {"age": [50, ""], "town": ["Bern", "Basel"]}
    with open("two.csv", "w", encoding="utf-8") as file:
        file.write("age,town\n50,Bern\n,Basel\n")
    privfit("predict", "model.json", "two.csv", "--out", "predicted.csv", "--no-check")
    predicted = [float(row[0]) for row in rows_of("predicted.csv")[1:]]
    assert list(module["predict"](table)) == pytest.approx(predicted, rel=1e-12)
    privfit("evaluate", "model.json", "bills.csv", "--out", "scores.json")
    privfit("report", "model.json", "--scores", "scores.json", "--out", "card.html")
    assert "Mean absolute error" in (folder / "card.html").read_text()
    exact = json.loads(privfit("evaluate", "model.json", "bills.csv", "--public-data", "--json").stdout)
    assert set(exact) >= {"r2", "mean_absolute_error", "root_mean_squared_error"}
    bought = json.loads(privfit("evaluate", "model.json", "bills.csv", "--rho", 500, "--json").stdout)
    for name, value in exact.items():
        low, high = bought[name]["interval"]
        assert low - 2 * bought[name]["noise"] <= value <= high + 2 * bought[name]["noise"]
    assert bought["r2"]["value"] == pytest.approx(exact["r2"], abs=0.02)


MISTAKES = {
    "classes of a number": (
        ("--model", "logistic"),
        "--model logistic predicts classes, and the label 'cost' of schema.toml is a number; choose one of",
    ),
    "a setting of another model": (
        ("--model", "huber", "--quantile", 0.9),
        "--quantile is no setting of --model huber; leave it out.",
    ),
    "no model": (
        ("--model", "forest"),
        "--model must be one of huber, linear, logistic, poisson, quantile, svm, not forest",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_model_that_does_not_fit_is_refused_before_the_table_is_read(folder, name):
    options, message = MISTAKES[name]
    (folder / "bills.csv").unlink()
    (folder / "bills.csv").touch()
    told = privfit("train", "bills.csv", "--schema", "schema.toml", *options, "--out", "m.json", code=2)
    assert message in " ".join(told.stderr.split())


def test_numbers_are_planned_and_counts_are_not(folder):
    options = ("--people", 400, "--epsilon", 1, "--runs", 2)
    told = privfit("plan", *options, "--features", 3, "--r2", 0.4, "--json")
    facts = json.loads(told.stdout)
    assert facts["r2"] == 0.4
    assert facts["forecasts"][0]["accuracy"] is None
    assert "R²" in privfit("plan", *options, "--schema", "schema.toml").stdout, "its label is a number"
    told = privfit("plan", *options, "--features", 5, "--model", "poisson", code=2)
    assert "Poisson regression cannot be planned yet" in " ".join(told.stderr.split())


def test_numbers_for_a_label_of_classes_are_refused(folder):
    (folder / "schema.toml").write_text(
        SCHEMA.split("[label]")[0] + '[label]\nname = "cost"\nclasses = [0, 1]\n'
    )
    train = ("train", "bills.csv", "--schema", "schema.toml", "--model", "huber", "--out", "m.json")
    told = " ".join(privfit(*train, code=2).stderr.split())
    assert "--model huber predicts numbers, and the label 'cost' of schema.toml has classes;" in told


def test_a_quantile_is_a_setting_that_the_file_keeps(folder):
    train = ("train", "bills.csv", "--schema", "schema.toml", "--model", "quantile")
    told = privfit(*train, "--quantile", 3, "--out", "model.json", code=2).stderr
    assert "quantile must be at most 1" in told
    privfit(*train, "--quantile", 0.9, "--out", "model.json", "--report", "card.html")
    assert json.loads((folder / "model.json").read_text())["settings"] == {"quantile": 0.9}
    explained = " ".join(privfit("explain", "model.json").stdout.split())
    assert "The prediction is the number that 90% of such records are expected to stay below." in explained
    assert (
        "the 0.9 quantile of a number; the fit clipped targets to 0 and 10,000"
        in (folder / "card.html").read_text()
    )


def test_a_count_is_trained_by_a_poisson_regression(folder):
    with open("bills.csv", "w", encoding="utf-8") as file:
        file.write("age,town,visits\n")
        for i in range(500):
            file.write(f"{20 + i % 60},Bern,{(i % 60) // 20 if i % 40 else ''}\n")
    label = '[label]\nname = "visits"\ntype = "count"\nlargest = 9\nmissing = "drop"\n'
    (folder / "schema.toml").write_text(SCHEMA.split("[label]")[0] + label)
    train = ("train", "bills.csv", "--schema", "schema.toml", "--epsilon", 5, "--out", "model.json")
    told = privfit(*train, "--no-intercept", code=2).stderr
    assert "A Poisson regression needs an intercept, which holds the unit of the counts; leave" in told
    privfit(*train)
    written = json.loads((folder / "model.json").read_text())
    assert (written["kind"], written["target"]) == ("poisson", {"type": "counts", "largest": 9.0})
    explained = privfit("explain", "model.json").stdout
    assert "rate ratio" in explained
    weights = json.loads(privfit("explain", "model.json", "--json").stdout)["weights"]
    assert all(row["rate_ratio"] > 0.0 for row in weights)
    exact = json.loads(privfit("evaluate", "model.json", "bills.csv", "--public-data", "--json").stdout)
    names = {"r2", "mean_absolute_error", "root_mean_squared_error", "mean_poisson_deviance", "d2_poisson"}
    assert set(exact) == names
    privfit("evaluate", "model.json", "bills.csv", "--rho", 500, "--out", "scores.json")
    bought = json.loads((folder / "scores.json").read_text())
    assert set(bought) == {*names, "privacy", "evidence"}
    assert bought["mean_absolute_error"]["value"] == pytest.approx(exact["mean_absolute_error"], abs=0.05)
    privfit("report", "model.json", "--scores", "scores.json", "--out", "card.html")
    assert "Mean Poisson deviance" in (folder / "card.html").read_text()
