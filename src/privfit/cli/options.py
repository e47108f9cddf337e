"""Arguments and options that several commands share, and what they mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privfit.cli.guard import Mistake
from privfit.cli.output import waiting

if TYPE_CHECKING:
    from privfit.accounting import Ledger

Epsilon = Annotated[float, typer.Option(help="How much anyone may learn of one person; smaller is stricter.")]
Delta = Annotated[float, typer.Option(help="The probability with which the promise may fail.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, for programs.")]
Data = Annotated[Path, typer.Argument(help="A CSV or Parquet file, one row per person.", dir_okay=False)]
Model = Annotated[Path, typer.Argument(help="A model file, as `privfit train` writes it.", dir_okay=False)]
SchemaFile = Annotated[
    Path,
    typer.Option("--schema", help="The schema: public facts about the columns, in TOML.", dir_okay=False),
]
Store = Annotated[
    str, typer.Argument(help="Where accounts are kept: people.db, sqlite:///people.db or postgresql://...")
]
Budget = Annotated[
    str | None,
    typer.Option(help="The store of the account that pays: people.db, sqlite:///... or postgresql://..."),
]
DataSet = Annotated[
    str | None,
    typer.Option("--data-set", help="Whose account it is; may be left out if the store has only one."),
]

NO_ACCOUNT = (
    "No account was charged. If these people's data are used again, nobody will add it up: keep an account "
    "with `privfit budget open` and --budget."
)


def url_of(store: str) -> str:
    """Return the address of a store; a path alone is a SQLite file."""
    return store if "://" in store else f"sqlite:///{store}"


def account(store: str, data_set: str | None) -> Ledger:
    """Open the account of a data set that has one already."""
    with waiting("Opening the account"):
        from privfit.accounting import Ledger, list_datasets
        from privfit.accounting.lasting import Database

        url = url_of(store)
        database = Database(url, timeout=30.0)
        if not database.exists():
            raise Mistake(
                f"{database.path} is not there; open an account with: privfit budget open {store} "
                "--data-set NAME --epsilon E"
            )
        names = list_datasets(url)
        if data_set is None and len(names) == 1:
            (data_set,) = names
        if data_set is None or data_set not in names:
            asked = "Say which account it is" if data_set is None else f"There is no account of {data_set!r}"
            known = f"--data-set can be {', '.join(names)}" if names else "no account has been opened there"
            raise Mistake(f"{asked} in {database.url}; {known}.")
        return Ledger.open(url, dataset=data_set)


def account_of(budget: str | None, data_set: str | None) -> Ledger | None:
    """Open the account that pays, if one is to."""
    if budget is None:
        if data_set is not None:
            raise Mistake("--data-set names an account in a store; name the store, too, by --budget.")
        return None
    return account(budget, data_set)


@contextmanager
def spending(ledger: Ledger | None) -> Iterator[None]:
    """Let whoever interrupts what draws on an account know how it stands."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if ledger is not None:
            interrupt.add_note(f"The account of {ledger.dataset!r}: {ledger.statement()}")
        raise


def paid(ledger: Ledger | None) -> str:
    """Say how the account stands after a payment, or that there is none."""
    if ledger is None:
        return NO_ACCOUNT
    return f"The account of {ledger.dataset!r}: {ledger.statement()}"
