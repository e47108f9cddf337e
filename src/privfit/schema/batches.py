"""Read a table in batches: a sequence of Arrow tables of some rows each.

CSV and Parquet files, directories of Parquet files, Arrow datasets and readers, and DuckDB queries are all
read in this way, once, and never as a whole. The size of the batches does not change the result, because each
cell is encoded by itself, by the schema alone (claim C1 of docs/privacy.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import fspath
from pathlib import Path
from typing import Any

from privfit.schema.files import (
    CsvText,
    OnRead,
    Source,
    bytes_in,
    csv_options,
    csv_stream,
    header_of,
    is_csv,
    not_a_csv,
    not_a_parquet,
    not_told,
    refuse_what_is_no_table,
    shown,
    sources_of,
)
from privfit.schema.parts import common_types, concatenated, in_types
from privfit.schema.queries import is_query, is_relation, query_reader, relation_reader, rows_of_batch

CSV_BLOCK = 2**22  # bytes that are parsed at a time; a record must not be longer
# about so many cells for sources other than CSV, so batches of wide tables have few rows
CELLS_OF_A_BATCH = 2**21

Names = Sequence[str] | None

OF_A_QUERY = {b"privfit.source": b"query"}


@dataclass(frozen=True)
class Batches:
    """A table that is read once, some rows at a time.

    Parameters
    ----------
    read : callable
        A function of names of columns (None for all) and of a callback, which gets the number of further
        bytes that were read. For files these are bytes on disk, for other sources bytes in memory. It returns
        an iterator over Arrow tables with those of the columns that exist.
    name : str
        The name of the table in messages.
    size : int
        The number of bytes to read; 0 if it is not known.
    is_query : bool
        Whether the rows are the result of a query, for which the custodian is responsible.
    """

    read: Callable[[Names, OnRead], Iterator[Any]]
    name: str
    size: int = 0
    is_query: bool = False

    def read_all(
        self,
        names: Names = None,
        on_read: OnRead = lambda size: None,
        stored_as: Callable[[Any], Any] = lambda table: table,
    ) -> Any:
        """Return all rows as one Arrow table, after applying this function to each batch.

        If the table is the result of a query, its metadata say so.
        """
        tables = [stored_as(table) for table in self.read(names, on_read)]
        table = concatenated(tables, [self.name] * len(tables))
        return table.replace_schema_metadata(OF_A_QUERY if self.is_query else None)


def batches_of(X: Any) -> Batches | None:
    """Return X as batches; None if it is a table in memory."""
    if is_query(X):
        return Batches(
            lambda names, on_read: query_reader(X, names, CELLS_OF_A_BATCH, on_read),
            "the query",
            is_query=True,
        )
    if is_relation(X):
        return Batches(
            lambda names, on_read: relation_reader(X, names, CELLS_OF_A_BATCH, on_read),
            "the relation",
            is_query=True,
        )
    if hasattr(X, "to_batches") and hasattr(X, "scanner"):
        return Batches(lambda names, on_read: _of_dataset(X, names, on_read), "the dataset")
    if hasattr(X, "read_next_batch"):
        return Batches(lambda names, on_read: _of_reader(X, names, on_read), "the reader")
    sources = sources_of(X)
    if sources is None:
        return None
    name = shown(sources[0]) if len(sources) == 1 else f"{len(sources)} files"
    return Batches(lambda names, on_read: _of_files(sources, names, on_read), name, bytes_in(sources))


def _of_dataset(dataset: Any, names: Names, on_read: OnRead) -> Iterator[Any]:
    present = None if names is None else [name for name in dataset.schema.names if name in names]
    rows = rows_of_batch(len(dataset.schema.names if present is None else present), CELLS_OF_A_BATCH)
    batches = dataset.to_batches(columns=present, batch_size=rows)
    yield from _checked(batches, dataset.schema, present, on_read)


def _of_reader(reader: Any, names: Names, on_read: OnRead) -> Iterator[Any]:
    present = None if names is None else [name for name in reader.schema.names if name in names]
    yield from _checked(reader, reader.schema, present, on_read)


def _checked(batches: Any, schema: Any, present: Names, on_read: OnRead) -> Iterator[Any]:
    """Yield batches as tables; error messages quote no cell."""
    import pyarrow

    empty = schema.empty_table()
    yield empty if present is None else empty.select(present)
    with not_told():
        for batch in batches:
            table = pyarrow.Table.from_batches([batch])
            if present is not None:
                table = table.select(present)
            table.validate(full=True)
            on_read(table.nbytes)
            yield table
        return
    raise ValueError("The dataset has a part that cannot be read.")


# -- files --------------------------------------------------------------------------------------------------


def _of_files(sources: Sequence[Source], names: Names, on_read: OnRead) -> Iterator[Any]:
    for source in sources:
        refuse_what_is_no_table(source)
    empty = [_empty(source, names) for source in sources]
    types = common_types(empty, [shown(source) for source in sources])
    yield in_types(empty[0], types)  # gives the types even if there are no rows, so that they can be refused
    if len(set(types.names)) < len(types.names):
        return  # the caller refuses names that occur twice
    for source in sources:
        read = _of_csv if is_csv(source) else _of_parquet
        for table in read(source, names, on_read):
            yield in_types(table, types)


def _empty(source: Source, names: Names) -> Any:
    """Return a table without rows that has the columns of a file, in its types."""
    import pyarrow
    from pyarrow import parquet

    if is_csv(source):
        kept = [name for name in header_of(source, names)[0] if names is None or name in names]
        return pyarrow.table({name: pyarrow.array([], pyarrow.large_binary()) for name in kept})
    assert not isinstance(source, CsvText)
    with not_told():
        empty = parquet.read_schema(fspath(source)).empty_table()
        numbers = [j for j, name in enumerate(empty.column_names) if names is None or name in names]
        return empty.select(numbers)  # by number, because a name may occur twice
    raise not_a_parquet(source)


def _of_csv(source: Source, names: Names, on_read: OnRead) -> Iterator[Any]:
    import pyarrow
    from pyarrow import csv as arrow_csv

    read_options = arrow_csv.ReadOptions(block_size=CSV_BLOCK)
    # Arrow's message quotes the line, so it is dropped
    with not_told(), csv_stream(source, on_read) as stream:
        reader = arrow_csv.open_csv(stream, read_options=read_options, **csv_options(source, names))
        for batch in reader:
            yield pyarrow.Table.from_batches([batch])
        return
    raise not_a_csv(source)


def _of_parquet(source: Source, names: Names, on_read: OnRead) -> Iterator[Any]:
    import pyarrow
    from pyarrow import parquet

    assert not isinstance(source, CsvText)
    # Arrow's message may quote a cell; invalid names raise a UnicodeDecodeError
    with (
        not_told(),
        # read a few rows at a time, because one row group may be as large as the file
        parquet.ParquetFile(fspath(source), pre_buffer=False, buffer_size=2**20) as file,
    ):
        size, n_rows, done = Path(source).stat().st_size, file.metadata.num_rows, 0
        present = [name for name in file.schema_arrow.names if names is None or name in names]
        for batch in file.iter_batches(rows_of_batch(len(present), CELLS_OF_A_BATCH), columns=present):
            table = pyarrow.Table.from_batches([batch])
            table.validate(
                full=True
            )  # finds text that is not UTF-8 and codes without a category, which reading does not check
            share = size / max(n_rows, len(table), 1)  # a damaged file may say that it has no rows
            on_read(int(share * (done + len(table))) - int(share * done))
            done += len(table)
            yield table
        return
    raise not_a_parquet(source)
