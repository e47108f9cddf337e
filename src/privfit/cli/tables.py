"""Tables and models that commands read: what is wrong with one is a sentence, and never a quotation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privfit.cli.guard import Mistake
from privfit.cli.output import waiting

if TYPE_CHECKING:
    from privfit.schema import Schema
    from privfit.schema.column import Column


def read_table(path: Path, facts: Sequence[Column], *, no_repeated_ids: Schema | None = None) -> Any:
    """Return a table that has the columns of these facts, in types that can be what they say.

    If a schema is given for `no_repeated_ids`, a table with several records of one person is refused.
    """
    with waiting(f"Reading {path}"):
        from privfit.schema import repeated_ids
        from privfit.schema.frames import columns_of, opened

        ids = None if no_repeated_ids is None else no_repeated_ids.identifier
        names = [fact.name for fact in facts]
        table = opened(path, names if ids is None else [*names, ids.name])
        try:
            columns_of(table, facts)
            repeated = no_repeated_ids is not None and repeated_ids(table, no_repeated_ids)
        except TypeError as error:  # a column of a Parquet file has a type that the schema does not expect
            raise Mistake(f"{path}: {error}") from None
        if ids is not None and repeated:
            raise Mistake(
                f"{path}: some ids in column {ids.name!r} repeat, so some people have several records, and "
                "the promise, which is about one record, would be weaker for them; combine the records of "
                "each person into one."
            )
        return table.select(names)


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
            f"{path} was trained on numbers, without a schema, so it cannot read a table; use it in Python."
        )
    return fitted
