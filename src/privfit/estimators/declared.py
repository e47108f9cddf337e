"""The public facts about the records of a fit, declared by the estimator's settings or by a schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privfit.estimators.curves import (
    Information,
    bought_information,
    decided,
    possible_edges,
    public_information,
    with_setting,
)
from privfit.estimators.declared_weights import DeclaredWeights
from privfit.estimators.labels import WITHOUT_LABEL, labels_given
from privfit.estimators.validation import check_count
from privfit.estimators.weighting import Weighting
from privfit.leaks import uncovered
from privfit.remedies import remedy
from privfit.schema import Schema, encode, repeated_ids
from privfit.schema.encoding import with_curves
from privfit.schema.labelling import labels_in
from privfit.schema.taken import Taken

if TYPE_CHECKING:
    from privfit.curator import Curator
    from privfit.estimators.private import Terms

_LEAKED = "what the schema says was taken from the data"


@dataclass(frozen=True)
class Declared:
    """The declared facts: targets, number of records, bounds of features, weights.

    Parameters
    ----------
    schema : Schema or None
        The schema that encodes raw tables.
    target : object
        The declared labels of a classifier, or bounds of a regressor.
    n_records : int or None
        The number of records.
    feature_bounds : pair, mapping or None
        Lowest and highest value of every feature.
    weighting : Weighting
        The declared facts about the weights of the records.
    weights : DeclaredWeights
        The set in which the model's weights must stay, and the start of the search.
    decisions : tuple of str
        Decisions about curves, for the statement.
    """

    schema: Schema | None
    target: Any
    n_records: int | None
    feature_bounds: Any
    weighting: Weighting
    weights: DeclaredWeights
    decisions: tuple[str, ...] = ()

    @classmethod
    def by(cls, estimator: Any, *, weighted: bool) -> Declared:
        """Return what an estimator's settings declare; raise if a fact is declared twice.

        `weighted` says whether `fit` was given weights of the records.
        """
        own = {name: getattr(estimator, name) for name in ("n_records", "feature_bounds")}
        if own["n_records"] is not None:
            check_count("n_records", own["n_records"])
        schema = None if estimator.schema is None else Schema.of(estimator.schema)
        schema = with_setting(schema, estimator.curves)
        if schema is not None and not schema.has_undecided_curves:
            schema = schema.with_edges(0)  # writes the edges of all other curves out
        target = estimator._declared_target(schema)
        weighting = Weighting.by(estimator, None if schema is None else schema.weight, given=weighted)
        weights = DeclaredWeights.by(estimator, schema)
        if schema is None:
            return cls(None, target, weighting=weighting, weights=weights, **own)
        said = {"n_records": schema.records, "feature_bounds": (0.0, 1.0)}
        for name, value in own.items():
            if value is not None and said[name] is not None:
                raise ValueError(f"The schema declares {name} already; remove {name}=.")
        return cls(schema, target, schema.records or own["n_records"], (0.0, 1.0), weighting, weights)

    # -- curves ----------------------------------------------------------------------------------------

    @property
    def has_undecided_curves(self) -> bool:
        """Whether the number of edges of some curve is not decided yet."""
        return self.schema is not None and self.schema.has_undecided_curves

    def with_public_edges(self, estimator: Any, terms: Terms) -> Declared:
        """Return the same with the edges of curves decided, if the numbers that decide them are public."""
        if self.schema is None or not self.schema.has_undecided_curves:
            return self
        known = public_information(self.schema, terms, self.n_records)
        return self if known is None else self.with_edges(estimator, known)

    def most_features(self, estimator: Any, X: Any) -> int:
        """Return the largest number of features that a table may have once its columns are cut into pieces.

        Settings that do not fit every number of edges that the rule may give are refused here, before the
        number of records is bought.
        """
        possible = [self]
        if self.schema is not None and self.schema.has_undecided_curves:
            schemas = map(self.schema.with_edges, possible_edges(self.schema))
            possible = [
                replace(self, schema=schema, weights=DeclaredWeights.by(estimator, schema))
                for schema in schemas
            ]
        for each in possible:
            try:
                each.weights.check(each.n_features(X), bool(estimator.fit_intercept))
            except ValueError:
                if not self.has_undecided_curves:
                    raise
                raise ValueError(
                    "The fit decides how many edges curves have, and so how many weights there are; to "
                    "declare a start, or bounds for each of the weights, declare a number of edges instead "
                    "of true."
                ) from None
        return max(each.n_features(X) for each in possible)

    def with_bought_edges(self, estimator: Any, curator: Curator) -> Declared:
        """Return the same with the edges of curves decided by declared and bought numbers."""
        assert self.schema is not None
        return self.with_edges(estimator, bought_information(curator, self.schema))

    def with_edges(self, estimator: Any, known: Information) -> Declared:
        """Return the same with the edges of curves decided by these numbers."""
        assert self.schema is not None
        schema, note = decided(self.schema, known)
        return replace(self, schema=schema, weights=DeclaredWeights.by(estimator, schema), decisions=(note,))

    def n_features(self, X: Any) -> int:
        """Return the number of features that a table has once its columns are cut into pieces."""
        return int(X.shape[1]) if self.schema is None else len(self.schema.feature_names)

    def for_drawn_records(self) -> Declared:
        """Return the same for an ensemble's records, whose weights say how often they were drawn."""
        return replace(self, weighting=replace(self.weighting, largest=self.weighting.largest or 1.0))

    def admit_leaks(self) -> None:
        """Warn, or in strict mode raise, if the schema or the largest weight comes from the records."""
        self.weighting.admit_leaks()
        if self.schema is not None and self.schema.taken_from_data:
            uncovered(
                f"Beware: {_LEAKED}, which the privacy guarantee does not cover; fill it in from public "
                "knowledge, and remove taken_from_data."
            )

    def labels(self, X: Any, y: Any, *, may_be_none: bool = False) -> tuple[Any, NDArray[np.bool_] | None]:
        """Return the labels of the records that have one, and which records these are (None: all).

        The labels are y or, if that is None, the label column of a raw table. Tables without any label are
        refused unless `may_be_none`.
        """
        if self.schema is None:
            return y, None
        if y is None:
            return labels_in(X, self.schema, may_be_none=may_be_none)
        return labels_given(y, self.schema.label, may_be_none=may_be_none)

    def assumptions(self) -> Iterator[str]:
        """Yield the facts that a statement assumes to be public."""
        drops = self.schema is not None and self.schema.label.drops
        if self.n_records is not None:
            counted = "records with a label" if drops else "records"
            yield f"the number of {counted}, declared as {self.n_records:,}, is public"
        if drops:
            yield WITHOUT_LABEL
        if self.schema is not None:
            yield "the schema's bounds and categories are public"
            if self.schema.taken_from_data:
                yield f"{_LEAKED.upper()}, which is not covered"
        elif self.feature_bounds is not None:
            yield "the declared feature bounds are public or were released privately"
        yield from self.weighting.assumptions()
        yield from self.weights.assumptions()


def warn_of_repeated_ids(table: Any, schema: Schema) -> None:
    """Warn the custodian, or in strict mode raise, if the table has several records of one person.

    The promise is about one record in any case, because statements depend on declarations alone.
    """
    ids = schema.identifier
    if ids is not None and repeated_ids(table, schema):
        uncovered(
            f"Some ids in column {ids.name!r} repeat, so some people have several records, and "
            "the promise, which is about one record, is weaker for them; set rows_per_person, so that it is "
            "about people, combine the records of each person into one, or publish the promise as one about "
            "records."
        )


def encoded(
    X: Any, schema: Schema, dtype: type[np.floating[Any]] = np.float32, *, may_be_empty: bool = False
) -> Any:
    """Return a raw table as numbers in [0, 1]; raise if it has no records."""
    if isinstance(X, Taken):
        numbers = with_curves(X.encoded_by(schema).astype(dtype, copy=False), schema)
    else:
        numbers = encode(X, schema, dtype=dtype)
    if not numbers.shape[0] and not may_be_empty:
        # in the words that scikit-learn's estimator checks expect
        raise ValueError(
            remedy("Found array with 0 sample(s): the table has no records.", "The table has no records.")
        )
    return numbers
