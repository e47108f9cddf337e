"""What is public about the records of a fit, said by the estimator's settings or by a schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privfit.estimators.labels import declared_classes
from privfit.estimators.validation import check_count
from privfit.leaks import uncovered
from privfit.schema import Schema, encode, labels_of

_LEAKED = "what the schema says was taken from the data"


@dataclass(frozen=True)
class Declared:
    """The classes, the number of records and the bounds of the features, as far as they are declared.

    Parameters
    ----------
    schema : Schema or None
        What raw tables are encoded by.
    classes : pair of labels or None
        The labels.
    n_records : int or None
        The number of records.
    feature_bounds : pair or None
        Lowest and highest value of every feature.
    """

    schema: Schema | None
    classes: Any
    n_records: int | None
    feature_bounds: tuple[Any, Any] | None

    @classmethod
    def by(cls, estimator: Any) -> Declared:
        """Return what an estimator's settings declare; what is said twice is refused."""
        own = {name: getattr(estimator, name) for name in ("classes", "n_records", "feature_bounds")}
        if own["n_records"] is not None:
            check_count("n_records", own["n_records"])
        if own["classes"] is not None:
            declared_classes(own["classes"])
        if estimator.schema is None:
            return cls(None, **own)
        schema = Schema.of(estimator.schema)
        said = {"classes": schema.label.classes, "n_records": schema.records, "feature_bounds": (0.0, 1.0)}
        for name, value in own.items():
            if value is not None and said[name] is not None:
                raise ValueError(f"{name} is said by the schema; remove {name}=.")
        if len(schema.label.classes) != 2:
            raise ValueError(f"The label {schema.label.name!r} must have two classes to be predicted.")
        return cls(schema, schema.label.classes, schema.records or own["n_records"], (0.0, 1.0))

    def admit_leaks(self) -> None:
        """Warn, or in strict mode refuse, if the schema itself was read off the records."""
        if self.schema is not None and self.schema.taken_from_data:
            uncovered(
                f"Beware: {_LEAKED}, which the privacy guarantee does not cover; fill it in from public "
                "knowledge, and remove taken_from_data."
            )

    def labels(self, X: Any, y: Any) -> Any:
        """Return y, or the label's column of a raw table."""
        return labels_of(X, self.schema) if y is None and self.schema is not None else y

    def assumptions(self) -> Iterator[str]:
        """Yield what a statement takes for public."""
        if self.n_records is not None:
            yield f"the number of records, declared as {self.n_records}, is public"
        if self.schema is not None:
            yield "the schema's bounds and categories are public"
            if self.schema.taken_from_data:
                yield f"{_LEAKED.upper()}, which is not covered"
        elif self.feature_bounds is not None:
            yield "the declared feature bounds are public or were released privately"


def encoded(X: Any, schema: Schema) -> Any:
    """Return a raw table as numbers in [0, 1], and refuse one without records."""
    numbers = encode(X, schema)
    if not numbers.shape[0]:
        raise ValueError("Found array with 0 sample(s): the table has no records.")
    return numbers


class Weight(NamedTuple):
    """What a model adds to the score of a record, in the schema's words.

    Attributes
    ----------
    column : str
        The column of the table.
    level : str
        The category to which the weight belongs, "other" for cells that are missing or do not fit, "" for
        what is a number.
    weight : float
        What is added: for a category, if the record has it; for a number, on the way from one end of its
        range to the other.
    unit : str
        That range, with its unit.
    """

    column: str
    level: str
    weight: float
    unit: str


class Weights(tuple[Weight, ...]):
    """The weights of a model, as a table for people: a tuple of `Weight` that prints as one."""

    __slots__ = ()

    def __repr__(self) -> str:
        rows = [Weight._fields, *((w.column, w.level, f"{w.weight:+.4g}", w.unit) for w in self)]
        widths = [max(len(row[j]) for row in rows) for j in range(4)]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if j == 2 else cell.ljust(width)
                for j, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        )

    __str__ = __repr__


def weights_in_words(schema: Schema, coefficients: NDArray[np.float64], classes: NDArray[Any]) -> Weights:
    """Name every weight by the schema; they speak for its positive class, if it declares one."""
    positive = schema.label.positive
    sign = -1.0 if positive is not None and classes[0] == positive else 1.0
    named = ((fact, level) for fact in schema.features for level in fact.levels)
    return Weights(
        Weight(fact.name, level, sign * float(w), fact.step(level))
        for (fact, level), w in zip(named, coefficients, strict=True)
    )
