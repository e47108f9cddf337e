"""Held-out records: rows, targets, weights and people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from privfit.accounting.relation import Relation
from privfit.estimators.declared import warn_of_repeated_ids
from privfit.estimators.labels import WITHOUT_LABEL, encoded_labels, labels_given
from privfit.estimators.records import Records
from privfit.estimators.tables import check_rows, refuse_parts
from privfit.estimators.validation import check_lengths
from privfit.schema import Schema
from privfit.schema.batches import batches_of
from privfit.schema.frames import columns_of
from privfit.schema.labelling import labels_in, weights_in
from privfit.schema.people import People, people_in, records_used
from privfit.schema.taken import Taken, take


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Records on which a model is scored.

    Attributes
    ----------
    X : array, sparse matrix or table
        The rows, in the form that the model's `predict` takes.
    y : array
        Labels or numbers.
    weights : array, optional
        The given weight of each record.
    people : People, optional
        The person of each record.
    assumption : str
        The sentence for the privacy statement about records that may be left out; empty if there are none.
    """

    X: Any
    y: Any
    weights: NDArray[np.float64] | None
    people: People | None
    assumption: str = ""

    @classmethod
    def given(cls, records: Records, schema: Schema | None, relation: Relation) -> HeldOut:
        """Return the records that have a label, read by the model's schema; raise if they are invalid.

        By default labels, ids and weights are columns of a raw table, if the schema declares them.
        """
        X, y, people = records.X, records.y, records.groups
        refuse_parts("A private score", X, y)
        if schema is None:
            if y is None:
                raise ValueError("Scores need the true labels; give one label for each row, y=.")
            check_rows(X)
        else:
            source = batches_of(X)  # encoded in double precision, like tables in memory
            X = X if source is None else take(source, schema, dtype=np.float64)
            if not isinstance(X, Mapping):
                check_rows(X)
        rows = range(n_rows(X))
        for name, entry in (("y", "label"), ("sample_weight", "entry"), ("groups", "entry")):
            if getattr(records, name) is not None:
                check_lengths(rows, getattr(records, name), name, entry)
        held = cls(X, y, records.sample_weight, people)
        if schema is None:
            return held
        if relation.unit == "record":
            warn_of_repeated_ids(X, schema)
        elif schema.identifier is not None:
            (ids,) = columns_of(X, [schema.identifier])
            held = replace(held, people=people_in(ids, f"Column {schema.identifier.name!r}"))
        if held.weights is None:
            held = replace(held, weights=weights_in(X, schema))
        y, has_label = labels_in(X, schema) if y is None else labels_given(y, schema.label)
        if has_label is not None:
            held = replace(held._of(np.flatnonzero(has_label)), assumption=WITHOUT_LABEL)
        return replace(held, y=y)

    def _of(self, rows: NDArray[np.intp]) -> HeldOut:
        """Return the records of these rows; their labels are not kept."""
        return replace(
            self,
            X=rows_of(self.X, rows),
            weights=None if self.weights is None else self.weights[rows],
            people=None if self.people is None else self.people[rows],
        )

    def classes(self, classes: NDArray[Any]) -> tuple[NDArray[np.intp], str]:
        """Return the number of each record's class, and how the classes are known."""
        encoded, encoder = encoded_labels(self.y, classes)
        numbers = encoded > 0.0 if len(classes) == 2 else encoded  # in sorted order
        return np.argsort(classes)[numbers.astype(np.intp)], encoder.assumption

    def used(self, columns: NDArray[np.float64], relation: Relation) -> NDArray[np.intp] | slice:
        """Return which records are used: all, or a limited number of each person's (Q30).

        The choice depends on the values that the scores read and on the weight of each record. Records of a
        person with equal values are numbered, so that each has the same chance as others.
        """
        if self.people is None:
            return slice(None)
        said = columns if self.weights is None else np.column_stack([columns, np.nan_to_num(self.weights)])
        keys = np.column_stack([self.people.numbers, said])
        _, alike = np.unique(keys, axis=0, return_inverse=True)
        order = np.argsort(alike.ravel(), kind="stable")
        sizes = np.bincount(alike.ravel())
        firsts = np.repeat(np.cumsum(sizes) - sizes, sizes)
        copies = np.empty(len(keys))
        copies[order] = np.arange(len(keys)) - firsts
        used = records_used(self.people, relation.records_per_person, said, copies)
        if not len(used):
            raise ValueError("No record has an id, so that none can be used; give the ids.")
        return used


def n_rows(X: Any) -> int:
    """Return the number of rows of a table, or of a dict of columns."""
    return int(_num_samples(next(iter(X.values())) if isinstance(X, Mapping) else X))


def rows_of(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return a table of these rows; scikit-learn 1.6 cannot take them out of an Arrow table."""
    if isinstance(X, Mapping):
        return {name: rows_of(column, rows) for name, column in X.items()}
    takes_rows = isinstance(X, Taken) or type(X).__module__.startswith("pyarrow")
    return X.take(rows) if takes_rows else _safe_indexing(X, rows)
