"""An account in a database, which outlives its process and is shared by all who can reach it.

Rows are only ever inserted. Each holds the running totals and a seal over itself and the row before it, so
that a charge needs to read the last rows alone.
"""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

import sqlalchemy as sa

from privfit.accounting.amounts import exactly_read, exactly_written, units
from privfit.accounting.promise import Promise, from_dict
from privfit.accounting.stores.accounts import find_account
from privfit.accounting.stores.base import AccountError, BrokenChain, Entry
from privfit.accounting.stores.chain import Row, check_entries, check_link, seal
from privfit.accounting.stores.database import Database
from privfit.accounting.stores.tables import ENTRIES


class SqlStore:
    """Entries of one account in a database.

    Parameters
    ----------
    database : Database
        Where it is.
    dataset : str
        Of which data set it is the account.
    account : str
        Its name for machines, so that another account of the same data set is not taken for it.
    """

    lasting = True

    def __init__(self, database: Database, dataset: str, account: str) -> None:
        self.database, self.dataset, self.account = database, dataset, account
        self._connection: sa.Connection | None = None
        self._lock = threading.RLock()
        _STORES.add(self)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold off every other thread and process in one durable transaction."""
        with self._lock:
            if self._connection is not None:
                yield
                return
            with self.database.writing(f"privfit: {self.account}") as connection:
                self._row_of_account(connection)
                self._connection = connection
                try:
                    yield
                finally:
                    self._connection = None

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with self._lock:
            if self._connection is not None:
                yield self._connection
            else:
                with self.database.reading() as connection:
                    yield connection

    def require_writable(self) -> None:
        """Do nothing, because the database says whether it can be written."""

    def append(self, entry: Entry) -> int:
        """Add an entry to the chain, and return its number."""
        assert self._connection is not None, "append needs exclusive()"
        number, last_seal, totals = self._end(self._connection)
        amounts = {"rho": repr(float(entry.rho)), "delta": repr(float(entry.delta))}
        row = asdict(entry) | amounts | {"account": self.account, "number": number + 1}
        row["total_rho"] = exactly_written(totals[0] + units(entry.rho))
        row["total_delta"] = exactly_written(totals[1] + units(entry.delta))
        self._connection.execute(sa.insert(ENTRIES).values(**row, seal=seal(row, last_seal)))
        return number + 1

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, in order."""
        with self._reading() as connection:
            return tuple(_entry(row) for row in self._rows(connection))

    @property
    def totals(self) -> tuple[int, int]:
        """What the rhos and deltas add up to, in units."""
        with self._reading() as connection:
            return self._end(connection)[2]

    def check(self, promise: Promise, ceilings: tuple[int, int], noted: str | None) -> str:
        """Check all of the chain, and that a seal noted down earlier is in it; return the last seal."""
        with self._reading() as connection:
            account, rows = self._row_of_account(connection), list(self._rows(connection))
        if from_dict(json.loads(account["promise"])) != promise:
            raise BrokenChain(f"{self._name} promises something else than when it was opened here.")
        seals = check_entries(rows, account["seal"], ceilings, self._name)
        if noted is not None and noted not in seals:
            raise BrokenChain(
                f"{self._name} does not hold the seal that was noted down: its last entries were removed, or "
                "all were written anew; restore the store from a backup."
            )
        return seals[-1]

    # -- rows ---------------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return f"the account of {self.dataset!r}"

    def _row_of_account(self, connection: sa.Connection) -> Row:
        """Return the row of the account, if it is still the one that was opened."""
        row = find_account(connection, self.dataset)
        if row is None or row["account"] != self.account:
            raise AccountError(
                f"The account of {self.dataset!r} that this ledger draws on is no longer at "
                f"{self.database.url}; open it with Ledger.open."
            )
        return row

    def _rows(self, connection: sa.Connection) -> Iterator[Row]:
        query = sa.select(ENTRIES).where(ENTRIES.c.account == self.account).order_by(ENTRIES.c.number)
        yield from connection.execute(query).mappings()

    def _end(self, connection: sa.Connection) -> tuple[int, str, tuple[int, int]]:
        """Return the last number, seal and totals; that the last row is what was written is checked."""
        query = sa.select(ENTRIES).where(ENTRIES.c.account == self.account)
        rows = connection.execute(query.order_by(ENTRIES.c.number.desc()).limit(2)).mappings().all()
        before = rows[1] if len(rows) == 2 else self._row_of_account(connection)
        if not rows:
            return 0, before["seal"], (0, 0)
        last = rows[0]
        check_link(last, before["seal"], f"Entry {last['number']} of {self._name}")
        return (
            last["number"],
            last["seal"],
            (exactly_read(last["total_rho"]), exactly_read(last["total_delta"])),
        )


def _entry(row: Row) -> Entry:
    named = {name: row[name] for name in ("what", "mechanism", "when", "who", "settles")}
    return Entry(**named, rho=float(row["rho"]), delta=float(row["delta"]))


# -- forks -----------------------------------------------------------------------------------------------

_STORES: weakref.WeakSet[SqlStore] = weakref.WeakSet()
_forking = threading.Lock()
_held: list[SqlStore] = []


def _finish_transactions() -> None:
    """Wait for transactions of other threads, because a connection must not be carried over by a fork."""
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
