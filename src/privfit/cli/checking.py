"""Compare a table with its schema before a command uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from privfit.cli.guard import Mistake
from privfit.printable import brief

if TYPE_CHECKING:
    from privfit.schema.check import Purpose
    from privfit.schema.findings import Findings

NoCheck = Annotated[
    bool,
    typer.Option(
        "--no-check",
        help="Do not compare the table with the schema first. Whether that comparison fails depends on "
        "single records.",
    ),
]


def refuse_what_does_not_fit(findings: Findings, purpose: Purpose) -> None:
    """Print the findings to standard error; refuse a table in which whole columns would be lost."""
    for finding in findings.refusals:
        typer.echo(f"Refused: {brief(str(finding))}.", err=True)
    for finding in findings.warnings:
        typer.echo(f"Warning: {brief(str(finding))}.", err=True)
    if findings.refusals:
        spent = {"train": "charged", "evaluate": "charged", "predict": "predicted"}[purpose]
        raise Mistake(
            f"The table does not fit the schema, so nothing was {spent}; correct the table or the schema, or "
            "skip this check with --no-check. The list above counts records, so show it to nobody but the "
            "custodian of the data."
        )
