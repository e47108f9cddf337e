"""Tables and models that commands read: what is wrong with one is a sentence, and never a quotation."""

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
    from privfit.schema.check import Checking
    from privfit.schema.column import Column
    from privfit.schema.files import OnRead
    from privfit.schema.findings import Findings
    from privfit.schema.taken import Taken


STANDARD_INPUT = Path("-")


def table_named(text: str) -> Any:
    """Return what an argument names: a path or, if it begins with duckdb:, a query as it is."""
    return text if text.startswith("duckdb:") else Path(text)


def paths_in(data: Sequence[Any]) -> list[Path]:
    """Return the files and directories among what holds the table."""
    return [named for named in data if isinstance(named, Path)]


def sources(data: Sequence[Any]) -> Any:
    """Return what holds the table: files, those in directories, what comes by standard input, or a query."""
    from privfit.schema.files import CsvText, sources_of

    if len(paths_in(data)) < len(data):
        if len(data) > 1:
            raise Mistake("A query gives the whole table; give it alone.")
        return data[0]
    if data.count(STANDARD_INPUT) > 1:
        raise Mistake("Standard input can be read once; give - once.")
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
    """Yield how to read a table, and what to tell how much was read, which is shown meanwhile."""
    with waiting("Loading libraries"):
        from privfit.schema.batches import batches_of
    source = batches_of(sources(data))
    assert source is not None
    name = _name_of(data)
    try:
        with reading(f"Reading {name}", source.size) as on_read:
            yield source, on_read
    except (TypeError, ImportError) as error:
        # a column of a Parquet file has a type that the schema does not expect, or DuckDB is not there
        raise Mistake(f"{name}: {error}") from None


def read_table(
    data: Sequence[Any],
    facts: Sequence[Column] | None = None,
    *,
    if_there: Sequence[Column] = (),
    no_repeated_ids: Schema | None = None,
) -> Any:
    """Return a table with all its columns, or with those of these facts in types that can be what they say.

    Parameters
    ----------
    data : sequence of Path, or a query
        Files, directories, and - for standard input.
    facts : sequence of Column, optional
        The columns that it must have; all are read if there are none.
    if_there : sequence of Column
        Columns that are read besides, if the table has them.
    no_repeated_ids : Schema, optional
        A table with several records of one person, by the id that this schema declares, is refused.

    Returns
    -------
    table : pyarrow.Table
        The records, texts stored by distinct cells.
    """
    ids = None if no_repeated_ids is None else no_repeated_ids.identifier
    wanted = None if facts is None else [*facts, *if_there]
    with reading_table(data) as (source, on_read):
        from privfit.schema.frames import columns_of
        from privfit.schema.stored import coded

        names = None if wanted is None else [fact.name for fact in (*wanted, *([ids] if ids else []))]
        table = source.read_all(names, on_read, stored_as=coded)
        present = [fact for fact in wanted or () if fact not in if_there or fact.name in table.column_names]
        columns_of(table, present)
        if no_repeated_ids is not None:
            refuse_repeated_ids(table, no_repeated_ids, _name_of(data))
    return table if wanted is None else table.select([fact.name for fact in present])


def refuse_repeated_ids(table: Any, schema: Schema, name: str) -> None:
    """Refuse a table with several records of one person, by the id that the schema declares."""
    from privfit.schema import repeated_ids

    if repeated_ids(table, schema):
        assert schema.identifier is not None
        raise Mistake(
            f"{name}: some ids in column {schema.identifier.name!r} repeat, so some people have several "
            "records, and the promise, which is about one record, would be weaker for them; say how many of "
            "them are used at most, by rows_per_person beside the id in the schema, or combine the records "
            "of each person into one."
        )


def take_table(data: Sequence[Any], schema: Schema, *, of_people: bool, check: bool) -> Taken:
    """Read a table once for a fit, some rows at a time, and refuse one that does not fit the schema.

    Parameters
    ----------
    data : sequence of Path, or a query
        Files, directories, and - for standard input.
    schema : Schema
        What the table should be.
    of_people : bool
        Whether the promise is about people, told apart by their ids.
    check : bool
        Whether to compare the table with the schema.

    Returns
    -------
    table : Taken
        Encoded features, and the columns of labels, weights and, if they are needed, ids.
    """
    ids, checking = schema.identifier, _checking(schema)
    weight = [] if schema.weight is None else [schema.weight.as_column]
    with_ids = [ids] if ids is not None and (of_people or check) else []
    names = [*schema.names, *(fact.name for fact in (*weight, *with_ids))]
    with reading_table(data) as (source, on_read):
        from privfit.schema.frames import columns_of
        from privfit.schema.taken import take

        people = [ids] if ids is not None and of_people else []
        needed = [*schema.features, schema.label, *weight, *people]
        columns_of(next(source.read(names, lambda size: None)), needed)  # their types; it has no rows
        try:
            see = checking.see if check else lambda table: None
            table = take(source, schema, names=names, on_read=on_read, see=see)
        except ValueError:  # what the schema refuses; the check says more about it
            if check:
                refuse_what_does_not_fit(_all_findings(source, schema, names), "train")
            raise
        if check and not of_people:
            refuse_repeated_ids(table, schema, _name_of(data))
    if check:
        refuse_what_does_not_fit(checking.findings(), "train")
    return table if of_people or ids is None else table.without(ids.name)


def _checking(schema: Schema) -> Checking:
    from privfit.schema.check import Checking

    return Checking(replace(schema, columns=schema.features))  # ids are looked at by themselves


def _all_findings(source: Batches, schema: Schema, names: Sequence[str]) -> Findings:
    checking = _checking(schema)
    for table in source.read(names, lambda size: None):
        checking.see(table)
    return checking.findings()


def read_model(path: Path) -> Any:
    """Return the estimator of a model file."""
    with waiting(f"Reading {path}"):
        from privfit import load

        return load(path)


def read_model_of_tables(path: Path) -> Any:
    """Return the estimator of a model file, if it takes tables as they are."""
    fitted = read_model(path)
    if fitted.schema_ is None:
        raise Mistake(
            f"{path} was trained on numbers, without a schema, so it cannot read a table; `privfit export` "
            "writes it for programs that have the numbers."
        )
    return fitted
