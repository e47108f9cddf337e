"""Rows that other programs than privfit write into a store of ledgers."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from privfit.accounting import Ledger
from privfit.accounting.amounts import exactly_read, exactly_written, units
from privfit.accounting.stores.chain import seal_of_entry
from privfit.accounting.stores.tables import ENTRIES


def change(path: Path, statement: str) -> None:
    """Run a statement on a file."""
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


def rows_of(connection: sa.Connection, ledger: Ledger) -> list[dict[str, Any]]:
    """Return the entries of a ledger, as they stand in the table."""
    query = sa.select(ENTRIES).where(ENTRIES.c.account == ledger.identifier).order_by(ENTRIES.c.number)
    return [dict(row) for row in connection.execute(query).mappings()]


def forge(connection: sa.Connection, ledger: Ledger, **fields: Any) -> dict[str, Any]:
    """Return a row that follows the last entry, with these fields and, unless they say so, all else right."""
    *_, last = rows_of(connection, ledger)
    row = last | {
        "number": last["number"] + 1,
        "what": "forged",
        "mechanism": "",
        "rho": "0.0",
        "delta": "0.0",
    }
    row |= {"settles": None, "secret": None, "secret_hash": None}
    row |= fields
    for amount in ("rho", "delta"):
        total = exactly_read(last[f"total_{amount}"]) + units(float(row[amount]))
        row[f"total_{amount}"] = fields.get(f"total_{amount}", exactly_written(total))
    row["seal"] = fields.get("seal", seal_of_entry(row, last["seal"]))
    return row


def insert(connection: sa.Connection, row: dict[str, Any]) -> None:
    """Insert a row."""
    connection.execute(sa.insert(ENTRIES).values(**row))
