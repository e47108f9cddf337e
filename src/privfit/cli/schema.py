"""`privfit schema`: draft the public facts about a table, and compare the table with them."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

import typer

from privfit.cli.options import Data, Json, SchemaFile
from privfit.cli.output import show
from privfit.cli.tables import read_table, reading_table, sources
from privfit.cli.teaching import TaughtCommand

schema = typer.Typer(
    no_args_is_help=True,
    help="Draft a schema, and check a table against it.",
    rich_markup_mode=None,
)


class LabelType(StrEnum):
    """The type of the column to predict."""

    CLASSES = "classes"
    NUMBER = "number"
    COUNT = "count"


@schema.command(cls=TaughtCommand)
def draft(
    data: Data,
    label: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    label_type: Annotated[
        LabelType, typer.Option(help="The type of the column to predict: classes, numbers or counts.")
    ] = LabelType.CLASSES,
    leak: Annotated[
        bool,
        typer.Option(
            "--leak", help="Fill in bounds and categories from the records, which reveals their values."
        ),
    ] = False,
    curves: Annotated[
        bool,
        typer.Option("--curves", help="Declare curves for columns of numbers and dates."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Print a schema to be filled in, from names and types.

    The first line of a CSV file must have the names of the columns; the rest of the file is not read. Fill in
    bounds, categories and classes from public knowledge: a code book, a law, or common sense.

    Example: privfit schema draft people.csv --label income > schema.toml
    """
    from privfit import Schema

    table: Any = read_table(data) if leak else sources(data)
    text = Schema.draft(table, label=label, label_type=label_type.value, leak=leak, curves=curves)
    show({"toml": text}, text.rstrip("\n"), as_json=as_json)


@schema.command(cls=TaughtCommand)
def check(
    data: Data,
    schema: SchemaFile,
    as_json: Json = False,
) -> None:
    """List for each column what does not fit the schema.

    The output is for the custodian of the data only: do not publish it. It quotes no values, but it counts
    records. The exit code is 1 if something does not fit.

    Example: privfit schema check people.csv --schema schema.toml
    """
    from privfit import Schema

    facts = Schema.from_toml(schema)
    with reading_table(data) as (source, on_read):
        from privfit.schema.check import Checking
        from privfit.schema.stored import coded

        checking = Checking(facts)
        for table in source.read(None, on_read):
            checking.see(coded(table))
    findings = checking.findings()
    show(
        {
            "fits": findings.fits,
            "for_the_custodian_only": [
                asdict(finding) | {"fits": finding.fits} for finding in findings.found
            ],
        },
        str(findings),
        as_json=as_json,
    )
    if not findings.fits:
        raise typer.Exit(1)
