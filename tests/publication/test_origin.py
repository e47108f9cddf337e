"""Where a release comes from: only what was declared, or stands in the ledger before the first look."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest

import privfit
from privfit import DPLogisticRegression, Ledger
from privfit.estimators.publishing import statement_from_dict, statement_to_dict
from privfit.metrics import evaluate
from privfit.publication import from_json, to_json

X = np.random.default_rng(0).uniform(0, 1, (60, 2))
Y = (X[:, 0] > 0.5).astype(int)
SETTINGS = {"classes": (0, 1), "feature_bounds": (0, 1)}


def lasting(tmp_path, epsilon=3.0):
    return Ledger.open(f"sqlite:///{tmp_path}/people.db", dataset="census-2026", epsilon=epsilon, delta=1e-6)


def test_a_model_of_a_lasting_ledger_names_its_data_set_and_its_ledger(tmp_path):
    ledger = lasting(tmp_path)
    model = DPLogisticRegression(n_records=60, ledger=ledger, **SETTINGS).fit(X, Y)
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    origin = model.published().privacy["origin"]
    assert origin == {"dataset": "census-2026", "ledger": ledger.identifier, "day": today, "records": 60}
    model.save(tmp_path / "model.json")
    assert privfit.load(tmp_path / "model.json").privacy_ == model.privacy_


def test_without_ledger_and_declared_number_only_the_day_is_known():
    model = DPLogisticRegression(**SETTINGS).fit(X, Y)
    assert set(model.published().privacy["origin"]) == {"day"}
    exact = DPLogisticRegression(solver="nonprivate", **SETTINGS).fit(X, Y)
    assert "origin" not in exact.published().privacy  # nothing was charged on any day


def test_the_number_of_records_is_said_only_where_it_was_declared():
    """The true number, 60, is in the table; a declared one is repeated, whatever the truth is."""
    bought = DPLogisticRegression(**SETTINGS).fit(X, Y)
    assert "records" not in bought.privacy_.origin.to_dict()
    declared = DPLogisticRegression(n_records=np.int64(61), **SETTINGS).fit(X, Y)
    assert json.loads(to_json(declared.published()))["privacy"]["origin"]["records"] == 61


def test_the_day_is_that_of_the_first_charge_however_long_the_fit_takes(monkeypatch):
    days = iter(f"2026-01-{day:02d}" for day in [*range(1, 29)] * 100)
    monkeypatch.setattr("privfit.accounting.stores.signing.today", lambda: next(days))
    model = DPLogisticRegression(**SETTINGS).fit(X, Y)
    assert len(model.ledger_.entries) > 1
    assert model.privacy_.origin.day == model.ledger_.entries[0].when == "2026-01-01"


def test_scores_say_where_they_come_from_too(tmp_path):
    ledger = lasting(tmp_path)
    model = DPLogisticRegression(ledger=ledger, **SETTINGS).fit(X, Y)
    scores = evaluate(model, X, Y, epsilon=0.5, n_records=60).to_dict()["privacy"]
    assert scores["origin"]["ledger"] == model.privacy_.origin.ledger
    assert scores["origin"]["records"] == 60
    assert scores["promise"]["epsilon"] == 0.5
    assert scores["account"]["epsilon"] == 3.0
    assert statement_from_dict(scores).rho == scores["rho"]


def test_a_file_of_an_earlier_version_has_no_origin_and_is_read():
    document = json.loads(to_json(DPLogisticRegression(**SETTINGS).fit(X, Y).published()))
    del document["privacy"]["origin"]
    old = from_json(json.dumps(document))
    assert "origin" not in statement_to_dict(statement_from_dict(old.privacy))


@pytest.mark.parametrize(
    "origin",
    [
        {"who": "alice"},
        {"day": "yesterday"},
        {"day": "2026-11-18\n"},
        {"records": 0},
        {"records": 1.5},
        {"dataset": 3},
        [],
    ],
)
def test_an_origin_that_is_none_is_refused(origin):
    document = json.loads(to_json(DPLogisticRegression(**SETTINGS).fit(X, Y).published()))
    document["privacy"]["origin"] = origin
    with pytest.raises(ValueError, match="its entry privacy/origin"):
        from_json(json.dumps(document))
