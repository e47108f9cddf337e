"""Migrate a store from format 1 to format 2, which adds columns for secrets, and constraints.

The owner does this in one transaction. In format 1, whoever could insert a row could settle somebody else's
reservation. Existing rows and their seals stay as they are and have to follow the rules of format 1, so that
a seal that was noted earlier is still found. Open reservations can no longer be settled, because their rows
hold no hash of a secret: they stay spent.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import AddConstraint, CreateTable

from privfit.accounting.amounts import ceiling
from privfit.accounting.stores.base import BrokenChain, LedgerError
from privfit.accounting.stores.chain import REMEDY, Chain, Row, check_seal, seal_of_ledger
from privfit.accounting.stores.database import Database
from privfit.accounting.stores.ledgers import promise_of
from privfit.accounting.stores.tables import ENTRIES, FORMAT, LEDGERS, ledgers_table

NOT_THE_OWNER = (
    "Only the owner of its tables can bring this store up to date; ask them to run `privfit ledger migrate`."
)


def migrate(database: Database) -> list[str]:
    """Bring all ledgers of a database to this format, and return the names of their data sets.

    Every chain is checked first. If one is broken, nothing is changed. A second call does nothing.
    """
    if not database.exists():
        raise LedgerError(f"{database.path} does not exist; check the path.")
    with database.changing() as connection:
        if not sa.inspect(connection).has_table(LEDGERS.name):
            raise LedgerError(f"There are no ledgers at {database.url}; check the address.")
        if not database.is_file:
            hold_off_others(connection, NOT_THE_OWNER)
        if "migrated" in {column["name"] for column in sa.inspect(connection).get_columns(LEDGERS.name)}:
            return []
        ledgers = [_checked(connection, row) for row in _rows(connection, LEDGERS)]
        table = ledgers_table(sa.MetaData(), [row["account"] for row in ledgers])
        (_rebuild if database.is_file else _alter)(connection, table, ledgers)
        return sorted(row["dataset"] for row in ledgers)


def _rows(connection: sa.Connection, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> list[Row]:
    """Return rows of a table with all columns that exist, which may be those of format 1."""
    query = sa.select(sa.text("*")).select_from(table).where(*conditions)
    return list(connection.execute(query.order_by(*table.primary_key)).mappings())


def hold_off_others(connection: sa.Connection, refusal: str) -> None:
    """Lock the tables of a server; raise `LedgerError` if this user does not own them."""
    tables = f"{LEDGERS.name}, {ENTRIES.name}"
    names = f"to_regclass('{LEDGERS.name}'), to_regclass('{ENTRIES.name}')"
    owned = f"SELECT bool_and(pg_has_role(relowner, 'USAGE')) FROM pg_class WHERE oid IN ({names})"
    if not connection.exec_driver_sql(owned).scalar():
        raise LedgerError(refusal)
    connection.exec_driver_sql(f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE")


def _checked(connection: sa.Connection, row: Row) -> dict[str, Any]:
    """Return the new row of a ledger, after checking its whole chain by the rules of format 1."""
    where = f"The ledger of {row['dataset']!r}"
    if row["format"] != 1:
        raise LedgerError(f"{where} needs a newer version of privfit; upgrade it.")
    if not re.fullmatch("[0-9a-f]{32}", row["account"]):  # because it becomes a part of an SQL constraint
        raise BrokenChain(f"{where} was not written by privfit; {REMEDY}.")
    entries = _rows(connection, ENTRIES, ENTRIES.c.account == row["account"])
    migrated = {**row, "format": FORMAT, "migrated": len(entries)}
    check_seal(row, partial(seal_of_ledger, migrated), where)
    promise = promise_of(row)
    chain = Chain.beginning(
        migrated, f"the ledger of {row['dataset']!r}", (ceiling(promise.rho), ceiling(promise.slack))
    )
    chain.extended({**entry, "secret_hash": None, "secret": None} for entry in entries)
    return migrated


# Settlements of format 1 have an empty secret, because the new constraints ask for one.
_EMPTY_SECRET = "CASE WHEN settles IS NULL THEN NULL ELSE '' END"


def _rebuild(connection: sa.Connection, new: sa.Table, ledgers: list[dict[str, Any]]) -> None:
    """Copy everything into new tables, because SQLite cannot add constraints to an existing table."""
    for table in (new, ENTRIES):
        connection.exec_driver_sql(f"ALTER TABLE {table.name} RENAME TO {table.name}_1")
        connection.execute(CreateTable(table))
    if ledgers:
        connection.execute(sa.insert(new), ledgers)
    columns = [column.name for column in ENTRIES.c if not column.name.startswith("secret")]
    old = ", ".join(f'"{name}"' for name in columns)
    connection.exec_driver_sql(
        f"INSERT INTO {ENTRIES.name} ({old}, secret) SELECT {old}, {_EMPTY_SECRET} FROM {ENTRIES.name}_1"
    )
    for table in (new, ENTRIES):
        connection.exec_driver_sql(f"DROP TABLE {table.name}_1")


def _alter(connection: sa.Connection, new: sa.Table, ledgers: list[dict[str, Any]]) -> None:
    """Add columns and constraints to the tables of a server, which keep their permissions."""
    connection.exec_driver_sql(f"ALTER TABLE {new.name} ADD COLUMN migrated INTEGER")
    connection.exec_driver_sql(
        f"ALTER TABLE {ENTRIES.name} ADD COLUMN secret_hash TEXT, ADD COLUMN secret TEXT"
    )
    for row in ledgers:
        change = sa.update(new).where(new.c.account == row["account"])
        connection.execute(change.values(format=row["format"], migrated=row["migrated"]))
    connection.exec_driver_sql(f"UPDATE {ENTRIES.name} SET secret = {_EMPTY_SECRET}")
    # a copy, because SQLAlchemy no longer creates a constraint with its table once it was added like this
    for table in (new, ENTRIES.to_metadata(sa.MetaData())):
        for rule in sorted(table.constraints, key=lambda rule: str(rule.name)):
            if isinstance(rule, sa.CheckConstraint):
                connection.execute(AddConstraint(rule))
