"""A ledger in a database, which outlives its process and is shared by everybody with access.

Rows are inserted, never changed or removed. A process checks all of them when it first uses the ledger, and
from then on only those that were added since. It remembers the last seal that it has seen. Therefore a charge
reads only new rows, and the process notices if the store was put back to an earlier state.
"""

from __future__ import annotations

import os
import secrets
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

import sqlalchemy as sa

from privfit.accounting.amounts import ceiling, exactly_written, units
from privfit.accounting.promise import Promise
from privfit.accounting.stores.base import BrokenChain, Entry, LedgerError
from privfit.accounting.stores.chain import REMEDY, Chain, Row, Seal, hash_of, seal_of_entry
from privfit.accounting.stores.database import Database
from privfit.accounting.stores.ledgers import find_ledger, promise_of
from privfit.accounting.stores.tables import ENTRIES


class SqlStore:
    """Entries of one ledger in a database.

    Parameters
    ----------
    database : Database
        The database that holds the ledger.
    dataset : str
        The data set whose ledger it is.
    identifier : str
        The ledger's unique id, which tells it from a later ledger of the same data set.
    promise : Promise
        The ledger's promise, which limits what its entries may add up to.
    """

    lasting = True

    def __init__(self, database: Database, dataset: str, identifier: str, promise: Promise) -> None:
        self.database, self.dataset, self.identifier = database, dataset, identifier
        self._promise, self._promised_in = promise, ""  # the seal of the row in which this promise was found
        self._ceilings = ceiling(promise.rho), ceiling(promise.slack)
        self._connection: sa.Connection | None = None
        self._chain: Chain | None = None  # with the entries of the transaction that is under way
        self._lock = threading.RLock()
        _STORES.add(self)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Lock out every other thread and process for one durable transaction."""
        with self._lock:
            if self._connection is not None:
                yield
                return
            seen, self._chain = self._seen, None
            with self.database.writing(f"privfit: {self.identifier}", self._remember) as connection:
                self._chain = self._read_on(connection, seen)
                self._connection = connection
                try:
                    yield
                finally:
                    self._connection = None

    def require_writable(self) -> None:
        """Do nothing, because the database itself refuses users who may not write."""

    def append(self, entry: Entry, secret: str | None = None) -> int:
        """Add an entry to the chain, and return its number.

        Parameters
        ----------
        entry : Entry
            What to add.
        secret : str, optional
            With a reservation: the secret that will settle it; the row holds its hash. With a settlement: the
            secret of its reservation, which the row reveals.

        Returns
        -------
        number : int
            The entry's number.
        """
        assert self._connection is not None, "append needs exclusive()"
        assert self._chain is not None
        rho, delta = float(entry.rho) + 0.0, float(entry.delta) + 0.0  # -0.0 + 0.0 is 0.0
        total_rho, total_delta = self._chain.totals
        row = {name: value for name, value in asdict(entry).items() if name in ENTRIES.c} | {
            "account": self.identifier,
            "number": self._chain.number + 1,
            "rho": repr(rho),
            "delta": repr(delta),
            "total_rho": exactly_written(total_rho + units(rho)),
            "total_delta": exactly_written(total_delta + units(delta)),
            "secret_hash": None
            if entry.settles is not None
            else _salt()
            if secret is None
            else hash_of(secret),
            "secret": secret if entry.settles is not None else None,
        }
        row["seal"] = seal_of_entry(row, self._chain.seal)
        chain = self._chain.extended([row])
        self._connection.execute(sa.insert(ENTRIES).values(**row))
        self._chain = chain
        return chain.number

    @property
    def seal(self) -> str:
        """The seal of the last entry, in the transaction that added it."""
        assert self._connection is not None, "seal needs exclusive()"
        assert self._chain is not None
        return self._chain.seal

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, in order, after checking them."""
        return tuple(_entry(row) for row in self._all_rows()[0])

    @property
    def totals(self) -> tuple[int, int]:
        """The sums of the rhos and deltas, in units."""
        with self._lock:
            if self._connection is not None:
                assert self._chain is not None
                return self._chain.totals
            seen = self._seen
            with self.database.reading() as connection:
                self._chain = self._read_on(connection, seen)
            self._remember()
            return self._chain.totals

    def check(self, noted: str | None) -> Seal:
        """Check the whole chain, and that it holds a seal that was noted earlier; return the last seal."""
        rows, chain = self._all_rows()
        seals = [chain.start, *(row["seal"] for row in rows)]
        if noted is None:
            return Seal(
                chain.seal,
                len(rows),
                f"All entries ({len(rows)}) are right, as far as they alone can show. The owner of the store "
                "could have removed the last of them, or written all of them anew; only a seal that was "
                "noted down elsewhere shows that.",
            )
        if noted not in seals:
            raise BrokenChain(
                f"The ledger of {self.dataset!r} does not hold the seal that was noted down. Unless the seal "
                "is another ledger's or was copied wrongly, the last entries were removed, or all were "
                "written anew."
            )
        return Seal(
            chain.seal,
            len(rows),
            f"All entries ({len(rows)}) are right, and those up to number {seals.index(noted)} are the ones "
            "for which the seal was noted down. Only a later seal shows whether later ones were removed.",
            seals.index(noted),
        )

    # -- rows ---------------------------------------------------------------------------------------------

    @property
    def _seen(self) -> Chain | None:
        """The part of the chain that this process has seen. Read it before a transaction begins."""
        return _SEEN.get((self.database.url, self.identifier))

    def _remember(self) -> None:
        """Remember the chain as it was when a transaction ended."""
        seen = self._seen
        if self._chain is not None and (seen is None or self._chain.number >= seen.number):
            _SEEN[self.database.url, self.identifier] = self._chain

    def _read_on(self, connection: sa.Connection, seen: Chain | None) -> Chain:
        """Read and check the entries that this process has not seen yet."""
        beginning = self._beginning(connection)
        if seen is None or seen.number == 0:
            return beginning.extended(self._rows(connection, 1))
        rows = self._rows(connection, seen.number)
        self._check_seen(next(rows, None) if beginning.start == seen.start else None, seen)
        return seen.extended(rows)

    def _all_rows(self) -> tuple[list[Row], Chain]:
        """Return all entries and their chain, checked from the beginning."""
        with self._lock:
            seen = self._seen
            if self._connection is not None:
                return self._checked(self._connection, seen)
            with self.database.reading() as connection:
                rows, self._chain = self._checked(connection, seen)
            self._remember()
            return rows, self._chain

    def _checked(self, connection: sa.Connection, seen: Chain | None) -> tuple[list[Row], Chain]:
        beginning, rows = self._beginning(connection), list(self._rows(connection, 1))
        chain = beginning.extended(rows)
        if seen is not None and seen.number > 0:
            self._check_seen(rows[seen.number - 1] if len(rows) >= seen.number else None, seen)
        return rows, chain

    def _check_seen(self, row: Row | None, seen: Chain) -> None:
        if row is None or (row["number"], row["seal"]) != (seen.number, seen.seal):
            raise BrokenChain(
                f"The ledger of {self.dataset!r} no longer holds entry {seen.number} as this process has "
                f"seen it: the store was put back to an earlier state, or written anew; {REMEDY}."
            )

    def _beginning(self, connection: sa.Connection) -> Chain:
        """Return the chain before its first entry; raise if the ledger is not the one that was opened."""
        row = find_ledger(connection, self.dataset)
        if row is None or row["account"] != self.identifier:
            raise LedgerError(
                f"The ledger of {self.dataset!r} that was opened here is no longer at {self.database.url}; "
                "open it with Ledger.open."
            )
        if row["seal"] != self._promised_in:  # comparing promises takes longer than comparing seals
            if promise_of(row) != self._promise:
                raise BrokenChain(
                    f"The ledger of {self.dataset!r} promises something else than when it was opened here; "
                    "open it again."
                )
            self._promised_in = row["seal"]
        return Chain.beginning(row, f"the ledger of {self.dataset!r}", self._ceilings)

    def _rows(self, connection: sa.Connection, first: int) -> Iterator[Row]:
        """Return the entries from this number on."""
        query = sa.select(ENTRIES).where(ENTRIES.c.account == self.identifier)
        if first > 1:
            query = query.where(ENTRIES.c.number >= first)
        yield from connection.execute(query.order_by(ENTRIES.c.number)).mappings()


