"""Schemas of their own, and users with few rights, on the server of the tests."""

from __future__ import annotations

import re
import uuid
from pathlib import Path

import sqlalchemy as sa

from privfit.accounting.lasting import Database


def connect(url: str) -> sa.Engine:
    """Return an engine on which every statement is a transaction of its own."""
    return sa.create_engine(Database(url, 30.0)._url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)


def run(url: str, *statements: str) -> None:
    """Run statements."""
    with connect(url).connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def new_schema(url: str) -> str:
    """Create an empty schema, and return the URL by which it is all that is seen."""
    name = f"people_{uuid.uuid4().hex}"
    run(url, f"CREATE SCHEMA {name}")
    return f"{url}&options=-c%20search_path%3D{name}"


def load(url: str, dump: Path) -> None:
    """Load what pg_dump wrote of the schema public into the schema of a URL."""
    text = dump.read_text().replace("public.", f"{_schema(url)}.")
    with connect(url).connect() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.execute(text.encode())


def new_role(url: str, *rights: str) -> str:
    """Create a user with these rights on the tables of ledgers, and return the URL by which they connect."""
    role = f"clerk_{uuid.uuid4().hex}"
    grants = (f"GRANT {right} TO {role}" for right in (f"USAGE ON SCHEMA {_schema(url)}", *rights))
    run(url, f"CREATE ROLE {role} LOGIN PASSWORD 'pencil'", *grants)
    return re.sub("//[^@]*@", f"//{role}:pencil@", url)


def _schema(url: str) -> str:
    return url.rpartition("search_path%3D")[2]
