"""`privfit train`: from a file and its schema to a model that may be published."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from privfit.cli.options import Budget, Data, DataSet, Delta, Epsilon, Json, account, writable
from privfit.cli.output import show


class Kind(StrEnum):
    """Models that can be trained."""

    LOGISTIC = "logistic"
    SVM = "svm"


def train(
    data: Data,
    schema: Annotated[Path, typer.Option(help="The schema: public facts about the columns.", dir_okay=False)],
    out: Annotated[Path, typer.Option(help="Where the model file goes.", dir_okay=False)],
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    model: Annotated[Kind, typer.Option(help="Which model to train.")] = Kind.LOGISTIC,
    budget: Budget = None,
    data_set: DataSet = None,
    report: Annotated[
        Path | None, typer.Option(help="Where a page about the model goes, too.", dir_okay=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a private model on a table.

    Everything that is looked at is paid for first, from the account that --budget names. The model file and
    the page may be published; nothing else about the records is printed or written.

    Example: privfit train people.csv --schema schema.toml --epsilon 1 --budget people.db --out model.json
    --report card.html
    """
    from privfit import DPLinearSVC, DPLogisticRegression, Schema

    facts = Schema.from_toml(schema)
    for path in filter(None, (out, report)):
        writable(path)
    ledger = None if budget is None else account(budget, data_set)
    estimator = {Kind.LOGISTIC: DPLogisticRegression, Kind.SVM: DPLinearSVC}[model]
    fitted = estimator(epsilon, delta, schema=facts, ledger=ledger, verbose=0 if as_json else 1).fit(data)
    fitted.save(out)
    written = f"The model is in {out}"
    if report is not None:
        fitted.report(report)
        written += f", the page about it in {report}"
    unpaid = (
        "\n\nNo account was charged. If these people's data are used again, nobody will add it up: keep an "
        "account with `privfit budget open` and --budget."
    )
    paid = unpaid if ledger is None else f"\n\n{ledger.statement()}"
    show(
        {
            "model": str(out),
            "report": None if report is None else str(report),
            "privacy": fitted.published().privacy,
            "account": None if ledger is None else ledger.statement(),
        },
        f"{written}.\n\n{fitted.privacy_}{paid}",
        as_json=as_json,
    )
