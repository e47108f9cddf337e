"""What concerns a whole store: which ledgers it has, and how it is brought up to date."""

from __future__ import annotations

from privfit.accounting.budget import PromiseKind
from privfit.accounting.promise import Promise


def list_datasets(url: str, *, timeout: float = 30.0) -> list[str]:
    """Return the data sets that have a ledger in a file or on a server.

    Parameters
    ----------
    url : str
        Where, as in `Ledger.open`.
    timeout : float
        For how many seconds to wait for other processes.

    Returns
    -------
    datasets : list of str
        Their names, sorted.
    """
    from privfit.accounting.lasting import (
        Database,
        datasets_in,
    )  # imported late: SQLAlchemy is slow

    return datasets_in(Database(url, timeout))


def migrate(url: str, *, timeout: float = 30.0) -> list[str]:
    """Bring a store that an earlier version wrote up to date, in one transaction.

    All chains are checked first, and nothing is changed if one is broken. Entries stay as they were written,
    so a seal that was noted down is still found by `Ledger.verify`. Reservations that are open stay spent.

    Parameters
    ----------
    url : str
        Where, as in `Ledger.open`. On a server, the user has to own the tables.
    timeout : float
        For how many seconds to wait for other processes.

    Returns
    -------
    datasets : list of str
        The data sets whose ledgers were brought up to date; none if they were so already.

    Raises
    ------
    LedgerError
        If there is no store, or it belongs to somebody else.
    BrokenChain
        If an entry is not what was written; the sentence says which.
    """
    from privfit.accounting import lasting  # imported late: SQLAlchemy is slow

    return lasting.migrate(lasting.Database(url, timeout))


def change_promise(url: str, *, dataset: str, promise: PromiseKind, timeout: float = 30.0) -> Promise:
    """Let a ledger that was never charged keep a promise of another kind, for the same epsilon and delta.

    Ledgers that are open somewhere are refused from then on, until they are opened again. A seal that was
    noted down before is that of the earlier promise, and `Ledger.verify` no longer finds it.

    Parameters
    ----------
    url : str
        Where, as in `Ledger.open`. On a server, the user has to own the tables.
    dataset : str
        Whose ledger it is.
    promise : {"gaussian", "concentrated", "direct"}
        What it is to promise, as for `Ledger`. One that was opened with rho keeps its rho.
    timeout : float
        For how many seconds to wait for other processes.

    Returns
    -------
    promise : Promise
        What the ledger promises now.

    Raises
    ------
    LedgerError
        If there is no store, or it belongs to somebody else.
    ValueError
        If there is no such ledger, or it was ever charged: then its promise is fixed.
    """
    from privfit.accounting import lasting  # imported late: SQLAlchemy is slow

    return lasting.change_promise(lasting.Database(url, timeout), dataset, promise)
