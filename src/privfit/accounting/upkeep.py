"""Maintenance of a store: list its ledgers, migrate it, and change the promise of an unused ledger."""

from __future__ import annotations

from privfit.accounting.budget import PromiseKind
from privfit.accounting.promise import Promise


def list_datasets(url: str, *, timeout: float = 30.0) -> list[str]:
    """Return the data sets that have a ledger in a file or on a server.

    Parameters
    ----------
    url : str
        The address of the store, as in `Ledger.open`.
    timeout : float
        How many seconds to wait for other processes.

    Returns
    -------
    datasets : list of str
        The names of the data sets, sorted.
    """
    from privfit.accounting.lasting import (
        Database,
        datasets_in,
    )  # imported late: SQLAlchemy imports slowly

    return datasets_in(Database(url, timeout))


def migrate(url: str, *, timeout: float = 30.0) -> list[str]:
    """Bring a store that an earlier version of privfit wrote up to date, in one transaction.

    All chains are checked first. If one is broken, nothing is changed. Entries stay as they were written, so
    `Ledger.verify` still finds a seal that was noted earlier. Open reservations stay spent.

    Parameters
    ----------
    url : str
        The address of the store, as in `Ledger.open`. On a server, the user has to own the tables.
    timeout : float
        How many seconds to wait for other processes.

    Returns
    -------
    datasets : list of str
        The data sets whose ledgers were brought up to date; empty if all of them were up to date before.

    Raises
    ------
    LedgerError
        If there is no store, or this user does not own it.
    BrokenChain
        If an entry is not as privfit wrote it; the message says which one.
    """
    from privfit.accounting import lasting  # imported late: SQLAlchemy imports slowly

    return lasting.migrate(lasting.Database(url, timeout))


def change_promise(url: str, *, dataset: str, promise: PromiseKind, timeout: float = 30.0) -> Promise:
    """Change the kind of promise of a ledger that was never charged; epsilon and delta stay the same.

    Processes that have the ledger open have to open it again. `Ledger.verify` no longer finds a seal that was
    noted before the change, because that seal covers the earlier promise.

    Parameters
    ----------
    url : str
        The address of the store, as in `Ledger.open`. On a server, the user has to own the tables.
    dataset : str
        The data set whose ledger it is.
    promise : {"gaussian", "concentrated", "direct"}
        The new kind of promise, as for `Ledger`. A ledger that was opened with rho keeps its rho.
    timeout : float
        How many seconds to wait for other processes.

    Returns
    -------
    promise : Promise
        The new promise.

    Raises
    ------
    LedgerError
        If there is no store, or this user does not own it.
    ValueError
        If there is no such ledger, or if it was ever charged, because its promise is then fixed.
    """
    from privfit.accounting import lasting  # imported late: SQLAlchemy imports slowly

    return lasting.change_promise(lasting.Database(url, timeout), dataset, promise)
