"""Tables that are taken once: read some rows at a time, encoded, and kept as numbers that every pass reads.

A fit reads its records many times, and what it promises needs all passes to see the same rows in the same
order (Q37 in docs/privacy.md). Files change, queries draw random numbers, and databases live. So whatever is
not in memory is read once, before anything is charged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any

from privfit.mapped import Cache, Matrix
from privfit.schema.batches import CELLS, OF_A_QUERY, Batches, batches_of
from privfit.schema.encoding import encode
from privfit.schema.files import OnRead
from privfit.schema.frames import columns_of
from privfit.schema.parts import concatenated
from privfit.schema.queries import is_query, is_relation, rows_of_batch
from privfit.schema.schema import Schema
from privfit.schema.stored import coded, numbered

READERS = 2  # that encode at the same time, while a third reads on

FROM_A_QUERY = (
    "the rows are the answer to a query that the custodian of the data ran, each row made of one record alone"
)


@dataclass(frozen=True, eq=False)
class Taken:
    """A table whose features are encoded, and whose label, id and weight are columns.

    Attributes
    ----------
    features : array or CSR matrix
        What `encode` gives for the schema without curves; large ones lie in a mapped file.
    beside : pyarrow.Table
        The columns that are no features.
    schema : Schema
        Which the features were encoded by, without curves.
    is_query : bool
        Whether the rows are the answer to a query.
    """

    features: Matrix
    beside: Any
    schema: Schema
    is_query: bool = False

    @property
    def column_names(self) -> list[str]:
        """The columns that are no features."""
        return list(self.beside.column_names)

    def __getitem__(self, name: str) -> Any:
        """Return one of the columns that are no features."""
        return self.beside.column(name)

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def without(self, name: str) -> Taken:
        """Return the table without a column that is no feature, if it has it."""
        return replace(self, beside=self.beside.select([kept for kept in self.column_names if kept != name]))

    def encoded_by(self, schema: Schema) -> Matrix:
        """Return the features, which must have been encoded by the facts of this schema."""
        if _plain(schema).features != _plain(self.schema).features:
            raise ValueError("The table was taken with another schema; take it with the schema of the fit.")
        return self.features


def _plain(schema: Schema) -> Schema:
    """Return the schema with `curve = false` in every column, whatever was declared."""
    return schema.with_curves(True).without_curves()


def assumption_of(X: Any) -> tuple[str, ...]:
    """Return what a statement has to say about X: that its rows are the answer to a query, if they are."""
    known = is_query(X) or is_relation(X) or (isinstance(X, Taken) and X.is_query)
    metadata = getattr(getattr(X, "schema", None), "metadata", None)
    marked = isinstance(metadata, dict) and metadata.items() >= OF_A_QUERY.items()
    return (FROM_A_QUERY,) if known or marked else ()


def taken(X: Any, schema: Schema) -> Any:
    """Return X if it is a table in memory, and otherwise take the source that it is.

    Parameters
    ----------
    X : object
        A table in any form.
    schema : Schema
        What it is encoded by; curves are cut later.

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
    on_read: OnRead = lambda size: None,
    see: Callable[[Any], None] = lambda table: None,
) -> Taken:
    """Read a source once, and keep what a fit needs of it.

    Parameters
    ----------
    source : Batches
        How to read it.
    schema : Schema
        What it is encoded by; curves are cut later.
    names : sequence of str, optional
        The columns that are read, if the source has them; by default those that a fit reads.
    on_read : callable
        Is told how many bytes more were read.
    see : callable
        Is shown every batch, in order.

    Returns
    -------
    table : Taken
        The records.

    Raises
    ------
    TypeError, ValueError
        If it cannot be read, lacks a column, or holds what the schema refuses. No cell is quoted.
    """
    import pyarrow

    plain = schema.without_curves()
    features = {column.name for column in plain.features}
    cache = Cache(len(plain.feature_names))
    beside = []

    def encoded(table: Any) -> tuple[Any, Matrix]:
        columns_of(table, plain.features)  # which refuses them by type before one is read
        table = coded(numbered(table, plain.features))
        return table, encode(table, plain)

    for table, matrix in _in_order(encoded, source.read(names or schema.names_in_fit, on_read)):
        see(table)
        cache.append(matrix)
        beside.append(table.select([name for name in table.column_names if name not in features]))
    kept = concatenated(beside, [source.name] * len(beside))
    pyarrow.default_memory_pool().release_unused()  # what the batches needed
    return Taken(cache.matrix(), kept, plain, source.is_query)


def parts_of(X: Any, schema: Schema) -> Iterator[Any]:
    """Yield the rows of X, as tables in memory: some at a time if X is not in memory, or is Arrow's."""
    source = batches_of(X)
    if source is not None:
        tables = source.read([fact.name for fact in schema.features], lambda size: None)
        yield from _without_empty(tables)
    elif hasattr(X, "slice") and hasattr(X, "num_rows"):
        rows = rows_of_batch(len(schema.features), CELLS)
        yield from (X.slice(start, rows) for start in range(0, max(1, X.num_rows), rows))
    else:
        yield X


def _without_empty(tables: Iterator[Any]) -> Iterator[Any]:
    """Yield tables that have rows, and one without if there are no others."""
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
            # in the context of the caller, which decides whether messages advise commands
            ahead.append(readers.submit(copy_context().run, work, item))
            if len(ahead) > READERS:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
