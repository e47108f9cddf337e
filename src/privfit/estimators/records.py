"""The records of a fit: what `fit` was given, one entry for each row, kept in step until they are numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.accounting.relation import Relation
from privfit.engine.persons import Persons
from privfit.estimators.people import name_of_groups
from privfit.estimators.tables import as_array
from privfit.estimators.validation import check_lengths
from privfit.mapped import rows_of
from privfit.schema.frames import dtype_name
from privfit.schema.people import People, people_in, records_used


@dataclass(frozen=True, eq=False)
class Records:
    """Features, targets, weights and groups of the rows of a table.

    Parameters
    ----------
    X : object
        The features: what the caller gave, and numbers once they are read.
    y : object
        The targets, None where the table has them.
    sample_weight : array, optional
        How much each row counts.
    groups : People, optional
        Who each row belongs to.
    groups_name : str, optional
        What the groups are called that the caller gave.
    is_part : bool
        Whether these are some of the records, and maybe none.
    """

    X: Any
    y: Any = None
    sample_weight: NDArray[np.float64] | None = None
    groups: People | None = None
    groups_name: str | None = None
    is_part: bool = False

    @classmethod
    def given(cls, X: Any, y: Any, sample_weight: Any, groups: Any) -> Records:
        """Return what the caller of `fit` gave; weights and groups are refused unless they are columns."""
        weights = None if sample_weight is None else _weights(sample_weight)
        if groups is None:
            return cls(X, y, weights)
        _column("groups", groups)  # which refuses what is no column; ids are read as they are stored
        ids = groups if getattr(groups, "ndim", 1) == 1 else _column("groups", groups)
        return cls(X, y, weights, people_in(ids, "groups"), name_of_groups(groups))

    def with_features(self, X: Any) -> Records:
        """Return the same records with these features, a row for each; refuse other numbers of rows."""
        if self.y is not None:
            check_lengths(X, self.y)
        for name in ("sample_weight", "groups"):
            if getattr(self, name) is not None:
                check_lengths(X, getattr(self, name), name, "entry")
        return replace(self, X=X)

    def as_part(self) -> Records:
        """Return the same records as some of those of a table."""
        return replace(self, is_part=True)

    def with_targets(self, y: Any) -> Records:
        """Return the same records with these targets."""
        return replace(self, y=y)

    def with_groups(self, groups: People) -> Records:
        """Return the same records, belonging to these people."""
        return replace(self, groups=groups)

    def with_weights(self, sample_weight: NDArray[np.float64] | None) -> Records:
        """Return the same records with these weights."""
        return replace(self, sample_weight=sample_weight)

    def keep(self, rows: NDArray[np.bool_] | NDArray[np.intp] | None) -> Records:
        """Return the records of these rows, whose features are numbers already; None stands for all."""
        if rows is None:
            return self
        kept = {
            name: value[rows]
            for name in ("y", "sample_weight", "groups")
            if (value := getattr(self, name)) is not None
        }
        return replace(self, X=rows_of(self.X, rows), **kept)

    def of_people(self, relation: Relation) -> tuple[Records, Persons | None]:
        """Return the records that are used, those of a person one after the other, and whose they are.

        Features and targets are numbers already. Without groups all records are used, in their order (Q25).
        """
        if self.groups is None:
            return self, None
        beside = [column for column in (self.y, self.sample_weight) if column is not None]
        most = relation.records_per_person
        used = self.keep(records_used(self.groups, most, self.X, *beside))
        if not used.X.shape[0]:
            raise ValueError("No record says whose it is, so that none can be used; give the ids.")
        assert used.groups is not None
        return used, Persons.of(used.groups.numbers, most)


def _column(name: str, values: Any) -> NDArray[Any]:
    """Return values as an array of one dimension, or refuse them in a sentence that quotes none."""
    lazy = hasattr(values, "collect") or isinstance(values, np.ma.MaskedArray | dict | str)
    column = None if lazy else as_array(values)
    if column is None or not (column.ndim == 1 or (column.ndim == 2 and column.shape[1] == 1)):
        raise ValueError(f"{name} must be an array or a column with one entry for each row.")
    return column.ravel()


def _weights(sample_weight: Any) -> NDArray[np.float64]:
    weights = _column("sample_weight", sample_weight)
    if weights.dtype.kind not in "biuf":
        raise ValueError(f"sample_weight has dtype {dtype_name(weights.dtype)}; weights are numbers.")
    return weights.astype(np.float64)
