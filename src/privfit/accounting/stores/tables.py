"""The tables of a database that holds ledgers. Amounts are text, because databases round numbers.

The constraints refuse what no single row may be, from whoever writes by other means than privfit. What takes
more than one row to see (sums, links, secrets) is checked by privfit before each charge (`chain`).
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

FORMAT = 2  # of the rows, so that a later version can tell them from its own

TABLES = sa.MetaData()


def _check(name: str, rule: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(rule, name=f"privfit_{name}")


def _each_amount(rule: str) -> str:
    return f"({rule.format(amount='rho')}) AND ({rule.format(amount='delta')})"


# "-0.0" could be charged in format 1; it is no less than nothing
_DIGITS = ", ".join(repr(digit) for digit in "0123456789")
_NOT_NEGATIVE = f"substr({{amount}}, 1, 1) IN ({_DIGITS}) OR {{amount}} = '-0.0'"
_NOT_POSITIVE = "substr({amount}, 1, 1) = '-' OR {amount} = '0.0'"


def ledgers_table(tables: sa.MetaData, migrated: Iterable[str] = ()) -> sa.Table:
    """Return the table of ledgers, of which these were migrated from format 1.

    A constraint names them, so that nobody can insert another ledger that claims to be migrated: entries of
    format 1 were settled without a secret. Their own names are taken.
    """
    names = ", ".join(repr(identifier) for identifier in migrated)
    by_owner = f"migrated IS NULL OR account IN ({names})" if names else "migrated IS NULL"
    return sa.Table(
        "privfit_accounts",
        tables,
        sa.Column("dataset", sa.Text, primary_key=True),
        sa.Column("account", sa.Text, nullable=False, unique=True),
        sa.Column("format", sa.Integer, nullable=False),
        sa.Column("promise", sa.Text, nullable=False),
        sa.Column("when", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("seal", sa.Text, nullable=False),
        sa.Column("migrated", sa.Integer),  # how many entries were written in format 1; null if it was not
        _check("format", f"format = {FORMAT}"),
        _check("migrated_by_owner", by_owner),
    )


LEDGERS = ledgers_table(TABLES)
ENTRIES = sa.Table(
    "privfit_entries",
    TABLES,
    sa.Column("account", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("mechanism", sa.Text, nullable=False),
    sa.Column("rho", sa.Text, nullable=False),
    sa.Column("delta", sa.Text, nullable=False),
    sa.Column("when", sa.Text, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("settles", sa.Integer),
    sa.Column("total_rho", sa.Text, nullable=False),
    sa.Column("total_delta", sa.Text, nullable=False),
    sa.Column("seal", sa.Text, nullable=False),
    sa.Column("secret_hash", sa.Text),  # of a reservation: the hash of what settles it
    sa.Column("secret", sa.Text),  # of a settlement: that secret
    sa.UniqueConstraint("account", "settles"),  # a reservation is settled once
    _check("numbered_from_one", "number >= 1"),
    _check("charges_are_not_negative", f"settles IS NOT NULL OR ({_each_amount(_NOT_NEGATIVE)})"),
    _check("settlements_give_back", f"settles IS NULL OR ({_each_amount(_NOT_POSITIVE)})"),
    _check("settlements_come_later", "settles IS NULL OR (settles >= 1 AND settles < number)"),
    _check("settlements_have_a_secret", "(settles IS NULL) = (secret IS NULL)"),
    _check("settlements_reserve_nothing", "settles IS NULL OR secret_hash IS NULL"),
)
