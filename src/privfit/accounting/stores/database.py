"""A database that holds ledgers: its address, its transactions, and its errors in one sentence each.

SQLite and PostgreSQL differ only in how a transaction locks others out. Each transaction opens a connection
of its own, because SQLite forbids using one in a forked process.
"""

from __future__ import annotations

import hashlib
import math
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from privfit.accounting.stores.base import LedgerError

REFUSED_ROW = "a rule of its tables forbids this entry, or another program wrote there meanwhile; try again"
FORMS = "'sqlite:///people.db' or 'postgresql://user@host/database'"


class Database:
    """Where ledgers are kept, by its URL.

    Parameters
    ----------
    url : str
        ``sqlite:///file`` or ``postgresql://user@host/database``.
    timeout : float
        How many seconds to wait for other processes.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self._url, self.timeout = _parsed(url), timeout
        self.is_file = self._url.get_backend_name() == "sqlite"
        self.url = _without_password(self._url)  # this URL is shown and pickled

    @property
    def path(self) -> Path:
        """The file of a SQLite database."""
        return Path(str(self._url.database))

    @cached_property
    def _engine(self) -> sa.Engine:
        options = {"poolclass": sa.NullPool, "hide_parameters": True, "isolation_level": "AUTOCOMMIT"}
        if self.is_file:
            return sa.create_engine("sqlite://", creator=self._connect_to_file, **options)
        try:
            waiting = {"connect_timeout": max(1, math.ceil(self.timeout))}
            return sa.create_engine(self._url, connect_args=waiting, **options)
        except ImportError:
            raise LedgerError(
                "Ledgers on PostgreSQL need psycopg; install it by pip install 'privfit[postgres]'."
            ) from None

    def _connect_to_file(self) -> sqlite3.Connection:
        # mode=rw does not create a missing file; create_file does, with permissions for its owner alone
        location = f"{self.path.as_uri()}?mode=rw"
        connection = sqlite3.connect(location, uri=True, timeout=self.timeout, isolation_level=None)
        # with EXTRA, unlike FULL, a loss of power right after a commit cannot undo it
        connection.execute("PRAGMA synchronous = EXTRA")
        return connection

    def exists(self) -> bool:
        """Return whether the file exists; True for a server, which is not asked."""
        return not self.is_file or os.path.exists(self.path)

    def create_file(self) -> None:
        """Create the file of a SQLite database, which only its owner can read, unless it exists."""
        if self.exists():
            return
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            pass  # another process created it meanwhile
        except FileNotFoundError:
            raise LedgerError(f"There is no directory {self.path.parent}; create it first.") from None
        except OSError as error:
            raise LedgerError(
                f"The file {self.path} cannot be created ({error.strerror}); choose another directory."
            ) from None

    @contextmanager
    def writing(self, lock: str, committed: Callable[[], None] | None = None) -> Iterator[sa.Connection]:
        """Lock out others who write under this lock, and commit durably when the context ends.

        The transaction is also committed if an exception ends the context, unless the database raised it. So
        charges stay charged. `committed` is called after the commit. On a server the lock is advisory,
        because locking a row needs the right to change rows, which users should not have.
        """
        if self.is_file:
            begin = ["BEGIN IMMEDIATE"]
        else:
            key = int.from_bytes(hashlib.sha256(lock.encode()).digest()[:8], signed=True)
            begin = [*self._durable, f"SELECT pg_advisory_xact_lock({key})"]
        with self._transaction(begin, committed) as connection:
            yield connection

    @contextmanager
    def changing(self) -> Iterator[sa.Connection]:
        """Change the tables themselves; any exception undoes all of it."""
        begin = ["BEGIN IMMEDIATE"] if self.is_file else self._durable
        with self._explained(), self._engine.connect() as connection:
            for statement in begin:
                connection.exec_driver_sql(statement)
            try:
                yield connection
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                _roll_back(connection)
                raise

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Read a consistent snapshot, even if others write meanwhile."""
        begin = ["BEGIN" if self.is_file else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"]
        with self._transaction(begin) as connection:
            yield connection

    @property
    def _durable(self) -> list[str]:
        """The statements that begin a transaction on a server and make it durable."""
        return [
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",  # so that reads after the lock see all commits
            "SET LOCAL synchronous_commit TO on",
            f"SET LOCAL lock_timeout TO {max(1, round(1000 * self.timeout))}",
        ]

    @contextmanager
    def _transaction(
        self, begin: list[str], committed: Callable[[], None] | None = None
    ) -> Iterator[sa.Connection]:
        with self._explained(), self._engine.connect() as connection:
            for statement in begin:
                connection.exec_driver_sql(statement)
            try:
                yield connection
            except SQLAlchemyError:
                _roll_back(connection)
                raise
            except BaseException:
                if not connection.invalidated:  # Ctrl-C within a statement closes the connection
                    connection.exec_driver_sql("COMMIT")
                    if committed is not None:
                        committed()
                raise
            try:
                connection.exec_driver_sql("COMMIT")
            except SQLAlchemyError:  # a reader may have held it off for too long
                _roll_back(connection)
                raise
            if committed is not None:
                committed()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise errors of the database as one sentence, without the details that drivers quote."""
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error, UnicodeDecodeError) as error:  # for messages with bad bytes
            raise LedgerError(self._sentence(getattr(error, "orig", None) or error)) from None

    def _sentence(self, error: BaseException) -> str:
        reason = self._reason_of_file(error) if self.is_file else self._reason_of_server(error)
        return f"The store at {self.url} cannot be used: {reason}."

    def _reason_of_file(self, error: BaseException) -> str:
        code = str(getattr(error, "sqlite_errorname", type(error).__name__))
        reasons = {
            "SQLITE_CANTOPEN": "the file or its journal cannot be opened; check path and permissions",
            "SQLITE_READONLY": "the file is read-only for this user; ask its owner, or make it writable",
            "SQLITE_PERM": "this user has no access to the file; ask its owner",
            "SQLITE_NOTADB": "the file is no SQLite database; check the path, or restore it from a backup",
            "SQLITE_CORRUPT": "the file is damaged; restore it from a backup",
            "SQLITE_BUSY": f"another process kept it locked for {self.timeout:g} seconds; try again",
            "SQLITE_FULL": "the disk is full; make room",
            "SQLITE_CONSTRAINT": REFUSED_ROW,
        }
        if isinstance(error, UnicodeDecodeError) or "Could not decode" in str(error):
            return "the file holds text that cannot be decoded; restore it from a backup"
        if "no such table" in str(error):
            return "the file holds no ledgers; name epsilon and delta to open one"
        known = [reason for name, reason in reasons.items() if code.startswith(name)]
        return known[0] if known else f"SQLite failed with {code}; check the disk"

    def _reason_of_server(self, error: BaseException) -> str:
        code, text = getattr(error, "sqlstate", None), str(error)
        reasons = {
            "55P03": f"another process kept it locked for {self.timeout:g} seconds; try again",
            "42P01": "the database holds no ledgers; name epsilon and delta to open one",
            "42501": "this user may not write there; ask for INSERT on its tables",
            "25006": "the server is read-only; connect to the one that is written to",
            "0A000": "the server is read-only; connect to the one that is written to",  # a standby
            "28P01": "user or password is wrong; set PGPASSWORD, or write it to ~/.pgpass",
            "3D000": "there is no such database; create it first",
            "23505": REFUSED_ROW,
            "23514": REFUSED_ROW,
        }
        if code in reasons:
            return reasons[code]
        if "password" in text:  # libpq gives no code for a connection that failed, only words
            return reasons["28P01"]
        if "does not exist" in text:
            return reasons["3D000"]
        if code is None:
            return "the server cannot be reached, or the connection was cut; check host, port and network"
        return f"PostgreSQL failed with {code}; see the server's log"


def _without_password(url: sa.URL) -> str:
    kept = url.username, None, url.host, url.port, url.database, url.query
    return sa.URL.create(url.get_backend_name(), *kept).render_as_string()


def _roll_back(connection: sa.Connection) -> None:
    with suppress(SQLAlchemyError):  # the server rolls back by itself if the connection was cut
        connection.exec_driver_sql("ROLLBACK")


def _parsed(url: str) -> sa.URL:
    """Parse a URL; error messages do not quote it, because it may hold a password."""
    backend = ""
    with suppress(ArgumentError, NoSuchModuleError, ValueError):  # these errors may quote the URL
        parsed = sa.make_url(url)
        backend = parsed.get_backend_name()
    if not backend:
        raise ValueError(f"This is no address of a store of ledgers; write {FORMS}.")
    if any("password" in name.lower() for name in parsed.query):
        raise ValueError(f"A password must not stand in the query of an address; write {FORMS}.")
    if backend == "postgresql" or parsed.drivername == "postgres":
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise ValueError(f"Ledgers cannot be kept by {backend}; write {FORMS}.")
    name = parsed.database or ":memory:"
    if name == ":memory:" or name.startswith("file:") or parsed.query:
        raise ValueError(f"A ledger has to be kept in a plain file to last; write {FORMS}.")
    return parsed.set(drivername="sqlite", database=os.path.abspath(name))
