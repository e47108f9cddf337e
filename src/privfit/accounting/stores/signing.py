"""The day and the user that an entry records."""

from __future__ import annotations

import getpass
import os
from datetime import UTC, datetime

from privfit.accounting.stores.base import Entry, Store
from privfit.printable import printable


def today() -> str:
    """Return the day in UTC; a finer time would reveal how long it took to read the data."""
    return datetime.now(UTC).date().isoformat()


def user_name() -> str:
    """Return the name of the user who runs this process, as the system reports it; it proves nothing.

    Bytes of the name that are no valid text are written as escapes, because databases do not accept them.
    """
    try:
        return printable(getpass.getuser())
    except (KeyError, OSError, ImportError):  # a container's user need not have a name
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "unknown"


def signed(
    store: Store, what: str, mechanism: str, rho: float, delta: float, *, settles: int | None = None
) -> Entry:
    """Return an entry with today's date, and with the user's name if the ledger lasts.

    Entries of a ledger in memory are published with the model, so they name nobody.
    """
    who = user_name() if store.lasting else ""
    return Entry(printable(what), printable(mechanism), rho, delta, today(), who, settles)
