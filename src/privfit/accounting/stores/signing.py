"""When and by whom: as much as an entry may say of it."""

from __future__ import annotations

import getpass
import os
from datetime import UTC, datetime

from privfit.accounting.stores.base import Entry, Store
from privfit.printable import printable


def today() -> str:
    """Return the day in UTC; a finer time would tell how long a look took."""
    return datetime.now(UTC).date().isoformat()


def user_name() -> str:
    """Return who runs this process, as the system says; it is a note, not a proof.

    Bytes of a name that are no text are written as escapes, because no database takes them.
    """
    try:
        return printable(getpass.getuser())
    except (KeyError, OSError, ImportError):  # a container's user need not have a name
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "unknown"


def signed(
    store: Store, what: str, mechanism: str, rho: float, delta: float, *, settles: int | None = None
) -> Entry:
    """Return an entry of today; who made it is said where several share one ledger.

    The entries of a model's own ledger, in memory, are published with it and name nobody.
    """
    who = user_name() if store.lasting else ""
    return Entry(printable(what), printable(mechanism), rho, delta, today(), who, settles)