def _salt() -> str:
    """Return random digits, which the row of a charge holds in place of the hash of a secret.

    Nobody knows a secret with this hash, so nobody can settle the charge as if it were a reservation. Because
    every row holds such a random number, or a secret, nobody can guess what the rows say and test the guess
    against a published seal (A5).
    """
    return secrets.token_hex(32)


def _entry(row: Row) -> Entry:
    named = {name: row[name] for name in ("what", "mechanism", "when", "who", "settles")}
    return Entry(**named, rho=float(row["rho"]), delta=float(row["delta"]))


# The part of each ledger's chain that this process has seen, by the URL of its store and its identifier.
_SEEN: dict[tuple[str, str], Chain] = {}

# -- forks -----------------------------------------------------------------------------------------------

_STORES: weakref.WeakSet[SqlStore] = weakref.WeakSet()
_forking = threading.Lock()
_held: list[SqlStore] = []


def _finish_transactions() -> None:
    """Before a fork, wait for transactions of other threads, because a fork must not inherit a connection."""
    _forking.acquire()
    for store in list(_STORES):
        store._lock.acquire()
        _held.append(store)


def _go_on() -> None:
    while _held:
        _held.pop()._lock.release()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_finish_transactions, after_in_parent=_go_on, after_in_child=_go_on)
