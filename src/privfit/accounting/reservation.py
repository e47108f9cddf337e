"""Reservations: the amount that a portion of a lasting ledger sets aside, and the secret that settles it.

privfit draws a secret for each reservation and keeps it in the memory of one process. The reservation's row
holds the hash of the secret, and the row that settles the reservation reveals the secret. So other users who
can read the rows of the ledger, or add rows, cannot settle the reservation. Nobody can settle it twice.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from privfit.accounting.amounts import rounded_down, units
from privfit.accounting.promise import Promise
from privfit.accounting.readable import lasts
from privfit.accounting.stores.signing import signed

if TYPE_CHECKING:
    from privfit.accounting.ledger import Ledger
    from privfit.accounting.stores.sql import SqlStore

SECRET_BYTES = 32


@dataclass(frozen=True)
class Reservation:
    """An entry of a ledger that waits to be settled.

    Attributes
    ----------
    owner : Ledger
        The ledger on which it was made.
    number : int
        The number of its entry there.
    promise : Promise
        The promise that the reserved amount is enough to keep.
    what : str
        What the reservation pays for.
    secret : str
        The secret that settles the reservation. It is never shown or pickled, and written only to settle.
    seal : str
        The seal of its entry.
    """

    owner: Ledger
    number: int
    promise: Promise
    what: str
    secret: str = field(repr=False)
    seal: str

    def settle(self, spent: tuple[int, int]) -> str:
        """Give back what was reserved beyond what was spent, in units; return the seal of that entry."""
        reserved = self.promise.rho, self.promise.slack
        rho, delta = (
            0.0 - rounded_down(units(amount) - paid) for amount, paid in zip(reserved, spent, strict=True)
        )
        store = _store_of(self.owner)
        with store.exclusive():
            store.append(signed(store, self.what, "settled", rho, delta, settles=self.number), self.secret)
            return store.seal


def reserve(owner: Ledger, promise: Promise, what: str) -> Reservation:
    """Set aside the largest cost of a promise on a ledger; the caller holds the ledger's lock."""
    secret, store = secrets.token_hex(SECRET_BYTES), _store_of(owner)
    number = store.append(signed(store, what, "reserved", promise.rho, promise.slack), secret)
    return Reservation(owner, number, promise, what, secret, store.seal)


def _store_of(ledger: Ledger) -> SqlStore:
    store = ledger._store
    assert lasts(store), "only ledgers that last reserve"
    return store
