"""`privfit predict`: predict labels, and probabilities, for the rows of a file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any

import typer

from privfit.cli.checking import NoCheck, refuse_what_does_not_fit
from privfit.cli.files import check_outputs, replacing
from privfit.cli.guard import Mistake
from privfit.cli.options import Data, Json, Model
from privfit.cli.output import show
from privfit.cli.tables import all_findings, checking_of, paths_in, read_model_of_tables, reading_table


def predict(
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option(help="File to write the predictions to, as CSV.", dir_okay=False)],
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Also write the probability of each class.")
    ] = False,
    no_check: NoCheck = False,
    as_json: Json = False,
) -> None:
    """Predict the label for each row of a table.

    The table needs the columns of the schema, but no label. Row i of the output belongs to row i of the
    table. It begins with the id if the schema declares an id and the table has it. Predictions reveal
    something about the people in the table, so protect them as you protect the table. The table is read in
    blocks of rows, so it may be larger than memory.

    Example: privfit predict model.json new-people.csv --probabilities --out predictions.csv
    """
    check_outputs(out, inputs=(model, *paths_in(data)))
    fitted = read_model_of_tables(model)
    if probabilities and fitted.published().link.probabilities is None:
        raise Mistake("This model gives no probabilities; leave --probabilities out.")
    from privfit.mapped import cache_directory
    from privfit.publication.csv_file import write_csv

    # The rows are first written to a temporary file, because the last row may still raise an error. Ids in a
    # CSV file that are not valid UTF-8 are written as the same bytes.
    with TemporaryFile(dir=cache_directory()) as predicted:
        text = TextIOWrapper(predicted, newline="", encoding="utf-8", errors="surrogateescape")
        write_csv(text, _predictions(fitted, data, probabilities=probabilities, check=not no_check))
        text.flush()
        predicted.seek(0)
        with replacing(out) as path, path.open("wb") as file:
            shutil.copyfileobj(predicted, file)
    show({"predictions": str(out)}, f"The predictions are in {out}.", as_json=as_json)


def _predictions(
    fitted: Any, data: Sequence[Any], *, probabilities: bool, check: bool
) -> Iterator[Sequence[Any]]:
    """Yield the names of the columns and then a row for each record; refuse a table that does not fit."""
    from privfit.schema import Identifier

    schema = fitted.schema_
    identifiers = [column for column in schema.columns if isinstance(column, Identifier)]
    names = [column.name for column in (*schema.features, *identifiers)]
    checking = checking_of(schema, "predict")
    with reading_table(data) as (source, on_read):
        from privfit.schema.frames import columns_of
        from privfit.schema.stored import coded
        from privfit.schema.taken import without_empty

        empty = next(source.read(names, lambda size: None))
        ids = [column for column in identifiers if column.name in empty.column_names]
        columns_of(empty, [*schema.features, *ids])  # raises if a column is missing or has a wrong type
        chances = [f"probability of {label}" for label in fitted.classes_] if probabilities else []
        yield [*(column.name for column in ids), schema.label.name, *chances]
        try:
            for part in without_empty(source.read(names, on_read)):
                table = coded(part)
                if check:
                    checking.see(table)
                columns = [*(_cells(table[column.name]) for column in ids), fitted.predict(table).tolist()]
                if probabilities:
                    columns += fitted.predict_proba(table).T.tolist()
                yield from zip(*columns, strict=True)
        except ValueError:  # the schema refuses a cell; the check says more about it
            if check:
                refuse_what_does_not_fit(all_findings(source, schema, names, "predict"), "predict")
            raise
    if check:
        refuse_what_does_not_fit(checking.findings(), "predict")


def _cells(column: Any) -> list[Any]:
    """Return cells as they were read; bytes from a CSV file become text."""
    cells: list[Any] = column.to_pylist()
    return [cell.decode("utf-8", "surrogateescape") if isinstance(cell, bytes) else cell for cell in cells]
