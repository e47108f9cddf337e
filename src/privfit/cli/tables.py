"""Tables and models that commands read: what is wrong with one is a sentence, and never a quotation."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privfit.cli.guard import Mistake
from privfit.cli.output import reading, waiting

if TYPE_CHECKING:
    from privfit.schema import Schema
    from privfit.schema.column import Column
    from privfit.schema.files import Source


STANDARD_INPUT = Path("-")


def sources(data: Sequence[Path]) -> list[Source]:
    """Return what holds the table: files, those in directories, and what comes by standard input for -."""
    from privfit.schema.files import CsvText, sources_of

    if data.count(STANDARD_INPUT) > 1:
        raise Mistake("Standard input can be read once; give - once.")
    if STANDARD_INPUT in data and sys.stdin.isatty():
        raise Mistake("Standard input is a terminal; give it a CSV file: privfit ... - < people.csv")
    named = [CsvText(sys.stdin.buffer.read()) if path == STANDARD_INPUT else path for path in data]
    return sources_of(named) or []


def read_table(
    data: Sequence[Path],
    facts: Sequence[Column] | None = None,
    *,
    if_there: Sequence[Column] = (),
    no_repeated_ids: Schema | None = None,
) -> Any:
    """Return a table with all its columns, or with those of these facts in types that can be what they say.

    Parameters
    ----------
    data : sequence of Path
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
        The records.
    """
    with waiting("Loading libraries"):
        from privfit.schema import repeated_ids
        from privfit.schema.files import bytes_in, read_files
        from privfit.schema.frames import columns_of
    held = sources(data)
    name = str(data[0]) if len(data) == 1 else f"{len(data)} files"
    ids = None if no_repeated_ids is None else no_repeated_ids.identifier
    wanted = None if facts is None else [*facts, *if_there]
    with reading(f"Reading {name}", bytes_in(held)) as on_read:
        names = None if wanted is None else [fact.name for fact in (*wanted, *([ids] if ids else []))]
        table = read_files(held, names, on_read)
    present = [fact for fact in wanted or () if fact not in if_there or fact.name in table.column_names]
    try:
        columns_of(table, present)
        repeated = no_repeated_ids is not None and repeated_ids(table, no_repeated_ids)
    except TypeError as error:  # a column of a Parquet file has a type that the schema does not expect
        raise Mistake(f"{name}: {error}") from None
    if ids is not None and repeated:
        raise Mistake(
            f"{name}: some ids in column {ids.name!r} repeat, so some people have several records, and "
            "the promise, which is about one record, would be weaker for them; say how many of them are used "
            "at most, by rows_per_person beside the id in the schema, or combine the records of each person "
            "into one."
        )
    return table if wanted is None else table.select([fact.name for fact in present])


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
