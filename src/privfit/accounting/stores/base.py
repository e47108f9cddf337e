"""The protocol of stores: what a ledger needs from the store that holds its entries."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Entry:
    """One charge: what was asked, which mechanism added noise, what it cost, on which day, and who asked.

    An entry holds no finer time than the day. Entries are published, and the time that a question takes may
    depend on the data.

    Attributes
    ----------
    what, mechanism : str
        What was asked, and the mechanism that added noise to the answer.
    rho, delta : float
        The price in approximate zCDP; negative, or 0, for the amount that a settled reservation gives back.
    when : str
        The day, in UTC, as YYYY-MM-DD.
    who : str
        The user name, in a ledger that outlives its process.
    settles : int or None
        The number of the reservation that this entry settles; entries are numbered from 1.
    claim : str
        The claim in docs/privacy.md that bounds the sensitivity, or that proves a release of its own.
    noise : str
        The noise: "gaussian", or that of a noisy choice ("gumbel", "laplace" or "exponential").
    sensitivity, scale : float or None
        The L2 sensitivity to one record, or person, and the scale of the noise. The sensitivity of a noisy
        choice is the width of the interval that holds the changes of all scores, times the square root of
        the number of winners. Ledgers in memory keep `claim`, `noise`, `sensitivity` and `scale`; ledgers in
        files and on servers do not.
    """

    what: str
    mechanism: str
    rho: float
    delta: float
    when: str
    who: str = ""
    settles: int | None = None
    claim: str = ""
    noise: str = ""
    sensitivity: float | None = None
    scale: float | None = None


class LedgerError(OSError):
    """The store of a ledger cannot be reached, read or written; the message says why."""


class BrokenChain(LedgerError, ValueError):
    """Entries of a ledger were changed, removed or inserted by another program than privfit."""


class Store(Protocol):
    """The entries of one ledger. Entries are added, never changed or removed, by one writer at a time.

    A store does not know the privacy budget. The ledger reads the totals, decides, and adds an entry, all
    while it holds the store's lock.

    Attributes
    ----------
    lasting : bool
        Whether the ledger outlives this process, and other processes can use it. A portion is then reserved
        before the data are read. If its process is killed, nobody else could tell how much it had spent.
    """

    lasting: bool

    def exclusive(self) -> AbstractContextManager[object]:
        """Lock out every other reader and writer of the ledger; the same thread may enter again.

        When the context ends, what was added is stored durably.
        """
        ...

    def require_writable(self) -> None:
        """Raise `RuntimeError` if entries added here would not reach the ledger."""
        ...

    def append(self, entry: Entry, secret: str | None = None) -> int:
        """Add an entry, inside `exclusive()`, and return its number.

        A reservation is added with a secret. Only an entry that is added with the same secret settles it.
        """
        ...

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, in order."""
        ...

    @property
    def totals(self) -> tuple[int, int]:
        """The sums of the entries' rhos and deltas, in units of `privfit.accounting.amounts`."""
        ...
