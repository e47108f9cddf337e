"""The records of a fit: features, targets, weights and groups, which stay aligned until they are encoded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:  # imported late: it needs numba, which takes a third of a second to import
    from privfit.engine.table import Table

_OF_COLUMNS = ("n_features_in_", "feature_names_in_")  # attributes that an estimator takes from a table


@dataclass(eq=False)
class Reading:
    """A table that several fits share: the first fit reads it, and the others reuse the result.

    Parameters
    ----------
    columns : dict
        The attributes that an estimator takes from the table.
    records : Records, optional
        The records after reading; None before.
    """

    columns: dict[str, Any] = field(default_factory=dict)
    records: Records | None = None

    def by(self, estimator: Any, read: Callable[[], Records]) -> Records:
        """Return the records that were read, and set the estimator's attributes of columns."""
        if self.records is None:
            self.records = read()
            self.columns = {name: value for name, value in vars(estimator).items() if name in _OF_COLUMNS}
        vars(estimator).update(self.columns)
        return self.records

    def of(self, records: Records) -> Records:
        """Return records derived from those that were read, which other fits use without reading again."""
        return replace(records, reading=Reading(self.columns, records))


@dataclass(frozen=True, eq=False)
class Records:
    """Features, targets, weights and groups of the rows of a table.

    Parameters
    ----------
    X : object
        The features: as the caller gave them, and encoded after reading.
    y : object
        The targets; None if the table has them.
    sample_weight : array, optional
        The weight of each row.
    groups : People, optional
        The person of each row.
    groups_name : str, optional
        The name of the groups that the caller gave.
    is_part : bool
        Whether these are only some of the records, which may be none.
    rows : array of int, optional
        The number of each row in the given table; None if these are all its rows.
    reading : Reading, optional
        The table that these records share with other fits.
    table : Table, optional
        The features as a table of the engine, if fits share its norms and its packed copy.
    """

    X: Any
    y: Any = None
    sample_weight: NDArray[np.float64] | None = None
    groups: People | None = None
    groups_name: str | None = None
    is_part: bool = False
    rows: NDArray[np.intp] | None = None
    reading: Reading | None = None
    table: Table | None = None

    @classmethod
    def given(cls, X: Any, y: Any, sample_weight: Any, groups: Any) -> Records:
        """Return the arguments of `fit` as records; raise unless weights and groups are columns."""
        weights = None if sample_weight is None else _weights(sample_weight)
        if groups is None:
            return cls(X, y, weights)
        _column("groups", groups)  # raises unless it is a column; ids are read as they are stored
        ids = groups if getattr(groups, "ndim", 1) == 1 else _column("groups", groups)
        return cls(X, y, weights, people_in(ids, "groups"), name_of_groups(groups))

    def read_by(self, estimator: Any, read: Callable[[Records], Records]) -> Records:
        """Return these records with encoded features, read by the estimator or shared with another fit."""
        return read(self) if self.reading is None else self.reading.by(estimator, lambda: read(self))

    def with_features(self, X: Any) -> Records:
        """Return the same records with these features; raise if the number of rows differs."""
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
        """Return the records of these rows, whose features are encoded already; None means all rows."""
        if rows is None:
            return self
        kept = {
            name: value[rows]
            for name in ("y", "sample_weight", "groups")
            if (value := getattr(self, name)) is not None
        }
        numbers = np.arange(self.X.shape[0]) if self.rows is None else self.rows
        return replace(self, X=rows_of(self.X, rows), rows=numbers[rows], table=None, **kept)

    def features(self, X: Any) -> Any:
        """Return the shared table if X are its features, and X otherwise."""
        return self.table if self.table is not None and X is self.X else X

    def of_people(self, relation: Relation) -> tuple[Records, Persons | None]:
        """Return the records that are used, sorted by person, and the persons.

        Features and targets are encoded already. Without groups all records are used, in their order (Q25).
        """
        if self.groups is None:
            return self, None
        beside = [column for column in (self.y, self.sample_weight) if column is not None]
        most = relation.records_per_person
        used = self.keep(records_used(self.groups, most, self.X, *beside))
        if not used.X.shape[0] and not self.is_part:
            raise ValueError("No record has an id, so that none can be used; give the ids.")
        assert used.groups is not None
        return used, Persons.of(used.groups.numbers, most)


def _column(name: str, values: Any) -> NDArray[Any]:
    """Return values as a 1d array; if that is not possible, raise an error that quotes no value."""
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
