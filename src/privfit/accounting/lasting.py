"""Accounts that outlive their process: found in a file or on a server, or opened there."""

from __future__ import annotations

from privfit.accounting.amounts import number
from privfit.accounting.budget import named
from privfit.accounting.promise import Promise
from privfit.accounting.stores.accounts import datasets_in, find_or_create, promise_of
from privfit.accounting.stores.database import Database
from privfit.accounting.stores.migration import migrate
from privfit.accounting.stores.sql import SqlStore

__all__ = ["Database", "SqlStore", "datasets_in", "migrate", "open_store"]


def open_store(url: str, timeout: float, dataset: str, asked: Promise | None) -> tuple[Promise, SqlStore]:
    """Return what the account of a data set promises, and its store; refuse it if that is not what was asked.

    Without `asked` the account has to be there.
    """
    if not isinstance(dataset, str) or not dataset.strip() or not dataset.isprintable():
        raise ValueError("dataset must be a name, such as 'census-2026'.")
    if not 0.0 < number("timeout", timeout) < 1e6:
        raise ValueError(f"timeout must be a positive number of seconds, got {timeout!r}.")
    database = Database(url, timeout)
    row = find_or_create(database, dataset, asked)
    kept = promise_of(row)
    if asked is not None and named(asked) != named(kept):
        raise ValueError(
            f"The account of {dataset!r} was opened with {named(kept)}, not with {named(asked)}; leave the "
            "budget out to use it as it is, or name another data set."
        )
    return kept, SqlStore(database, dataset, row["account"], kept)
