"""Tables that are read only once: in batches, encoded, and stored as numbers for all later passes.

A fit reads its records many times. Its guarantee requires that all passes see the same rows in the same order
(Q37 in docs/privacy.md). But files change, queries draw random numbers, and databases are updated. So a table
that is not in memory is read once, before anything is charged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.mapped import Cache, Matrix, rows_of
from privfit.schema.batches import CELLS_OF_A_BATCH, OF_A_QUERY, Batches, batches_of
from privfit.schema.encoding import encoded
from privfit.schema.files import OnRead
from privfit.schema.frames import columns_of
from privfit.schema.free_memory import give_back_free_memory
from privfit.schema.parts import concatenated
from privfit.schema.queries import is_query, is_relation, rows_of_batch
from privfit.schema.schema import Schema
from privfit.schema.stored import coded, numbered

READERS = 2  # number of threads that encode, while another one reads

FROM_A_QUERY = (
    "the rows are the answer to a query that the custodian of the data ran, each row made of one record alone"
)


@dataclass(frozen=True, eq=False)
class Taken:
    """A table whose features are encoded, and whose label, id and weight are columns.

    Attributes
    ----------
    features : array or CSR matrix
        The features encoded by the schema without curves; large ones are in a mapped file.
    beside : pyarrow.Table
        The columns that are not features.
    schema : Schema
        The schema that encoded the features, without curves.
    is_query : bool
        Whether the rows are the result of a query.
    """

    features: Matrix
    beside: Any
    schema: Schema
    is_query: bool = False

    @property
    def column_names(self) -> list[str]:
        """The columns that are not features."""
        return list(self.beside.column_names)

    def __getitem__(self, name: str) -> Any:
        """Return one of the columns that are not features."""
        return self.beside.column(name)

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def without(self, name: str) -> Taken:
        """Return the table without this column, which is not a feature."""
        return replace(self, beside=self.beside.select([kept for kept in self.column_names if kept != name]))

    def take(self, rows: NDArray[np.intp]) -> Taken:
        """Return the records of these rows, whose features are in memory or in a file as these are."""
        return replace(self, features=rows_of(self.features, rows), beside=self.beside.take(rows))

    def slices(self) -> Iterator[Taken]:
        """Yield all records in parts of some rows each; one part if there are none."""
        height = rows_of_batch(self.features.shape[1], CELLS_OF_A_BATCH)
        for start in range(0, max(1, len(self)), height):
            features = self.features[start : start + height]
            yield replace(self, features=features, beside=self.beside.slice(start, height))

    def encoded_by(self, schema: Schema) -> Matrix:
        """Return the features with the curves of this schema; raise if another schema encoded them."""
        if _plain(schema).features != _plain(self.schema).features:
            raise ValueError("The table was taken with another schema; take it with the schema of the fit.")
        return self.features


def _plain(schema: Schema) -> Schema:
    """Return the schema with `curve = false` in every column, whatever was declared."""
    return schema.with_curves(True).without_curves()


def assumption_of(X: Any) -> tuple[str, ...]:
    """Return the assumption of a statement about X, if its rows are the result of a query."""
    known = is_query(X) or is_relation(X) or (isinstance(X, Taken) and X.is_query)
    metadata = getattr(getattr(X, "schema", None), "metadata", None)
    marked = isinstance(metadata, dict) and metadata.items() >= OF_A_QUERY.items()
    return (FROM_A_QUERY,) if known or marked else ()


def taken(X: Any, schema: Schema) -> Any:
    """Return X if it is a table in memory; otherwise read the source once.

    Parameters
    ----------
    X : object
        A table in any form.
    schema : Schema
        The schema that encodes it; columns are divided into the pieces of curves later.

    Returns
    -------
    table : object
        X, or a `Taken` table.
    """
    source = batches_of(X)
    return X if source is None else take(source, schema)


def take(
    source: Batches,
    schema: Schema,
    *,
    names: Sequence[str] | None = None,
    dtype: type[np.floating[Any]] = np.float32,
    on_read: OnRead = lambda size: None,
    see: Callable[[Any], None] = lambda table: None,
) -> Taken:
    """Read a source once, and keep what a fit or a score needs.

    Parameters
    ----------
    source : Batches
        How to read it.
    schema : Schema
        The schema that encodes the table; columns are divided at the edges of curves later.
    names : sequence of str, optional
        The columns that are read, if the source has them; by default those that a fit reads.
    dtype : numpy.float32 or numpy.float64
        The type of the encoded features. Fits use single precision, scores double precision.
    on_read : callable
        Called with the number of further bytes read.
    see : callable
        Called with every batch, in order.

    Returns
    -------
    table : Taken
        The records.

    Raises
    ------
    TypeError, ValueError
        If it cannot be read, lacks a column, or holds what the schema refuses. No cell is quoted.
    """
    plain = schema.without_curves()
    features = {column.name for column in plain.features}
    cache = Cache(len(plain.feature_names))
    beside = []

    checked: list[Any] = []

    def work(table: Any) -> tuple[Any, Matrix]:
        if table.schema not in checked:
            columns_of(table, plain.features)  # raises for wrong types before a cell is read
            checked.append(table.schema)
        table = coded(numbered(table, plain.features))
        columns = [table.column(column.name) for column in plain.features]
        return table, encoded(columns, plain, dtype=dtype)

    for table, matrix in _in_order(work, source.read(names or schema.names_in_fit, on_read)):
        see(table)
        cache.append(matrix)
        beside.append(table.select([name for name in table.column_names if name not in features]))
    kept = concatenated(beside, [source.name] * len(beside))
    give_back_free_memory()  # what the batches needed
    return Taken(cache.matrix(), kept, plain, source.is_query)


def parts_of(X: Any, schema: Schema) -> Iterator[Any]:
    """Yield the rows of X as tables in memory: in batches if X is not in memory, or is an Arrow table."""
    source = batches_of(X)
    if source is not None:
        tables = source.read([fact.name for fact in schema.features], lambda size: None)
        yield from without_empty(tables)
    elif isinstance(X, Taken):
        yield from X.slices()
    elif hasattr(X, "slice") and hasattr(X, "num_rows"):
        rows = rows_of_batch(len(schema.features), CELLS_OF_A_BATCH)
        yield from (X.slice(start, rows) for start in range(0, max(1, X.num_rows), rows))
    else:
        yield X


def without_empty(tables: Iterator[Any]) -> Iterator[Any]:
    """Yield the tables that have rows or, if there are none, one table without rows."""
    first = next(tables)
    some = False
    for table in tables:
        if len(table):
            some = True
            yield table
    if not some:
        yield first


def _in_order(work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    """Yield work(item) in the order of the items, computed by a few threads, some items ahead."""
    with ThreadPoolExecutor(READERS) as readers:
        ahead: deque[Future[Any]] = deque()
        for item in items:
            # in the caller's context, which decides whether messages advise Python or commands
            ahead.append(readers.submit(copy_context().run, work, item))
            if len(ahead) > READERS:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
