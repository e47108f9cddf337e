"""The tables of a database that holds accounts. Amounts are text, because databases round numbers."""

from __future__ import annotations

import sqlalchemy as sa

FORMAT = 1  # of the rows, so that a later version can tell them from its own

TABLES = sa.MetaData()
ACCOUNTS = sa.Table(
    "privfit_accounts",
    TABLES,
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("account", sa.Text, nullable=False, unique=True),
    sa.Column("format", sa.Integer, nullable=False),
    sa.Column("promise", sa.Text, nullable=False),
    sa.Column("when", sa.Text, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("seal", sa.Text, nullable=False),
)
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
    sa.UniqueConstraint("account", "settles"),  # a reservation is settled once
)
