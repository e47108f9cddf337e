"""What a ledger asks of the store in which it is kept."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Entry:
    """One charge: what was asked, how it was blurred, what it cost, on which day, and who asked.

    Not at which second, because entries are published, and how long a question took may depend on the data.

    Attributes
    ----------
    what, mechanism : str
        What was asked and how the answer was blurred.
    rho, delta : float
        The price in approximate zCDP; negative, or 0, for what a settled reservation gives back.
    when : str
        The day, in UTC, as YYYY-MM-DD.
    who : str
        The user name, in a ledger that outlives its process.
    settles : int or None
        The number of the reservation that this entry settles; entries are numbered from 1.
    """

    what: str
    mechanism: str
    rho: float
    delta: float
    when: str
    who: str = ""
    settles: int | None = None


class LedgerError(OSError):
    """The store of a ledger cannot be reached, read or written; one sentence says why."""


AccountError = LedgerError  # its name in earlier versions


class BrokenChain(LedgerError, ValueError):
    """Entries of a ledger were changed or removed after they had been written, or inserted by other means."""


class Store(Protocol):
    """Entries of one ledger: only ever added to, by one writer at a time.

    A store knows no privacy budget. The ledger decides, between reading the totals and adding an entry, while
    everybody else is held off.

    Attributes
    ----------
    lasting : bool
        Whether the ledger outlives this process and is open to others. Then a portion of it is set aside
        before the first look, because nobody would count the looks of a process that was killed.
    """

    lasting: bool

    def exclusive(self) -> AbstractContextManager[object]:
        """Hold off every other reader and writer of the ledger; may be entered again by the same thread.

        What was added is kept for good when the context is left.
        """
        ...

    def require_writable(self) -> None:
        """Raise `RuntimeError` if entries added here would not reach the ledger."""
        ...

    def append(self, entry: Entry, secret: str | None = None) -> int:
        """Add an entry, with everybody else held off, and return its number.

        A reservation is added with a secret, and only an entry that is added with the same secret settles it.
        """
        ...

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, in order."""
        ...

    @property
    def totals(self) -> tuple[int, int]:
        """What the entries' rhos and deltas add up to, in units of `privfit.accounting.amounts`."""
        ...
