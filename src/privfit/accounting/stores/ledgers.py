"""The ledgers of a database: one for each data set."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from functools import partial

import sqlalchemy as sa

from privfit.accounting.amounts import price
from privfit.accounting.promise import Promise, from_dict, to_dict
from privfit.accounting.stores.base import BrokenChain, LedgerError
from privfit.accounting.stores.chain import REMEDY, Row, check_seal, seal_of_ledger
from privfit.accounting.stores.database import Database
from privfit.accounting.stores.names import look_alike
from privfit.accounting.stores.signing import today, user_name
from privfit.accounting.stores.tables import FORMAT, LEDGERS, TABLES
from privfit.leaks import warn_caller

NEEDS_MIGRATION = (
    "This store was written by an earlier version of privfit; its owner has to bring it up to date once, by "
    "`privfit ledger migrate STORE`, before its ledgers can be used."
)


def find_or_create(database: Database, dataset: str, buy: Callable[[], Promise] | None) -> Row:
    """Return the row of a data set's ledger; if there is none and `buy` is given, create it.

    `buy` is called for a new ledger only, because the arguments that find an existing one may be incomplete.
    A new name that looks like an existing one is refused. The second ledger of a store causes a warning,
    because it is another privacy budget for what may be the same people.
    """
    row = None
    if database.exists():
        with database.reading() as connection:
            if has_ledgers(connection):
                row = find_ledger(connection, dataset)
                if row is None:
                    _check_name(connection, dataset, database.url)
    if row is not None:
        return row
    if buy is None:
        raise ValueError(
            f"There is no ledger of {dataset!r} at {database.url}; name epsilon and delta to open one, for "
            "example epsilon=1.0, delta=1e-6."
        )
    promise = buy()
    database.create_file()
    others = []
    with database.writing("privfit: create an account") as connection:
        TABLES.create_all(connection)
        row = find_ledger(connection, dataset)
        if row is None:
            others = _check_name(connection, dataset, database.url)
            row = create_ledger(connection, dataset, promise)
    if others:
        warn_caller(
            f"The store at {database.url} has another ledger already: the ledger of {dataset!r} is a privacy "
            "budget of its own, and people who are in both data sets are promised only the sum of the two.",
            UserWarning,
        )
    return row


def _check_name(connection: sa.Connection, dataset: str, url: str) -> list[str]:
    """Return the names of the other ledgers; raise ValueError if this name looks like one of them."""
    names = [str(name) for name in connection.execute(sa.select(LEDGERS.c.dataset)).scalars()]
    for name in names:
        if look_alike(name, dataset):
            raise ValueError(
                f"There is a ledger of {name!r} at {url}, and {dataset!r} differs from it only in case, "
                "spaces or letters that look alike; write the name as it is there or, for data of other "
                "people, choose one that nobody can mistake for it."
            )
    return names


def has_ledgers(connection: sa.Connection) -> bool:
    """Return whether a database has the tables of ledgers; raise `LedgerError` if their format is earlier."""
    inspector = sa.inspect(connection)
    if not inspector.has_table(LEDGERS.name):
        return False
    if "migrated" not in {column["name"] for column in inspector.get_columns(LEDGERS.name)}:
        raise LedgerError(NEEDS_MIGRATION)
    return True


def find_ledger(connection: sa.Connection, dataset: str) -> Row | None:
    """Return the row of a data set's ledger after checking its seal, or None if there is no ledger."""
    everything = sa.select(sa.text("*")).select_from(LEDGERS)  # an earlier format has fewer columns
    row = connection.execute(everything.where(LEDGERS.c.dataset == dataset)).mappings().one_or_none()
    if row is not None:
        if not isinstance(row["format"], int):
            raise BrokenChain(f"The ledger of {dataset!r} was not written by privfit; {REMEDY}.")
        if row["format"] > FORMAT:
            raise LedgerError(f"The ledger of {dataset!r} needs a newer version of privfit; upgrade it.")
        if row["format"] < FORMAT:
            raise LedgerError(NEEDS_MIGRATION)
        check_seal(row, partial(seal_of_ledger, row), f"The ledger of {dataset!r}")
    return row


def promise_of(row: Row) -> Promise:
    """Return the promise that a ledger's row states."""
    try:
        promise = from_dict(json.loads(row["promise"]))
        for amount in (promise.rho, promise.slack):
            price("promise", amount)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        raise BrokenChain(f"The ledger of {row['dataset']!r} states no promise; {REMEDY}.") from None
    return promise


def create_ledger(connection: sa.Connection, dataset: str, promise: Promise) -> Row:
    """Insert a ledger for a data set that has none, and return its row."""
    row = {
        "dataset": dataset,
        "account": uuid.uuid4().hex,
        "format": FORMAT,
        "promise": json.dumps(to_dict(promise), sort_keys=True),
        "when": today(),
        "who": user_name(),
        "migrated": None,
    }
    row["seal"] = seal_of_ledger(row)
    connection.execute(sa.insert(LEDGERS).values(**row))
    return row


def datasets_in(database: Database) -> list[str]:
    """Return the names of the data sets that have a ledger, sorted."""
    with database.reading() as connection:
        return sorted(connection.execute(sa.select(LEDGERS.c.dataset)).scalars())
