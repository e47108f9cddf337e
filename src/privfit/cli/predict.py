"""`privfit predict`: labels, or probabilities, for the rows of a file."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from privfit.cli.guard import Mistake
from privfit.cli.options import Data, Json, Model, writable
from privfit.cli.output import show


def predict(
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option(help="Where the predictions go, as CSV.", dir_okay=False)],
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="The probability of each class as well.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Predict for the rows of a table.

    The table has the columns of the schema; the label may be missing. Predictions say something about the
    people in the table, so treat them as you treat the table.

    Example: privfit predict model.json new-people.csv --out predictions.csv --probabilities
    """
    from privfit import load

    fitted = load(model)
    if fitted.schema_ is None:
        raise Mistake(
            f"{model} was trained on numbers, without a schema, so it cannot read a file; use Python."
        )
    if probabilities and not hasattr(fitted, "predict_proba"):
        raise Mistake("An SVM has no probabilities; leave --probabilities out.")
    writable(out)
    labels = fitted.predict(data)
    chances = fitted.predict_proba(data) if probabilities else None
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        names = [] if chances is None else [f"probability of {label}" for label in fitted.classes_]
        writer.writerow([fitted.schema_.label.name, *names])
        for i, label in enumerate(labels.tolist()):
            writer.writerow([label, *([] if chances is None else chances[i].tolist())])
    show(
        {"predictions": str(out), "rows": len(labels)},
        f"{len(labels)} predictions are in {out}.",
        as_json=as_json,
    )
