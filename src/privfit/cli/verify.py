"""`privfit verify`: check a privacy guarantee without the records."""

from __future__ import annotations

from typing import Annotated

import typer

from privfit.cli.evidence import FileWithEvidence
from privfit.cli.guard import Mistake
from privfit.cli.options import Dataset, Json, ledger_in
from privfit.cli.output import show, waiting, wrapped


def verify(
    file: FileWithEvidence,
    store: Annotated[
        str | None,
        typer.Option(
            "--ledger",
            help="The store of the ledger that paid: people.db, sqlite:///... or postgresql://...; compares "
            "the seal.",
        ),
    ] = None,
    dataset: Dataset = None,
    as_json: Json = False,
) -> None:
    """Check a privacy guarantee without the records.

    An independent accountant, dp_accounting, converts the privacy budget into epsilon. Prices are added up
    exactly and compared with the noise. With --ledger, the ledger must hold the charge under the seal that
    the evidence names. The sensitivities cannot be checked here; docs/privacy.md proves them. Files of
    earlier versions have fewer facts, so fewer of them are checked. The exit code is 1 if a check failed.

    Example: privfit verify model.json --ledger people.db
    """
    if store is None and dataset is not None:
        raise Mistake("--dataset names a ledger in a store; name the store, too, by --ledger.")
    from privfit.verification import read_document
    from privfit.verification import verify as check

    found = read_document(file)
    if dataset is None and found.evidence is not None:
        dataset = found.evidence["origin"].get("dataset")
    ledger = None if store is None else ledger_in(store, dataset)
    with waiting("Checking"):
        verification = check(file, ledger=ledger)
    verdict = "No check failed." if verification.holds else "A check FAILED."
    show(
        {
            "holds": verification.holds,
            "checks": [
                {"about": check.about, "holds": check.holds, "sentence": check.sentence}
                for check in verification.checks
            ],
        },
        "\n".join([*(wrapped(check) for check in verification.checks), verdict]),
        as_json=as_json,
    )
    if not verification.holds:
        raise typer.Exit(1)
