"""Arguments and options that several commands share, with their help texts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import clear_frames
from typing import TYPE_CHECKING, Annotated

import typer

from privfit.cli.guard import Mistake, lacks_memory
from privfit.cli.output import waiting
from privfit.cli.tables import table_named

if TYPE_CHECKING:
    from privfit.accounting import Ledger

Epsilon = Annotated[float, typer.Option(help="The epsilon of (epsilon, delta)-DP; smaller is more private.")]
Delta = Annotated[float, typer.Option(help="The delta of (epsilon, delta)-DP; below 1 / number of records.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")]
Data = Annotated[
    list[Path],  # or the texts of queries
    typer.Argument(
        help="A CSV or Parquet file with one record per row. Also several files, a directory of Parquet "
        "files, - for CSV from standard input, or a query: \"duckdb:SELECT ... FROM 'visits/*.parquet'\".",
        parser=table_named,
    ),
]
Model = Annotated[Path, typer.Argument(help="A model file that `privfit train` wrote.", dir_okay=False)]
SchemaFile = Annotated[
    Path,
    typer.Option("--schema", help="The schema: public facts about the columns, in TOML.", dir_okay=False),
]
Store = Annotated[
    str, typer.Argument(help="Where ledgers are kept: people.db, sqlite:///people.db or postgresql://...")
]
LedgerStore = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        help="The store of the ledger to charge: people.db, sqlite:///... or postgresql://...",
    ),
]
Dataset = Annotated[
    str | None,
    typer.Option(help="The data set whose ledger to use; not needed if the store has only one."),
]

NO_LEDGER = (
    "No ledger was charged. If these people's data are used again, nothing limits the total privacy loss: "
    "open a ledger with `privfit ledger open` and use --ledger."
)


def url_of(store: str) -> str:
    """Return the URL of a store; a path without a scheme is a SQLite file."""
    return store if "://" in store else f"sqlite:///{store}"


def ledger_in(store: str, dataset: str | None) -> Ledger:
    """Open the existing ledger of a data set."""
    with waiting("Opening the ledger"):
        from privfit.accounting import Ledger, list_datasets
        from privfit.accounting.lasting import Database

        url = url_of(store)
        database = Database(url, timeout=30.0)
        if not database.exists():
            raise Mistake(
                f"{database.path} does not exist; open a ledger with: privfit ledger open {store} "
                "--dataset NAME --epsilon E"
            )
        names = list_datasets(url)
        if dataset is None and len(names) == 1:
            (dataset,) = names
        if dataset is None or dataset not in names:
            asked = "Say which ledger it is" if dataset is None else f"There is no ledger of {dataset!r}"
            known = f"--dataset can be {', '.join(names)}" if names else "no ledger has been opened there"
            raise Mistake(f"{asked} in {database.url}; {known}.")
        return Ledger.open(url, dataset=dataset)


def ledger_of(store: str | None, dataset: str | None) -> Ledger | None:
    """Open the ledger to charge, or return None if none was named."""
    if store is None:
        if dataset is not None:
            raise Mistake("--dataset names a ledger in a store; name the store, too, by --ledger.")
        return None
    return ledger_in(store, dataset)


@contextmanager
def spending(ledger: Ledger | None) -> Iterator[None]:
    """If an operation is interrupted, or lacks memory, add the state of the ledger to the error."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        _note(interrupt, ledger)
        raise
    except Exception as error:  # of any kind: libraries tell a lack of memory in classes of their own
        if lacks_memory(error):
            clear_frames(error.__traceback__)  # which hold what filled the memory
            _note(error, ledger)
        raise


def _note(error: BaseException, ledger: Ledger | None) -> None:
    if ledger is None:
        return
    try:
        note = paid(ledger)
    except (OSError, MemoryError) as unread:  # another process may hold the store, or it is gone
        told = "there is no memory." if isinstance(unread, MemoryError) else unread
        note = f"How the ledger of {ledger.dataset!r} stands cannot be read now: {told}"
    error.add_note(note)


def paid(ledger: Ledger | None) -> str:
    """Return the state of the ledger after a charge, or a sentence that there is no ledger."""
    if ledger is None:
        return NO_LEDGER
    return f"The ledger of {ledger.dataset!r}: {ledger.statement()}"
