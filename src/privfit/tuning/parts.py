"""The part that models are trained on and the part that they are scored on: a coin decides for each record.

A seeded shuffle would not do, because where it puts one record depends on how many others there are. With a
coin of its own for each record, or for each person, one more record changes one of the two parts by itself
and leaves the other as it is (Q36).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from privfit.accounting.relation import Relation
from privfit.curator import NoiseSource
from privfit.estimators.records import Records
from privfit.metrics.held_out import n_rows, rows_of
from privfit.schema import Schema
from privfit.schema.batches import batches_of
from privfit.schema.frames import columns_of
from privfit.schema.people import NOBODY, People, people_in


def in_memory(X: Any, schema: Schema | None) -> Any:
    """Return a table of which rows can be taken: X, or all that a file, a dataset or a query holds.

    It is read once, so that fits and scores see the same rows.
    """
    source = None if schema is None else batches_of(X)
    if source is None or schema is None:
        return X
    import pyarrow

    return pyarrow.concat_tables(source.read(schema.names_in_fit, lambda size: None))


def people_of(records: Records, schema: Schema | None, relation: Relation) -> People | None:
    """Return whose each row is, where all rows of a person have to be in one part."""
    if relation.unit == "record":
        return None
    if schema is not None and schema.identifier is not None:
        (ids,) = columns_of(records.X, [schema.identifier])
        return people_in(ids, f"Column {schema.identifier.name!r}")
    return records.groups


def held_out_rows(count: int, people: People | None, share: float, noise: NoiseSource) -> NDArray[np.bool_]:
    """Return which rows are held out, each record or each person with this probability.

    Parameters
    ----------
    count : int
        The number of rows.
    people : People, optional
        Whose the rows are, if all rows of a person have to be in one part.
    share : float
        The probability.
    noise : NoiseSource
        Where the coins come from.

    Returns
    -------
    held : array of bool
        One entry for each row.
    """
    held = np.zeros(count, dtype=bool)
    if people is None:
        held[noise.poisson_rows(count, share)] = True
        return held
    numbers = people.numbers  # from 0 on; rows without an id are nobody's, and no part uses them
    chosen = np.zeros(int(numbers.max(initial=NOBODY)) + 2, dtype=bool)
    chosen[noise.poisson_rows(len(chosen) - 1, share)] = True
    return chosen[numbers]


def rows_in(records: Records, rows: NDArray[np.bool_]) -> Records:
    """Return the records of these rows, as they were given."""
    places = np.flatnonzero(rows)

    def chosen(values: Any) -> Any:
        return None if values is None else _safe_indexing(values, places)

    return replace(
        records,
        X=rows_of(records.X, places),
        y=chosen(records.y),
        sample_weight=chosen(records.sample_weight),
        groups=None if records.groups is None else records.groups[places],
    )


def split(
    records: Records, people: People | None, share: float, noise: NoiseSource
) -> tuple[Records, Records]:
    """Return the records that models are trained on, and those that are held out."""
    held = held_out_rows(n_rows(records.X), people, share, noise)
    if held.all() or not held.any():
        raise ValueError(
            "There are too few records to train on some and hold out others; fit the model without a search."
        )
    return rows_in(records, ~held), rows_in(records, held)
