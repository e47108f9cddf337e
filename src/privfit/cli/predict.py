"""`privfit predict`: labels, or probabilities, for the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privfit.cli.files import check_outputs, replacing
from privfit.cli.guard import Mistake
from privfit.cli.options import Data, Json, Model
from privfit.cli.output import show, waiting
from privfit.cli.tables import read_model_of_tables, read_table


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

    The table has the columns of the schema; it needs no label. Row i of what is written belongs to row i of
    the table. Predictions say something about the people in the table, so treat them as you treat the table.

    Example: privfit predict model.json new-people.csv --probabilities --out predictions.csv
    """
    check_outputs(out, inputs=(model, *data))
    fitted = read_model_of_tables(model)
    if probabilities and not hasattr(fitted, "predict_proba"):
        raise Mistake("An SVM has no probabilities; leave --probabilities out.")
    table = read_table(data, fitted.schema_.features)
    with waiting("Predicting"):
        from privfit.publication.csv_file import write_csv

        rows = [[label] for label in fitted.predict(table).tolist()]
        head = [fitted.schema_.label.name]
        if probabilities:
            head += [f"probability of {label}" for label in fitted.classes_]
            chances = fitted.predict_proba(table).tolist()
            rows = [[*row, *chance] for row, chance in zip(rows, chances, strict=True)]
        with replacing(out) as path, path.open("w", newline="", encoding="utf-8") as file:
            write_csv(file, [head, *rows])
    show({"predictions": str(out)}, f"The predictions are in {out}.", as_json=as_json)
