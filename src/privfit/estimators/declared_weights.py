"""Declared facts about a model's weights: the set in which they must stay, and the start of the search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.estimators.targets import TargetEncoder
from privfit.estimators.validation import shown
from privfit.penalties import ConvexSet, Ridge, Within, moved_into
from privfit.penalties.monotone import Monotone
from privfit.schema import Schema
from privfit.schema.column import OTHER

Vector = NDArray[np.float64]

LARGEST_START = 1e30  # of a weight; with larger ones, predictions could overflow


@dataclass(frozen=True, eq=False)
class DeclaredWeights:
    """A constraint set and a start, both public, in the units of `coef_` and `intercept_`.

    Parameters
    ----------
    constraint : ConvexSet or None
        The set.
    start : array or None
        The weights, the intercept, if the model has one, last.
    """

    constraint: ConvexSet | None
    start: Vector | None

    @classmethod
    def by(cls, estimator: Any, schema: Schema | None) -> DeclaredWeights:
        """Return what an estimator's settings and its schema declare; raise if it is invalid."""
        constraint = estimator.constraint
        if constraint is not None and not isinstance(constraint, ConvexSet):
            raise ValueError(
                "constraint must be a set of privfit.penalties, such as NonNegative() or Ball(2.0), "
                f"got {shown(constraint)}."
            )
        monotone = None if schema is None else _monotone(schema)
        if monotone is not None:
            if constraint is not None:
                raise ValueError(
                    "The schema declares monotone columns, which are a constraint of their own; remove "
                    "constraint=, or monotone from the schema."
                )
            constraint = monotone
        return cls(constraint, _start(estimator.start, bool(estimator.fit_intercept)))

    def check(self, n_columns: int, intercept: bool) -> None:
        """Raise ValueError unless both have as many weights as the model."""
        if self.constraint is not None:
            self.constraint.check(n_columns)
        if self.start is not None and len(self.start) != n_columns + intercept:
            raise ValueError(
                f"start has {len(self.start) - intercept} weights, and the model has {n_columns}; give "
                "(coef, intercept) of a model of the same columns."
            )

    def encoded_by(self, encoder: TargetEncoder, n_weights: int) -> DeclaredWeights:
        """Return the same for the weights of encoded targets, which the solver uses.

        To get the units of `coef_`, these are multiplied by a positive number, and the intercept is shifted.
        """
        moved = encoder.in_units(np.zeros(n_weights))
        unit = float(encoder.in_units(np.ones(n_weights))[0] - moved[0])
        return DeclaredWeights(
            None if self.constraint is None else self.constraint.scaled(1.0 / unit),
            None if self.start is None else (self.start - moved) / unit,
        )

    def penalty(self, alpha: float) -> Ridge:
        """Return a penalty with both and with the regulariser alpha/2 ||w||^2."""
        if self.constraint is None:
            return Ridge(alpha, self.start)
        return Within(alpha, self.start, constraint=self.constraint)

    def kept(self, w: Vector, n_columns: int) -> Vector:
        """Return a solution in the units of `coef_`, moved into the set if rounding has moved it out."""
        if self.constraint is None:
            return w
        return np.append(moved_into(self.constraint, w[:n_columns]), w[n_columns:])

    def assumptions(self) -> Iterator[str]:
        """Yield the assumptions of a statement."""
        if self.constraint is not None:
            yield f"the constraint on the weights, {self.constraint.described}, is public"
        if self.start is not None:
            yield "the weights that the fit started from, declared as start, are public"


def _monotone(schema: Schema) -> Monotone | None:
    """Return the constraint of the schema's monotone columns, if it has any."""
    signs = {name: 0 for name in schema.feature_names}
    for column in schema.features:
        direction = getattr(column, "monotone", "")
        if direction:  # a curve is monotone if every piece of it is
            named = zip(column.feature_names, column.levels, strict=True)
            pieces = [name for name, level in named if level != OTHER]
            signs |= dict.fromkeys(pieces, 1 if direction == "up" else -1)
    if not any(signs.values()):
        return None
    classes = sorted(getattr(schema.label, "classes", ()))
    positive = getattr(schema.label, "positive", None)
    if len(classes) > 2:
        raise ValueError(
            "The schema declares monotone columns, and with more than two classes a column has no one "
            "direction; remove monotone from the columns."
        )
    reversed_scores = len(classes) == 2 and positive is not None and positive == classes[0]
    return Monotone(tuple(-sign if reversed_scores else sign for sign in signs.values()))


def _start(given: Any, intercept: bool) -> Vector | None:
    """Return declared coefficients and intercept as one vector; raise if they are invalid."""
    if given is None:
        return None
    try:
        coef, constant = given
        weights = np.asarray(coef, dtype=np.float64).squeeze()
        offset = np.asarray(constant, dtype=np.float64).squeeze()
    except (TypeError, ValueError, OverflowError):
        weights = offset = np.full(2, np.nan)
    whole = np.append(np.atleast_1d(weights), offset)
    if weights.ndim > 1 or offset.ndim or not (np.abs(whole) <= LARGEST_START).all():
        raise ValueError(
            "start must be (coef, intercept) of a model with one score for each record, both finite and "
            "public: coefficients in the units of the columns, and one number."
        )
    if not intercept and offset:
        raise ValueError("start has an intercept, and fit_intercept=False; give (coef, 0.0).")
    return whole if intercept else whole[:-1]
