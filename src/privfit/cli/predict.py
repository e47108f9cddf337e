"""`privfit predict`: labels, or probabilities, for the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from privfit.cli.checking import NoCheck, check_first
from privfit.cli.files import check_outputs, replacing
from privfit.cli.guard import Mistake
from privfit.cli.options import Data, Json, Model
from privfit.cli.output import show, waiting
from privfit.cli.tables import paths_in, read_model_of_tables, read_table


def predict(
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option(help="Where the predictions go, as CSV.", dir_okay=False)],
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="The probability of each class as well.")
    ] = False,
    no_check: NoCheck = False,
    as_json: Json = False,
) -> None:
    """Predict for the rows of a table.

    The table has the columns of the schema; it needs no label. Row i of what is written belongs to row i of
    the table, and begins with its id if the schema declares an id and the table has it. Predictions say
    something about the people in the table, so treat them as you treat the table.

    Example: privfit predict model.json new-people.csv --probabilities --out predictions.csv
    """
    check_outputs(out, inputs=(model, *paths_in(data)))
    fitted = read_model_of_tables(model)
    from privfit.schema import Identifier

    if probabilities and fitted.published().link.probabilities is None:
        raise Mistake("This model gives no probabilities; leave --probabilities out.")
    identifiers = [column for column in fitted.schema_.columns if isinstance(column, Identifier)]
    table = read_table(data, fitted.schema_.features, if_there=identifiers)
    table = check_first(table, fitted.schema_, "predict", skip=no_check)
    with waiting("Predicting"):
        from privfit.publication.csv_file import write_csv

        ids = [column.name for column in identifiers if column.name in table.column_names]
        head = [*ids, fitted.schema_.label.name]
        columns = [*(_cells(table[name]) for name in ids), fitted.predict(table).tolist()]
        if probabilities:
            head += [f"probability of {label}" for label in fitted.classes_]
            columns += fitted.predict_proba(table).T.tolist()
        # ids of a CSV file that are no UTF-8 text are written as the bytes that they are
        with (
            replacing(out) as path,
            path.open("w", newline="", encoding="utf-8", errors="surrogateescape") as file,
        ):
            write_csv(file, (head, *zip(*columns, strict=True)))
    show({"predictions": str(out)}, f"The predictions are in {out}.", as_json=as_json)


def _cells(column: Any) -> list[Any]:
    """Return cells as they are read; the bytes of a CSV file as text."""
    cells: list[Any] = column.to_pylist()
    return [cell.decode("utf-8", "surrogateescape") if isinstance(cell, bytes) else cell for cell in cells]
