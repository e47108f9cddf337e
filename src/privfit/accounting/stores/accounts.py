"""The accounts of a database: one for each data set."""

from __future__ import annotations

import json
import uuid

import sqlalchemy as sa

from privfit.accounting.promise import Promise, to_dict
from privfit.accounting.stores.base import AccountError
from privfit.accounting.stores.chain import Row, check_link, seal
from privfit.accounting.stores.database import Database
from privfit.accounting.stores.signing import today, user_name
from privfit.accounting.stores.tables import ACCOUNTS, FORMAT, TABLES


def find_or_create(database: Database, dataset: str, promise: Promise | None) -> Row:
    """Return the row of a data set's account; create it if there is none and a promise for it to keep."""
    row = None
    if database.exists():
        with database.reading() as connection:
            if sa.inspect(connection).has_table(ACCOUNTS.name):
                row = find_account(connection, dataset)
    if row is not None:
        return row
    if promise is None:
        raise ValueError(
            f"There is no account of {dataset!r} at {database.url}; name its budget to open one, for example "
            "epsilon=1.0, delta=1e-6."
        )
    database.create_file()
    with database.writing("privfit: create an account") as connection:
        TABLES.create_all(connection)
        return find_account(connection, dataset) or _create_account(connection, dataset, promise)


def find_account(connection: sa.Connection, dataset: str) -> Row | None:
    """Return the row of a data set's account, checked, or None."""
    query = sa.select(ACCOUNTS).where(ACCOUNTS.c.dataset == dataset)
    row = connection.execute(query).mappings().one_or_none()
    if row is not None:
        if row["format"] > FORMAT:
            raise AccountError(f"The account of {dataset!r} needs a newer version of privfit; upgrade it.")
        check_link(row, "", f"The account of {dataset!r}")
    return row


def _create_account(connection: sa.Connection, dataset: str, promise: Promise) -> Row:
    """Insert an account for a data set that has none, and return its row."""
    row = {
        "dataset": dataset,
        "account": uuid.uuid4().hex,
        "format": FORMAT,
        "promise": json.dumps(to_dict(promise), sort_keys=True),
        "when": today(),
        "who": user_name(),
    }
    row["seal"] = seal(row)
    connection.execute(sa.insert(ACCOUNTS).values(**row))
    return row


def datasets_in(database: Database) -> list[str]:
    """Return the names of the data sets that have an account, sorted."""
    with database.reading() as connection:
        return sorted(connection.execute(sa.select(ACCOUNTS.c.dataset)).scalars())
