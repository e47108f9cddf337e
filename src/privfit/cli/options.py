"""Arguments and options that several commands share, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privfit.cli.guard import Mistake

if TYPE_CHECKING:
    from privfit.accounting import Ledger

Epsilon = Annotated[float, typer.Option(help="How much anyone may learn of one person; smaller is stricter.")]
Delta = Annotated[float, typer.Option(help="The probability with which the promise may fail.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Data = Annotated[Path, typer.Argument(help="A CSV or Parquet file, one row per person.", dir_okay=False)]
Model = Annotated[Path, typer.Argument(help="A model file, as `privfit train` writes it.", dir_okay=False)]
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


def url_of(store: str) -> str:
    """Return the address of a store; a path alone is a SQLite file."""
    return store if "://" in store else f"sqlite:///{store}"


def account(store: str, data_set: str | None) -> Ledger:
    """Open the account of a data set that has one already."""
    from privfit.accounting import Ledger, list_datasets

    url = url_of(store)
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        raise Mistake(
            f"{store} is not there; open an account with: privfit budget open {store} --data-set NAME"
        )
    if data_set is None:
        names = list_datasets(url)
        if len(names) != 1:
            known = f"it has {', '.join(names)}" if names else "it has none"
            raise Mistake(f"Say which account of {store} with --data-set; {known}.")
        (data_set,) = names
    return Ledger.open(url, dataset=data_set)


def writable(path: Path) -> Path:
    """Return a path that can be written, so that nothing is paid for and then lost."""
    if path.is_dir():
        raise Mistake(f"{path} is a directory; name a file in it.")
    if not path.parent.is_dir():
        raise Mistake(f"{path.parent} is not there; make that directory first.")
    with path.open("ab"):
        pass
    if path.stat().st_size == 0:
        path.unlink()
    return path
