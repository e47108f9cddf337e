"""`privfit evaluate`: how good a model is on held-out records, with privacy unless the records are public."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from privfit.cli.checking import NoCheck, check_first
from privfit.cli.files import check_outputs, replacing
from privfit.cli.guard import Mistake
from privfit.cli.options import Data, Dataset, Delta, Json, LedgerStore, Model, ledger_of, paid, spending
from privfit.cli.output import columns, document, show, waiting, wrapped
from privfit.cli.tables import read_model_of_tables, read_table

RHO = 0.01


def evaluate(
    model: Model,
    data: Data,
    rho: Annotated[
        float | None, typer.Option(help="The price, by default .01: about epsilon .6 at delta 1e-6.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="The price as (epsilon, delta), instead.")] = None,
    delta: Delta = 1e-6,
    store: LedgerStore = None,
    dataset: Dataset = None,
    public_data: Annotated[
        bool, typer.Option("--public-data", help="The records are public: exact scores, without a price.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Where the scores go as JSON, for `privfit report`.", dir_okay=False)
    ] = None,
    no_check: NoCheck = False,
    as_json: Json = False,
) -> None:
    """Score a model on records that it has not seen.

    Scores of people's records say something about them, so by default they are bought, with noise, from the
    ledger of these people. Their number decides how large the noise is: 1,000 records give the accuracy to
    within .03 at the price of rho = .01.

    Example: privfit evaluate model.json held-out.csv --rho 0.01 --ledger people.db --out scores.json
    """
    if rho is not None and epsilon is not None:
        raise typer.BadParameter("Give one of --rho and --epsilon.")
    if public_data and any(given is not None for given in (rho, epsilon, store, dataset, out)):
        raise Mistake(
            "Scores of public data have no price and are in no report; leave --rho, --epsilon, --ledger, "
            "--dataset and --out out."
        )
    check_outputs(out, inputs=(model, *data))
    fitted = read_model_of_tables(model)
    ledger = ledger_of(store, dataset)
    schema = fitted.schema_
    declared = (*schema.features, schema.label)
    table = read_table(data, declared, no_repeated_ids=None if public_data or no_check else schema)
    table = check_first(table, schema, "evaluate", skip=no_check)
    if public_data:
        facts = _exact(fitted, table)
        from privfit.report.titles import score_title

        rows = [("score", "value"), *((score_title(name), f"{facts[name]:.4f}") for name in facts)]
        return show(facts, f"Exact, because these records are public:\n{columns(rows)}", as_json=as_json)
    with spending(ledger), waiting("Scoring"):
        from privfit.metrics import evaluate as buy
        from privfit.schema import labels_of

        price = RHO if rho is None and epsilon is None else rho
        labels = labels_of(table, fitted.schema_)
        scores = buy(fitted, table, labels, rho=price, epsilon=epsilon, delta=delta, ledger=ledger)
        if out is not None:
            with replacing(out) as file:
                file.write_text(document(scores.to_dict()) + "\n", encoding="utf-8")
    written = "" if out is None else f"\n\nThe scores are in {out}."
    return show(scores.to_dict(), f"{scores}{written}\n\n{wrapped(paid(ledger))}", as_json=as_json)


def _exact(fitted: Any, table: Any) -> dict[str, float]:
    with waiting("Scoring"):
        from sklearn import metrics

        from privfit.schema.labelling import labels_in

        labels, has_label = labels_in(table, fitted.schema_)
        table = table if has_label is None else table.filter(has_label)
        predicted = fitted.predict(table)
        link = fitted.published().link
        if not link.predicts_classes:
            return _of_numbers(labels, predicted, link)
        if len(fitted.classes_) > 2:
            return _of_classes(fitted, table, labels, predicted)
        positive = labels == fitted.classes_[1]
        facts = {"accuracy": float(metrics.accuracy_score(labels, predicted))}
        if 0 < positive.sum() < len(positive):  # otherwise there is nothing to tell apart
            facts["balanced_accuracy"] = float(metrics.balanced_accuracy_score(labels, predicted))
            facts["roc_auc"] = float(metrics.roc_auc_score(positive, fitted.decision_function(table)))
        if hasattr(fitted, "predict_proba"):
            chances = fitted.predict_proba(table)[:, 1]
            facts["brier_score"] = float(metrics.brier_score_loss(positive, chances))
            facts["log_loss"] = float(metrics.log_loss(positive, chances, labels=[False, True]))
        return facts


def _of_numbers(targets: Any, predicted: Any, link: Any) -> dict[str, float]:
    """Return exact scores of predicted numbers; of counts, the share of the deviance that is explained."""
    from sklearn import metrics

    from privfit.models.links import LOG

    facts = {
        "r2": float(metrics.r2_score(targets, predicted)) if len(targets) > 1 else float("nan"),
        "mean_absolute_error": float(metrics.mean_absolute_error(targets, predicted)),
    }
    if link is LOG:
        within = predicted.clip(1e-300, 1e300)
        facts["mean_poisson_deviance"] = float(metrics.mean_poisson_deviance(targets, within))
    return facts


def _of_classes(fitted: Any, table: Any, labels: Any, predicted: Any) -> dict[str, float]:
    """Return exact scores of several classes."""
    from sklearn import metrics

    facts = {
        "accuracy": float(metrics.accuracy_score(labels, predicted)),
        "balanced_accuracy": float(metrics.balanced_accuracy_score(labels, predicted)),
    }
    if hasattr(fitted, "predict_proba"):
        chances = fitted.predict_proba(table)
        facts["log_loss"] = float(metrics.log_loss(labels, chances, labels=fitted.classes_))
    return facts
