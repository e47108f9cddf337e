"""What others do with scores: raw tables, reports, models that came from a file."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import privfit
from privfit import DPLogisticRegression, Ledger, metrics
from privfit.preprocessing import Schema, SchemaEncoder

SCHEMA = Schema.from_toml("""
[[columns]]
name = "age"
type = "numeric"
low = 0
high = 100

[[columns]]
name = "smoker"
type = "categorical"
categories = ["no", "yes"]

[label]
name = "outcome"
classes = ["ill", "well"]
""")


def people(n=800):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"age": rng.uniform(0, 100, n), "smoker": rng.choice(["no", "yes"], n)})
    ill = table["age"] / 20 + (table["smoker"] == "yes") + rng.logistic(size=n) > 3
    return table, np.where(ill, "ill", "well")


@pytest.mark.filterwarnings("ignore::privfit.WeakPromiseWarning")
def test_raw_tables_are_scored_through_the_schema_of_the_pipeline():
    table, outcome = people()
    ledger = Ledger(rho=1e3)
    model = make_pipeline(
        SchemaEncoder(SCHEMA, sparse_output=False),
        DPLogisticRegression(rho=1.0, ledger=ledger, classes=("ill", "well")),
    ).fit(table, outcome)
    found = metrics.evaluate(model, table, outcome, rho=500.0)
    assert abs(found.accuracy.value - np.mean(model.predict(table) == outcome)) < 1e-3
    assert ledger.entries[-1].what == "scores"
    assert found.confusion_matrix.labels == ("ill", "well")


def test_a_single_score_finds_the_labels_of_a_raw_table(tmp_path):
    table, outcome = people()
    table.assign(outcome=outcome).to_csv(tmp_path / "people.csv")
    model = DPLogisticRegression(rho=1.0, ledger=Ledger(rho=1e3), schema=SCHEMA).fit(table, outcome)
    found = metrics.accuracy(model, tmp_path / "people.csv", rho=400.0)
    assert abs(found.value - np.mean(model.predict(table) == outcome)) < 1e-3


def test_reports_show_scores_and_models_from_files_are_scored_as_public(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(500, 2)), np.arange(500) % 2
    model = DPLogisticRegression(rho=0.1, ledger=Ledger(rho=1.0), classes=(0, 1)).fit(X, y)
    scores = metrics.evaluate(model, X, y, rho=0.1)
    model.report(tmp_path / "card.html", scores=scores)
    page = (tmp_path / "card.html").read_text()
    assert f"{scores.accuracy.value:.3f}" in page
    assert "AUC" in page
    model.save(tmp_path / "model.json")
    account = Ledger(rho=1.0)
    metrics.evaluate(privfit.load(tmp_path / "model.json"), X, y, rho=0.1, ledger=account)
    assert account.spent == 0.1
