"""Tables that live on a Dask cluster: what a fit is given, and how its parts become numbers on the workers.

Everything that is public about such a table is that of the same table without rows, which the fit reads as
any other. The workers read their blocks by the same functions.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from privfit.accounting.relation import ONE_RECORD
from privfit.estimators.declared import Declared
from privfit.estimators.records import Records
from privfit.estimators.tables import is_distributed
from privfit.estimators.targets import TargetEncoder
from privfit.estimators.validation import check_lengths
from privfit.losses import Loss
from privfit.schema.encoding import with_curves

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.parts import InParts
    from privfit.engine.problem import Problem


@dataclass(frozen=True, eq=False)
class DistributedTable:
    """Features, targets and weights of records, each a Dask collection with the same blocks of rows.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        The features, or with a schema a raw table.
    y : dask collection, optional
        The targets; None where the table has them.
    sample_weight : dask collection, optional
        How much each row counts.
    """

    X: Any
    y: Any = None
    sample_weight: Any = None

    @classmethod
    def given(cls, X: Any, y: Any, sample_weight: Any, groups: Any) -> DistributedTable | None:
        """Return the table that the caller of `fit` gave, or None if it is in one place."""
        beside = {"y": y, "sample_weight": sample_weight, "groups": groups}
        if not is_distributed(X):
            for name, values in beside.items():
                if is_distributed(values):
                    raise ValueError(f"{name} is a Dask collection and X is not; give both in the same form.")
            return None
        if groups is not None:
            raise ValueError(
                "groups= needs all records of a person in one place, and a Dask collection is in parts; "
                "combine the records of each person into one first, or leave groups= out."
            )
        for name, values in beside.items():
            if values is not None and not is_distributed(values):
                raise ValueError(f"X is a Dask collection and {name} is not; give both in the same form.")
        if getattr(X, "ndim", 2) != 2:
            raise ValueError("Expected 2D array: X must have one row for each record.")
        if hasattr(X, "rechunk"):  # rows stay together
            X = X.rechunk({1: -1})
        return cls(X, y, sample_weight)

    def without_records(self) -> Records:
        """Return the same table without rows: what is public of it."""
        columns = (self.X, self.y, self.sample_weight)
        X, y, weights = (None if values is None else _without_rows(values) for values in columns)
        return Records.given(X, y, weights, None).as_part()

    def check(self, declared: Declared) -> None:
        """Refuse what would have to be read off all records, or bought before they are numbers."""
        if declared.schema is not None and declared.schema.identifier is not None:
            raise ValueError(
                f"The schema's id column {declared.schema.identifier.name!r} needs all records of a person "
                "in one place, and a Dask collection is in parts; take the id out of the schema."
            )
        if declared.target is None:
            raise ValueError(
                "What the target may be has to be declared for a Dask collection; set classes=, or "
                "target_bounds= of a regressor."
            )
        if declared.weighting.given and declared.weighting.largest is None:
            raise ValueError("max_weight has to be declared for the weights of a Dask collection.")
        if declared.has_undecided_curves:
            raise ValueError(
                "Curves of a Dask collection need a declared number of records or of edges; set n_records=, "
                "or give the number of edges instead of true."
            )

    def in_parts(
        self,
        estimator: Any,
        declared: Declared,
        encoder: TargetEncoder | None,
        loss: Loss,
        none: Records,
        weights: NDArray[np.float64] | None,
    ) -> InParts:
        """Return the problem of these records, which stay on the workers.

        `none` has no records, and says what is public. Every block is read once, before anything is charged.
        """
        import dask.base
        from dask.delayed import delayed

        from privfit.engine.parallel.dask_parts import DaskParts, checked, make_part
        from privfit.engine.parts import InParts, LocalParts
        from privfit.engine.problem import Problem

        X = none.X if declared.schema is None else with_curves(none.X, declared.schema)
        problem = Problem.of(X, none.y, loss, intercept=bool(estimator.fit_intercept), weights=weights)
        problem.is_part = True
        assert encoder is not None  # because targets are declared
        # the ledger and the seed stay with the driver
        settings = estimator.get_params(deep=False) | {"ledger": None, "random_state": None}
        reader = type(estimator)(**settings)
        make = partial(_read, reader, declared, encoder, problem)
        compute: Any = dask.base.compute
        client, blocks = _active_client(), self._blocks()
        # a part for each thread of the cluster, made where it is to stay if that worker lives
        places = [""] if client is None else [at for at, n in client.nthreads().items() for _ in range(n)]
        borders = np.linspace(0, len(blocks), max(1, min(len(places), len(blocks))) + 1).astype(int)
        key = secrets.token_bytes(32)
        tasks = [
            delayed(make_part, pure=False)(make, key, blocks[first:last])
            for first, last in itertools.pairwise(borders)
        ]
        if client is None:
            return InParts(problem, LocalParts([checked(compute(*tasks, scheduler="threads")[0])]))
        made = [
            client.compute(task, workers=[place], allow_other_workers=True)
            for task, place in zip(tasks, places, strict=False)
        ]
        return InParts(problem, DaskParts(client, made))

    def _blocks(self) -> list[dict[str, Any]]:
        """Return X, y and weights of each block of rows, not computed yet."""
        given = {"X": self.X, "y": self.y, "sample_weight": self.sample_weight}
        blocks = {
            name: np.ravel(np.asarray(values.to_delayed(optimize_graph=False), dtype=object)).tolist()
            for name, values in given.items()
            if values is not None
        }
        if len({len(each) for each in blocks.values()}) != 1:
            raise ValueError("X, y and sample_weight must have the same blocks of rows; rechunk them alike.")
        return [dict(zip(blocks, each, strict=True)) for each in zip(*blocks.values(), strict=True)]


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


def _read(
    estimator: Any,
    declared: Declared,
    encoder: TargetEncoder,
    empty: Problem,
    blocks: Sequence[Mapping[str, Any]],
) -> Problem:
    """Return a part of blocks of rows: read, encoded and put together, on the worker that keeps it."""
    from privfit.engine.problem import Problem

    read = []
    for block in blocks:
        X, y, weights = (block.get(name) for name in ("X", "y", "sample_weight"))
        for name, values in (("y", y), ("sample_weight", weights)):
            if values is not None:
                check_lengths(X, values, name)
        records = estimator._read(Records.given(X, y, weights, None).as_part(), declared, ONE_RECORD)
        features = records.X if declared.schema is None else with_curves(records.X, declared.schema)
        targets, found = estimator._encoded(records.y, declared.target)
        if found.assumption != encoder.assumption:
            raise ValueError("The blocks of y have different types; give all of them the same type.")
        shares = declared.weighting.of(records.sample_weight, encoder, declared.target).given
        read.append((features, targets, shares))
    rows, of_targets, of_weights = (list(each) for each in zip(*read, strict=True))
    joined = sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.concatenate(rows)
    part = Problem.of(
        joined.astype(empty.table.layout.take(slice(0, 0)).dtype, copy=False),
        np.concatenate(of_targets),
        empty.loss,
        intercept=empty.table.intercept,
        weights=np.concatenate(of_weights) if empty.weighted else None,
    )
    part.is_part = True
    return part
