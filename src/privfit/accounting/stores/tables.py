"""The tables of a database that holds ledgers. Amounts are text, because databases round numbers.

The constraints refuse invalid rows, whichever program inserts them. Rules about several rows (sums, seals,
secrets) cannot be written as constraints; privfit checks them before each charge (`chain`).
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

FORMAT = 2  # the format of the rows, by which later versions of privfit recognise them

TABLES = sa.MetaData()


def _check(name: str, rule: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(rule, name=f"privfit_{name}")


def _each_amount(rule: str) -> str:
    return f"({rule.format(amount='rho')}) AND ({rule.format(amount='delta')})"


# "-0.0" is allowed, because it could be charged in format 1 and equals zero
_DIGITS = ", ".join(repr(digit) for digit in "0123456789")
_NOT_NEGATIVE = f"substr({{amount}}, 1, 1) IN ({_DIGITS}) OR {{amount}} = '-0.0'"
_NOT_POSITIVE = "substr({amount}, 1, 1) = '-' OR {amount} = '0.0'"


def ledgers_table(tables: sa.MetaData, migrated: Iterable[str] = ()) -> sa.Table:
    """Return the table of ledgers, of which these were migrated from format 1.

    Entries of format 1 are settled without a secret, so nobody may insert a ledger that pretends to have been
    migrated. A constraint therefore lists the identifiers of those that were. Nobody can insert these again,
    because identifiers are unique.
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
        # the number of entries in format 1; null for ledgers that were not migrated
        sa.Column("migrated", sa.Integer),
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
    sa.Column("secret_hash", sa.Text),  # of a reservation: the hash of the secret that settles it
    sa.Column("secret", sa.Text),  # of a settlement: the secret of its reservation
    sa.UniqueConstraint("account", "settles"),  # a reservation is settled once
    _check("numbered_from_one", "number >= 1"),
    _check("charges_are_not_negative", f"settles IS NOT NULL OR ({_each_amount(_NOT_NEGATIVE)})"),
    _check("settlements_give_back", f"settles IS NULL OR ({_each_amount(_NOT_POSITIVE)})"),
    _check("settlements_come_later", "settles IS NULL OR (settles >= 1 AND settles < number)"),
    _check("settlements_have_a_secret", "(settles IS NULL) = (secret IS NULL)"),
    _check("settlements_reserve_nothing", "settles IS NULL OR secret_hash IS NULL"),
)
