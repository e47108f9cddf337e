"""`privfit schema`: draft the public facts about a table, and hold the table against them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from privfit.cli.options import Data, Json
from privfit.cli.output import show

schema = typer.Typer(
    no_args_is_help=True,
    help="Draft a schema, and check a table against it.",
    rich_markup_mode=None,
)


@schema.command()
def draft(
    data: Data,
    label: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    leak: Annotated[
        bool,
        typer.Option("--leak", help="Fill in bounds and categories from the records, which reveals them."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Print a schema to be filled in, from the names and types of the columns alone.

    Example: privfit schema draft people.csv --label income > schema.toml
    """
    from privfit import Schema

    text = Schema.draft(data, label=label, leak=leak)
    show({"toml": text}, text.rstrip("\n"), as_json=as_json)


@schema.command()
def check(
    data: Data,
    schema: Annotated[Path, typer.Option(help="The schema.", dir_okay=False)],
    as_json: Json = False,
) -> None:
    """List by column what does not fit the schema; for the custodian alone, because it counts records.

    The exit code is 1 if something does not fit.

    Example: privfit schema check people.csv --schema schema.toml
    """
    from privfit import Schema

    findings = Schema.from_toml(schema).check(data)
    show(
        {"fits": findings.fits, "for_the_custodian_only": [asdict(finding) for finding in findings.found]},
        str(findings),
        as_json=as_json,
    )
    if not findings.fits:
        raise typer.Exit(1)
