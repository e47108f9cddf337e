"""What a portion of a lasting ledger set aside, and the secret without which nobody gives it back.

A secret is drawn for each reservation and lives in the memory of one process. The reservation's row carries
its hash, and the row that settles the reservation reveals it. So whoever else can read the rows of the
ledger, or add some, can settle nothing, and nobody can settle twice.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from privfit.accounting.amounts import rounded_down, units
from privfit.accounting.promise import Promise
from privfit.accounting.stores.signing import signed

if TYPE_CHECKING:
    from privfit.accounting.ledger import Ledger

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
        What was set aside: enough to keep this promise.
    what : str
        What it was made for.
    secret : str
        What settles it; never shown, pickled or written before that.
    """

    owner: Ledger
    number: int
    promise: Promise
    what: str
    secret: str = field(repr=False)

    def settle(self, spent: tuple[int, int]) -> None:
        """Give back what was reserved beyond what was spent, in units."""
        reserved = self.promise.rho, self.promise.slack
        rho, delta = (
            0.0 - rounded_down(units(amount) - paid) for amount, paid in zip(reserved, spent, strict=True)
        )
        store = self.owner._store
        with store.exclusive():
            store.append(signed(store, self.what, "settled", rho, delta, settles=self.number), self.secret)


def reserve(owner: Ledger, promise: Promise, what: str) -> Reservation:
    """Set aside on a ledger what a promise may cost; everybody else has to be held off."""
    secret, store = secrets.token_hex(SECRET_BYTES), owner._store
    number = store.append(signed(store, what, "reserved", promise.rho, promise.slack), secret)
    return Reservation(owner, number, promise, what, secret)
