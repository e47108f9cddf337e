"""Change the promise of a ledger that was never charged, in one transaction by the owner.

A ledger without entries has paid for no answer, so nobody has relied on its promise yet. With the new promise
the ledger gets a new identifier. A process that opened it before is refused, so that it cannot charge the
ledger by the limits of the old promise.
"""

from __future__ import annotations

import sqlalchemy as sa

from privfit.accounting.budget import PromiseKind, in_another_kind
from privfit.accounting.promise import Promise, name_of
from privfit.accounting.stores.base import LedgerError
from privfit.accounting.stores.database import Database
from privfit.accounting.stores.ledgers import create_ledger, find_ledger, has_ledgers, promise_of
from privfit.accounting.stores.migration import hold_off_others
from privfit.accounting.stores.tables import ENTRIES, LEDGERS

NOT_THE_OWNER = "Only the owner of its tables can change what a ledger promises; ask them to do it."


def change_promise(database: Database, dataset: str, kind: PromiseKind) -> Promise:
    """Change the kind of promise of a ledger that was never charged, and return the new promise."""
    if not database.exists():
        raise LedgerError(f"{database.path} does not exist; check the path.")
    with database.changing() as connection:
        exists = has_ledgers(connection)
        if exists and not database.is_file:
            hold_off_others(connection, NOT_THE_OWNER)
        row = find_ledger(connection, dataset) if exists else None
        if row is None:
            raise ValueError(f"There is no ledger of {dataset!r} at {database.url}; check the name.")
        charged = sa.select(ENTRIES.c.number).where(ENTRIES.c.account == row["account"]).limit(1)
        if connection.execute(charged).first() is not None:
            raise ValueError(
                f"The ledger of {dataset!r} has been charged, so its promise cannot change; choose a solver "
                "that it pays for."
            )
        kept = promise_of(row)
        if name_of(kept) == kind:
            return kept
        promise = in_another_kind(kept, kind)
        connection.execute(sa.delete(LEDGERS).where(LEDGERS.c.account == row["account"]))
        create_ledger(connection, dataset, promise)
        return promise
