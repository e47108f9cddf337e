"""`privfit evaluate`: how good a model is on held-out records, with privacy unless the records are public."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from privfit.cli.guard import Mistake
from privfit.cli.options import Budget, Data, DataSet, Json, Model, account, writable
from privfit.cli.output import columns, show


def evaluate(
    model: Model,
    data: Data,
    rho: Annotated[float, typer.Option(help="The price; .01 is about epsilon .4 at delta 1e-6.")] = 0.01,
    budget: Budget = None,
    data_set: DataSet = None,
    public_data: Annotated[
        bool, typer.Option("--public-data", help="The records are public: exact scores, without a price.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Where the scores go as JSON, for `privfit report`.", dir_okay=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Score a model on records that it has not seen.

    Scores of people's records say something about them, so by default they are bought, with noise, from the
    account of these people.

    Example: privfit evaluate model.json held-out.csv --rho 0.01 --budget people.db --out scores.json
    """
    from privfit import load
    from privfit.schema import labels_of
    from privfit.schema.frames import opened

    fitted = load(model)
    if fitted.schema_ is None:
        raise Mistake(
            f"{model} was trained on numbers, without a schema, so it cannot read a file; use Python."
        )
    if out is not None:
        writable(out)
    if public_data and (budget is not None or out is not None):
        raise Mistake(
            "Scores of public data cost nothing and are in no report; leave --budget and --out out."
        )
    table = opened(data, fitted.schema_.names)
    labels = labels_of(table, fitted.schema_)
    if public_data:
        facts = _exact(fitted, table, labels)
        rows = [(name.replace("_", " "), f"{value:.4f}") for name, value in facts.items()]
        return show(facts, f"Exact, because these records are public:\n{columns(rows)}", as_json=as_json)
    from privfit.metrics import evaluate as buy

    ledger = None if budget is None else account(budget, data_set)
    scores = buy(fitted, table, labels, rho=rho, ledger=ledger)
    if out is not None:
        out.write_text(json.dumps(scores.to_dict(), indent=1), encoding="utf-8")
    paid = "" if ledger is None else f"\n\n{ledger.statement()}"
    return show(scores.to_dict(), f"{scores}{paid}", as_json=as_json)


def _exact(fitted: Any, table: Any, labels: Any) -> dict[str, float]:
    from sklearn import metrics

    positive = labels == fitted.classes_[1]
    predicted = fitted.predict(table)
    facts = {
        "accuracy": float(metrics.accuracy_score(labels, predicted)),
        "balanced_accuracy": float(metrics.balanced_accuracy_score(labels, predicted)),
        "roc_auc": float(metrics.roc_auc_score(positive, fitted.decision_function(table))),
    }
    if hasattr(fitted, "predict_proba"):
        chances = fitted.predict_proba(table)[:, 1]
        facts["log_loss"] = float(metrics.log_loss(positive, chances))
        facts["brier_score"] = float(metrics.brier_score_loss(positive, chances))
    return facts
