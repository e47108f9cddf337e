"""What a ledger asks of the place where its account lives."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Entry:
    """One charge: what was asked, how it was blurred, what it cost, and on which day.

    Not at which second, because entries are published, and how long a question took may depend on the data.

    Attributes
    ----------
    what, mechanism : str
        What was asked and how the answer was blurred.
    rho, delta : float
        The price in approximate zCDP.
    when : str
        The day, in UTC, as YYYY-MM-DD.
    """

    what: str
    mechanism: str
    rho: float
    delta: float
    when: str


class Store(Protocol):
    """Entries of one account: only ever added to, by one writer at a time.

    A store knows no budget. The ledger decides, between reading the totals and adding an entry, while
    everybody else is held off.
    """

    def exclusive(self) -> AbstractContextManager[object]:
        """Hold off every other reader and writer of the account; may be entered again by the same thread.

        What was added is kept for good when the context is left.
        """
        ...

    def require_writable(self) -> None:
        """Raise `RuntimeError` if entries added here would not reach the account."""
        ...

    def append(self, entry: Entry) -> None:
        """Add an entry; to be called with everybody else held off."""
        ...

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, in order."""
        ...

    @property
    def totals(self) -> tuple[int, int]:
        """What the entries' rhos and deltas add up to, in units of `privfit.accounting.amounts`."""
        ...
