"""Tables that are taken once: read some rows at a time, encoded, and kept as numbers that every pass reads.

A fit reads its records many times, and what it promises needs all passes to see the same rows in the same
order (Q37 in docs/privacy.md). Files change, queries draw random numbers, and databases live. So whatever is
not in memory is read once, before anything is charged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from privfit.mapped import Cache, Matrix
from privfit.schema.batches import Batches, batches_of
from privfit.schema.encoding import encode
from privfit.schema.files import OnRead
from privfit.schema.frames import columns_of
from privfit.schema.queries import is_query, is_relation
from privfit.schema.schema import Schema
from privfit.schema.stored import coded

READERS = 2  # that encode at the same time, while a third reads on

OF_A_QUERY = (
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

    def encoded_by(self, schema: Schema) -> Matrix:
        """Return the features, which must have been encoded by the facts of this schema."""
        if schema.features != self.schema.features:
            raise ValueError("The table was taken with another schema; take it with the schema of the fit.")
        return self.features


def assumption_of(X: Any) -> tuple[str, ...]:
    """Return what a statement has to say about X: that its rows are the answer to a query, if they are."""
    answer = is_query(X) or is_relation(X) or (isinstance(X, Taken) and X.is_query)
    return (OF_A_QUERY,) if answer else ()


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
    on_read : callable
        Is told how many bytes more were read.
    see : callable
        Is shown every batch before it is encoded, in order.

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
    names = {column.name for column in plain.features}
    cache = Cache(len(plain.feature_names))
    beside = []

    def encoded(table: Any) -> tuple[Matrix, Any]:
        columns_of(table, plain.features)  # which refuses them by type before one is read
        kept = coded(table.select([name for name in table.column_names if name not in names]))
        return encode(table, plain), kept

    def tables() -> Iterator[Any]:
        for table in source.read(schema.names_in_fit, on_read):
            see(table)
            yield table

    for matrix, kept in _in_order(encoded, tables()):
        cache.append(matrix)
        beside.append(kept)
    return Taken(cache.matrix(), pyarrow.concat_tables(beside), plain, source.is_query)


def _in_order(work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    """Yield work(item) in the order of the items, computed by a few threads, some items ahead."""
    with ThreadPoolExecutor(READERS) as readers:
        ahead: deque[Future[Any]] = deque()
        for item in items:
            ahead.append(readers.submit(work, item))
            if len(ahead) > READERS:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
