"""A store in the memory of one process. It ends with the process."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable
from contextlib import AbstractContextManager

from privfit.accounting.amounts import units
from privfit.accounting.stores.base import Entry


class MemoryStore:
    """Entries in a list. A copy of it in another process can be read, but not written.

    Parameters
    ----------
    entries : iterable of Entry
        Earlier charges.
    writable : bool
        False for a copy of a ledger that belongs to another process.
    """

    lasting = False

    def __init__(self, entries: Iterable[Entry] = (), *, writable: bool = True) -> None:
        self._entries: list[Entry] = []
        self._rho = self._delta = 0
        self._lock = threading.RLock()
        self._process = os.getpid() if writable else None
        for entry in entries:
            self.append(entry)
        _STORES.add(self)

    def exclusive(self) -> AbstractContextManager[object]:
        """Lock out every other thread."""
        return self._lock

    def require_writable(self) -> None:
        """Raise RuntimeError in any process but the one that opened the ledger."""
        if self._process != os.getpid():
            raise RuntimeError(
                "This is a copy of a ledger that is not open in this process (it was unpickled or forked), "
                "so it cannot spend; run the fits in one process (n_jobs=1), or share a ledger in a file, "
                "Ledger.open('sqlite:///people.db', dataset=..., epsilon=..., delta=...)."
            )

    def append(self, entry: Entry, secret: str | None = None) -> int:
        """Add an entry, and return its number; the secret is ignored, because nobody else can write here."""
        self._entries.append(entry)
        self._rho += units(entry.rho)
        self._delta += units(entry.delta)
        return len(self._entries)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, in order."""
        with self._lock:
            return tuple(self._entries)

    @property
    def totals(self) -> tuple[int, int]:
        """The sums of the rhos and deltas, in units."""
        with self._lock:
            return self._rho, self._delta


_STORES: weakref.WeakSet[MemoryStore] = weakref.WeakSet()


def _leave_to_parent() -> None:
    """In a forked process, forbid writing, and replace locks that another thread may have held.

    Comparing process ids is not enough to recognise a fork, because the system uses ids again.
    """
    for store in list(_STORES):
        store._lock, store._process = threading.RLock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
