"""What `train`, `evaluate` and `predict` do first: compare the table with the schema."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privfit.cli.guard import Mistake
from privfit.cli.output import progress
from privfit.printable import brief

if TYPE_CHECKING:
    from privfit.schema import Schema
    from privfit.schema.check import Purpose
    from privfit.schema.findings import Findings

NoCheck = Annotated[
    bool,
    typer.Option(
        "--no-check",
        help="Skip the comparison with the schema; whether it refuses depends on single records.",
    ),
]


def check_first(table: Any, schema: Schema, purpose: Purpose, *, skip: bool) -> Any:
    """Refuse a table of which columns would be lost, before anything is charged.

    What is found is told on the error stream alone, to the custodian of the data. It changes nothing that is
    fitted and is written nowhere.

    Parameters
    ----------
    table : pyarrow.Table
        The columns that the command needs.
    schema : Schema
        What they should be. Ids are looked at when the table is read.
    purpose : {"train", "evaluate", "predict"}
        What the command is.
    skip : bool
        Whether the user said --no-check.

    Returns
    -------
    table : pyarrow.Table
        The same records, stored so that they are read again quickly.
    """
    if skip:
        return table
    with progress("Checking the table") as show:
        from privfit.schema.stored import coded

        table = coded(table, show)
        findings = replace(schema, columns=schema.features).check(table, purpose)
    refuse_what_does_not_fit(findings, purpose)
    return table


def refuse_what_does_not_fit(findings: Findings, purpose: Purpose) -> None:
    """Say what was found on the error stream, and refuse a table of which columns would be lost."""
    for finding in findings.refusals:
        typer.echo(f"Refused: {brief(str(finding))}.", err=True)
    for finding in findings.warnings:
        typer.echo(f"Warning: {brief(str(finding))}.", err=True)
    if findings.refusals:
        spent = {"train": "charged", "evaluate": "charged", "predict": "predicted"}[purpose]
        raise Mistake(
            f"The table does not fit the schema, so nothing was {spent}; correct the table or the schema, or "
            "skip this check with --no-check. What is listed above counts records: it is for the custodian "
            "of the data alone."
        )
