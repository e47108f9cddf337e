"""Ledgers that outlive their process, in a file or on a server: find one, or open a new one."""

from __future__ import annotations

from privfit.accounting.amounts import number
from privfit.accounting.budget import Budget, named
from privfit.accounting.promise import Promise
from privfit.accounting.stores.database import Database
from privfit.accounting.stores.ledgers import datasets_in, find_or_create, promise_of
from privfit.accounting.stores.migration import migrate
from privfit.accounting.stores.promises import change_promise
from privfit.accounting.stores.sql import SqlStore
from privfit.remedies import remedy

__all__ = ["Database", "SqlStore", "change_promise", "datasets_in", "migrate", "open_store"]


def open_store(url: str, timeout: float, dataset: str, asked: Budget) -> tuple[Promise, SqlStore]:
    """Return the promise of a data set's ledger, and its store.

    Raises ValueError if the ledger promises something else than `asked`. A new ledger is opened only if
    `asked` has an epsilon or a rho.
    """
    if not isinstance(dataset, str) or not dataset.strip() or not dataset.isprintable():
        raise ValueError("dataset must be a name, such as 'census-2026'.")
    if not 0.0 < number("timeout", timeout) < 1e6:
        raise ValueError(f"timeout must be a positive number of seconds, got {timeout!r}.")
    database = Database(url, timeout)
    row = find_or_create(database, dataset, asked.buy if asked.is_named else None)
    kept = promise_of(row)
    if not asked.is_kept_by(kept):
        raise ValueError(
            f"The ledger of {dataset!r} was opened with {named(kept)}, not with {asked}; "
            + remedy("leave that out to use it as it is.", "--ledger uses it as it is.")
        )
    return kept, SqlStore(database, dataset, row["account"], kept)
