"""Tables and models that commands read. Error messages are one sentence and never quote a cell."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privfit.cli.checking import refuse_what_does_not_fit
from privfit.cli.guard import Mistake
from privfit.cli.output import reading, waiting

if TYPE_CHECKING:
    from privfit.schema import Schema
    from privfit.schema.batches import Batches
    from privfit.schema.check import Checking, Purpose
    from privfit.schema.column import Column
    from privfit.schema.files import OnRead
    from privfit.schema.findings import Findings
    from privfit.schema.taken import Taken


STANDARD_INPUT = Path("-")


def table_named(text: str) -> Any:
    """Return an argument as a path or, if it begins with duckdb:, as the text of a query."""
    return text if text.startswith("duckdb:") else Path(text)


def paths_in(data: Sequence[Any]) -> list[Path]:
    """Return the files and directories among the sources of a table."""
    return [named for named in data if isinstance(named, Path)]


def sources(data: Sequence[Any]) -> Any:
    """Return the sources of a table: files, the files in directories, standard input, or a query."""
    from privfit.schema.files import CsvText, sources_of

    if len(paths_in(data)) < len(data):
        if len(data) > 1:
            raise Mistake("A query gives the whole table; give it alone.")
        return data[0]
    if data.count(STANDARD_INPUT) > 1:
        raise Mistake("Standard input can be read only once; give - once.")
    if STANDARD_INPUT in data and sys.stdin.isatty():
        raise Mistake("Standard input is a terminal; give it a CSV file: privfit ... - < people.csv")
    named = [CsvText(sys.stdin.buffer.read()) if path == STANDARD_INPUT else path for path in data]
    return sources_of(named) or []


def _name_of(data: Sequence[Any]) -> str:
    if len(data) > 1:
        return f"{len(data)} files"
    return str(data[0]) if isinstance(data[0], Path) else "The query"


@contextmanager
def reading_table(data: Sequence[Any]) -> Iterator[tuple[Batches, OnRead]]:
    """Yield the batches of a table and a function that reports how much was read, to show progress."""
    with waiting("Loading libraries"):
        from privfit.schema.batches import batches_of
    source = batches_of(sources(data))
    assert source is not None
    name = _name_of(data)
    try:
        with reading(f"Reading {name}", source.size) as on_read:
            yield source, on_read
    except (TypeError, ImportError) as error:
        # a column of a Parquet file has a type that the schema does not expect, or DuckDB is not installed
        raise Mistake(f"{name}: {error}") from None


def read_table(data: Sequence[Any], facts: Sequence[Column] | None = None) -> Any:
    """Return a table with all its columns, or with these declared columns after checking their types.

    Parameters
    ----------
    data : sequence of Path, or a query
        Files, directories, and - for standard input.
    facts : sequence of Column, optional
        The columns that the table must have; by default all columns are read.

    Returns
    -------
    table : pyarrow.Table
        The records; texts are stored as dictionaries of distinct values.
    """
    with reading_table(data) as (source, on_read):
        from privfit.schema.frames import columns_of
        from privfit.schema.stored import coded

        names = None if facts is None else [fact.name for fact in facts]
        table = source.read_all(names, on_read, stored_as=coded)
        columns_of(table, facts or ())
    return table if names is None else table.select(names)


def refuse_repeated_ids(table: Any, schema: Schema, name: str) -> None:
    """Raise an error if several records have the same id."""
    from privfit.schema import repeated_ids

    if repeated_ids(table, schema):
        assert schema.identifier is not None
        raise Mistake(
            f"{name}: some ids in column {schema.identifier.name!r} repeat, so some people have several "
            "records, and the promise, which is about one record, would be weaker for them; declare "
            "rows_per_person beside the id in the schema, the largest number of records of a person to use, "
            "or combine the records of each person into one."
        )


def take_table(
    data: Sequence[Any],
    schema: Schema,
    *,
    of_people: bool,
    check: bool,
    may_repeat_ids: bool = False,
    purpose: Purpose = "train",
) -> Taken:
    """Read a table once for a fit or a score, in blocks of rows; raise an error if it does not fit.

    Parameters
    ----------
    data : sequence of Path, or a query
        Files, directories, and - for standard input.
    schema : Schema
        The schema of the table.
    of_people : bool
        Whether the promise is about people, who are told apart by their ids.
    check : bool
        Whether to compare the table with the schema.
    may_repeat_ids : bool
        Whether ids may repeat although the promise is about records.
    purpose : {"train", "evaluate"}
        The use of the table. Scores use double precision.

    Returns
    -------
    table : Taken
        Encoded features, and the columns of labels, weights and, if they are needed, ids.
    """
    ids, checking = schema.identifier, checking_of(schema, purpose)
    looks_at_ids = check and not of_people and not may_repeat_ids
    weight = [] if schema.weight is None else [schema.weight.as_column]
    with_ids = [ids] if ids is not None and (of_people or looks_at_ids) else []
    names = [*schema.names, *(fact.name for fact in (*weight, *with_ids))]
    with reading_table(data) as (source, on_read):
        import numpy as np

        from privfit.schema.frames import columns_of
        from privfit.schema.taken import take

        people = [ids] if ids is not None and of_people else []
        needed = [*schema.features, schema.label, *weight, *people]
        # a batch without rows, to check the types
        columns_of(next(source.read(names, lambda size: None)), needed)
        try:
            see = checking.see if check else lambda table: None
            dtype = np.float64 if purpose == "evaluate" else np.float32
            table = take(source, schema, names=names, dtype=dtype, on_read=on_read, see=see)
        except ValueError:  # the schema refuses a cell; the check says more about it
            if check:
                refuse_what_does_not_fit(all_findings(source, schema, names, purpose), purpose)
            raise
        if looks_at_ids:
            refuse_repeated_ids(table, schema, _name_of(data))
    if check:
        refuse_what_does_not_fit(checking.findings(), purpose)
    return table if of_people or ids is None else table.without(ids.name)


def checking_of(schema: Schema, purpose: Purpose) -> Checking:
    """Return a comparison with the schema for a table that is read in parts; ids are checked elsewhere."""
    from privfit.schema.check import Checking

    return Checking(replace(schema, columns=schema.features), purpose)


def all_findings(source: Batches, schema: Schema, names: Sequence[str], purpose: Purpose) -> Findings:
    """Compare a whole table with the schema, after some of its rows could not be read."""
    checking = checking_of(schema, purpose)
    for table in source.read(names, lambda size: None):
        checking.see(table)
    return checking.findings()


def read_model(path: Path) -> Any:
    """Return the estimator of a model file."""
    with waiting(f"Reading {path}"):
        from privfit import load

        return load(path)


def read_model_of_tables(path: Path) -> Any:
    """Return the estimator of a model file, if it has a schema and so can read tables."""
    fitted = read_model(path)
    if fitted.schema_ is None:
        raise Mistake(
            f"{path} was trained on numbers, without a schema, so it cannot read a table; `privfit export` "
            "writes it for programs that provide the numbers."
        )
    return fitted
