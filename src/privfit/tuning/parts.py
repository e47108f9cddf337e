"""Divide records at random into a part for training and a part for scoring.

A shuffle would not be private, because the part of a record would depend on the number of other records.
Instead, each record, or each person, is assigned independently. So one more record changes one part by that
record, and does not change the other part (Q36).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from privfit.accounting.relation import Relation
from privfit.curator import NoiseSource
from privfit.estimators.records import Reading, Records
from privfit.estimators.validation import check_bounds
from privfit.mapped import is_mapped
from privfit.mapped import rows_of as rows_of_matrix
from privfit.metrics.held_out import n_rows, rows_of
from privfit.schema import Schema
from privfit.schema.frames import columns_of
from privfit.schema.people import NOBODY, People, people_in
from privfit.tuning.plan import Plan


def people_of(records: Records, schema: Schema | None, relation: Relation) -> People | None:
    """Return the person of each row if all rows of a person have to be in one part; otherwise None."""
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
        The person of each row, if all rows of a person have to be in one part.
    share : float
        The probability.
    noise : NoiseSource
        The source of randomness.

    Returns
    -------
    held : array of bool
        One entry for each row.
    """
    held = np.zeros(count, dtype=bool)
    if people is None:
        held[noise.poisson_rows(count, share)] = True
        return held
    numbers = people.numbers  # numbers from 0 on; no part uses rows without an id
    chosen = np.zeros(int(numbers.max(initial=NOBODY)) + 2, dtype=bool)
    chosen[noise.poisson_rows(len(chosen) - 1, share)] = True
    return chosen[numbers]


def rows_in(records: Records, places: NDArray[np.intp], X: Any = None) -> Records:
    """Return the records of these rows: as they were given, or with features X that were read already."""

    def chosen(values: Any) -> Any:
        return None if values is None else _safe_indexing(values, places)

    return replace(
        records,
        X=rows_of(records.X, places) if X is None else X,
        y=chosen(records.y),
        sample_weight=chosen(records.sample_weight),
        groups=None if records.groups is None else records.groups[places],
        reading=None,
    )


def split(count: int, people: People | None, share: float, noise: NoiseSource) -> NDArray[np.bool_]:
    """Return which rows are held out, like `held_out_rows`; raise ValueError if a part is empty."""
    held = held_out_rows(count, people, share, noise)
    _refuse_empty(held)
    return held


def _refuse_empty(held: NDArray[np.bool_]) -> None:
    if held.all() or not held.any():
        raise ValueError(
            "There are too few records to train on some and hold out others; fit the model without a search."
        )


@dataclass(frozen=True, eq=False)
class SharedRecords:
    """The records of a search, read once, which all of its fits share.

    Attributes
    ----------
    all : Records
        All records, those that models are trained on first.
    training : Records
        The records that models are trained on. They share the features, norms and packing of all records, of
        which they are the first. They are copied only if people have several records.
    """

    all: Records
    training: Records

    @classmethod
    def of(cls, reading: Reading, held: NDArray[np.bool_], bounds: Any = None) -> SharedRecords:
        """Sort the records so that those held out come last, which copies the features once.

        Sums over records are exact, so their order changes nothing.

        Parameters
        ----------
        reading : Reading
            What was read of the table.
        held : array of bool
            Which rows of the table are held out.
        bounds : pair of arrays, optional
            The lowest and the highest value of each feature; features are clipped to them, once.

        Returns
        -------
        records : SharedRecords
            The records that all fits share.
        """
        from privfit.engine.table import Table  # imported late: it needs numba, which is slow to import

        read = reading.records
        assert read is not None
        held = held if read.rows is None else held[read.rows]  # restricted to records that have a label
        _refuse_empty(held)
        training = np.flatnonzero(~held)
        if read.groups is not None:  # each fit chooses and copies the records of a person that it uses
            return cls(reading.of(read), reading.of(rows_in(read, training)))
        order = np.concatenate([training, np.flatnonzero(held)])
        table = Table(_arranged(read.X, order), intercept=False)
        table = table if bounds is None else table.clipped(*bounds)

        def shared(rows: NDArray[np.intp], table: Any) -> Records:
            return reading.of(replace(rows_in(read, rows, table.layout.X), table=table))

        return cls(shared(order, table), shared(training, table.first(len(training))))


def divided(records: Records, plan: Plan, share: float) -> tuple[SharedRecords, Records]:
    """Divide a table that was read; return its records for fits, and the held-out records as given."""
    schema, reading = plan.declared.schema, records.reading
    assert reading is not None
    assert reading.records is not None
    people = people_of(records, schema, plan.relation)
    held = split(n_rows(records.X), people, share, plan.terms.noise)
    bounds = None
    if schema is None and plan.declared.feature_bounds is not None:
        names = reading.columns.get("feature_names_in_")
        bounds = check_bounds(reading.records.X, plan.declared.feature_bounds, names)
    shared = SharedRecords.of(reading, held, bounds)
    places, X = np.flatnonzero(held), None
    if schema is None and isinstance(records.X, np.ndarray) and shared.all.table is not None:
        X = shared.all.X[-len(places) :]  # encoded already, in the same way
    return shared, rows_in(records, places, X)


def _arranged(X: Any, order: NDArray[np.intp]) -> Any:
    """Return the rows in this order: in a file if X is in one, and otherwise by rows even if X is not."""
    in_memory = isinstance(X, np.ndarray) and not is_mapped(X)
    return np.take(X, order, axis=0) if in_memory else rows_of_matrix(X, order)
