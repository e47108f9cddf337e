"""Tables on a cluster: check what was declared, and encode their parts on the workers.

The public facts about such a table are those of the same table without rows, which the fit reads like any
other table. The workers read their blocks with the same functions.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privfit.accounting.relation import Relation
from privfit.estimators.declared import Declared
from privfit.estimators.part_reader import PartReader
from privfit.estimators.records import Records
from privfit.estimators.targets import TargetEncoder
from privfit.losses import Loss
from privfit.schema.encoding import with_curves
from privfit.schema.frames import column_names

if TYPE_CHECKING:  # imported late: the engine needs numba, which takes a third of a second to import
    from privfit.engine.parts import InParts, Parts
    from privfit.engine.persons import Persons


class DistributedTable(ABC):
    """Features, targets, weights and ids of records in parts."""

    noun: ClassVar[str]  # the name of the table in messages

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The arguments that were given: "X" and, if they were given, "y", "sample_weight" and "groups"."""

    @abstractmethod
    def without_records(self) -> Records:
        """Return the same table without rows, which has its public facts."""

    @abstractmethod
    def parts(self, reader: PartReader, key: bytes) -> Parts:
        """Return the parts of these records, which the reader encodes on the workers.

        Parameters
        ----------
        reader : PartReader
            Reads blocks of rows.
        key : bytes
            The secret key of the fingerprints.

        Raises
        ------
        ValueError
            If the rows cannot be computed or encoded, or if there are none.
        """

    def check(self, declared: Declared, relation: Relation) -> None:
        """Raise ValueError if a fact is missing that would have to be read or bought from all records."""
        schema = declared.schema
        if relation.unit == "record" and schema is not None and schema.identifier is not None:
            raise ValueError(
                f"Whether ids of the schema's column {schema.identifier.name!r} repeat is not checked in "
                f"{self.noun}; set rows_per_person, so that the promise is about people, or take the id "
                "out of the schema."
            )
        if declared.target is None:
            raise ValueError(
                f"The classes or bounds of the target have to be declared for {self.noun}; set classes=, or "
                "target_bounds= of a regressor."
            )
        if declared.weighting.given and declared.weighting.largest is None:
            raise ValueError(f"max_weight has to be declared for the weights of {self.noun}.")
        if declared.has_undecided_curves:
            raise ValueError(
                f"Curves of {self.noun} need a declared number of records or of edges; set n_records=, "
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
        persons: Persons | None,
        relation: Relation,
    ) -> InParts:
        """Return the problem of these records, which stay on the workers.

        `none` has no records, only the public facts. Every block is read once, before anything is charged.
        """
        from privfit.engine.parts import InParts
        from privfit.engine.problem import Problem

        X = none.X if declared.schema is None else with_curves(none.X, declared.schema)
        intercept = bool(estimator.fit_intercept)
        empty = Problem.of(X, none.y, loss, intercept=intercept, weights=weights, persons=persons)
        empty.is_part = True
        assert encoder is not None  # because targets are declared
        # the ledger and the seed stay with the driver
        settings = estimator.get_params(deep=False) | {"ledger": None, "random_state": None}
        reader = PartReader(
            type(estimator)(**settings),
            declared,
            encoder,
            relation,
            empty,
            self.names,
            column_names(self.without_records().X),
        )
        return InParts(empty, self.parts(reader, secrets.token_bytes(32)))
