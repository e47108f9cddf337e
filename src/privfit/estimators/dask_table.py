"""Tables that are Dask collections: the arguments of a fit, and their parts on the workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from privfit.estimators.distributed import DistributedTable
from privfit.estimators.part_reader import PartReader
from privfit.estimators.records import Records
from privfit.estimators.tables import is_dask

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.parts import Parts


@dataclass(frozen=True, eq=False)
class DaskTable(DistributedTable):
    """Features, targets, weights and ids of records, each a Dask collection with the same blocks of rows.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        The features, or with a schema a raw table.
    y : dask collection, optional
        The targets; None if the table has them.
    sample_weight : dask collection, optional
        The weight of each row.
    groups : dask collection, optional
        The id of each row's person.
    """

    noun: ClassVar[str] = "a Dask collection"

    X: Any
    y: Any = None
    sample_weight: Any = None
    groups: Any = None

    @classmethod
    def given(cls, X: Any, y: Any, sample_weight: Any, groups: Any) -> DaskTable | None:
        """Return the table that the caller of `fit` gave, or None if no Dask collection is in it."""
        beside = {"y": y, "sample_weight": sample_weight, "groups": groups}
        if not is_dask(X):
            for name, values in beside.items():
                if is_dask(values):
                    raise ValueError(f"{name} is a Dask collection and X is not; give both in the same form.")
            return None
        for name, values in beside.items():
            if values is not None and not is_dask(values):
                raise ValueError(f"X is a Dask collection and {name} is not; give both in the same form.")
        if getattr(X, "ndim", 2) != 2:
            raise ValueError("Expected 2D array: X must have one row for each record.")
        if hasattr(X, "rechunk"):  # rows stay together
            X = X.rechunk({1: -1})
        return cls(X, y, sample_weight, groups)

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments that were given: "X" and, if they were given, "y", "sample_weight" and "groups"."""
        every = ("X", "y", "sample_weight", "groups")
        return tuple(name for name in every if getattr(self, name) is not None)

    def without_records(self) -> Records:
        """Return the same table without rows, which has its public facts."""
        columns = (self.X, self.y, self.sample_weight, self.groups)
        empty = (None if values is None else _without_rows(values) for values in columns)
        return Records.given(*empty).as_part()

    def parts(self, reader: PartReader, key: bytes) -> Parts:
        """Return the parts of these records. Every block is read once."""
        from privfit.engine.parallel.dask_blocks import on_workers, read_here

        given = [getattr(self, name) for name in self.names]
        if len({int(values.npartitions) for values in given}) != 1:
            raise ValueError(
                f"{', '.join(self.names)} must have the same blocks of rows; rechunk them alike."
            )
        client, of_people = _active_client(), reader.relation.unit == "person"
        if client is None:
            return read_here(given, reader.part, key)
        if of_people:
            return on_workers(client, given, reader.part_of_records, key, reader.pieces)
        return on_workers(client, given, reader.part, key)


def _without_rows(values: Any) -> Any:
    """Return an empty array or frame of the same columns and types."""
    meta = values._meta
    if hasattr(meta, "iloc"):
        return meta.iloc[:0]
    shape = (0, *values.shape[1:])
    if sparse.issparse(meta):
        return sparse.csr_matrix(shape, dtype=values.dtype)
    return np.empty(shape, dtype=values.dtype)


def _active_client() -> Any:
    """Return the client of the cluster that is in use, or None."""
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None
