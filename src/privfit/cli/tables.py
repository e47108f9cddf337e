"""Tables and models that commands read: what is wrong with one is a sentence, and never a quotation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privfit.cli.guard import Mistake
from privfit.cli.output import waiting

if TYPE_CHECKING:
    from privfit.schema.column import Column


def read_table(path: Path, facts: Sequence[Column]) -> Any:
    """Return a table that has the columns of these facts, in types that can be what they say."""
    with waiting(f"Reading {path}"):
        from privfit.schema.frames import columns_of, opened

        table = opened(path, [fact.name for fact in facts])
        try:
            columns_of(table, facts)
        except TypeError as error:  # a column of a Parquet file has a type that the schema does not expect
            raise Mistake(f"{path}: {error}") from None
        return table


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
