"""Convert a change in the words of the table into a contrast of the weights.

A contrast is a vector with an entry for each weight, the intercept last. Its product with the weights is the
change of the score.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from privfit.models.published import Published, Vector
from privfit.printable import printable
from privfit.schema import Boolean, Categorical, Date, Ordinal, Schema
from privfit.schema.column import Feature, Scale
from privfit.schema.curved import Curved
from privfit.schema.encoding import encode

ROUNDING = 1e-9  # as a share of the range: a number that was computed from a bound may exceed it by so much


@dataclass(frozen=True)
class Change:
    """A change of one or several columns.

    Attributes
    ----------
    words : str
        The change, in the words of the table.
    contrast : array
        An entry for each weight; the intercept, if there is one, is last.
    """

    words: str
    contrast: Vector


def zeros(model: Published) -> Vector:
    """Return a contrast that compares nothing.

    Parameters
    ----------
    model : Published
        The model.

    Returns
    -------
    contrast : array
        Zeros: one for each weight, and one for the intercept if there is one.
    """
    return np.zeros(model.n_columns + model.has_intercept)


def change_of(model: Published, given: Mapping[Any, Any]) -> Change:
    """Return the contrast of a change that is given by column.

    Parameters
    ----------
    model : Published
        The model.
    given : mapping
        The change by column: the increase of a number, the level that applies instead of the reference, or a
        pair of values (from, to).

    Returns
    -------
    change : Change
        The change. Columns that are not named do not change.

    Raises
    ------
    ValueError
        If the model has no such column, or a value does not fit its column. No value is quoted.
    """
    if not isinstance(given, Mapping) or not given:
        raise ValueError('A contrast names at least one column and its change, {"age": 10} for example.')
    columns = _columns(model)
    contrast, words = zeros(model), []
    for name, value in given.items():
        if name not in columns:
            raise ValueError(f"The model has no column {name!r}; its columns are {listed(columns)}.")
        column = columns[name]
        own, said = column.between(*value) if _is_pair(value) else column.changed_by(value)
        contrast[column.place] += own
        words.append(f"{printable(str(name))}: {said}")
    return Change("; ".join(words), contrast)


def change_between(model: Published, before: Any, after: Any) -> Change:
    """Return the contrast of two rows.

    Parameters
    ----------
    model : Published
        The model.
    before, after : dict, Series or frame of one row
        Values by column. Both have the same columns; columns that they do not have do not change.

    Returns
    -------
    change : Change
        From the first row to the second, named by the columns that differ.

    Raises
    ------
    ValueError
        If the rows name different columns or are the same, or a value does not fit its column.
    """
    columns = _columns(model)
    first, second = (_cells(row, columns) for row in (before, after))
    if first.keys() != second.keys():
        odd = sorted(map(str, first.keys() ^ second.keys()))
        raise ValueError(f"The two rows must name the same columns, and only one names {odd[0]!r}.")
    pairs = {name: (first[name], second[name]) for name in first}
    change = change_of(model, pairs)
    if not change.contrast.any():
        raise ValueError("The two rows are the same to this model, so there is nothing to compare.")
    differing = {name: pair for name, pair in pairs.items() if change_of(model, {name: pair}).contrast.any()}
    return replace(change, words=change_of(model, differing).words)


# -- rows ---------------------------------------------------------------------------------------------------


def _cells(row: Any, columns: Mapping[Any, _Column]) -> dict[Any, Any]:
    """Return the cells of a row by column; columns of a frame that the model does not use are left out."""
    if isinstance(row, Mapping):
        unknown = next((name for name in row if name not in columns), None)
        if unknown is not None:
            raise ValueError(f"The model has no column {unknown!r}; its columns are {listed(columns)}.")
        return dict(row)
    if hasattr(row, "columns"):
        if len(row) != 1:
            raise ValueError("A row to compare must be a frame of one row.")
        cells = {name: next(iter(row[name])) for name in row.columns if name in columns}
    elif hasattr(row, "to_dict") and hasattr(row, "index"):
        cells = {name: cell for name, cell in row.to_dict().items() if name in columns}
    else:
        raise ValueError("A row to compare must be a dict, a pandas Series or a frame of one row.")
    if not cells:
        raise ValueError(f"A row to compare has no column of the model; its columns are {listed(columns)}.")
    return cells


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2


def listed(names: Iterable[Any], most: int = 12) -> str:
    """Return names for a sentence, at most `most` of them.

    Parameters
    ----------
    names : iterable
        Columns, categories or classes.
    most : int
        The largest number of names.

    Returns
    -------
    text : str
        The names, separated by commas, with dots for those that are left out.
    """
    known = [printable(str(name)) for name in names]
    return ", ".join(known[:most]) + (", ..." if len(known) > most else "")


# -- columns ------------------------------------------------------------------------------------------------


def _columns(model: Published) -> dict[Any, _Column]:
    """Return the columns of the table that a model takes, by name."""
    low, high = model.bounds or (np.full(model.n_columns, -np.inf), np.full(model.n_columns, np.inf))
    if model.schema is None:
        names = model.feature_names or [f"x{j}" for j in range(model.n_columns)]
        return {
            name: _Plain(str(name), slice(j, j + 1), low[j : j + 1], high[j : j + 1])
            for j, name in enumerate(names)
        }
    columns: dict[Any, _Column] = {}
    schema, start = Schema.from_dict(model.schema), 0
    for fact in schema.features:
        place = slice(start, start + len(fact.levels))
        columns[fact.name] = _Declared(fact.name, place, low[place], high[place], fact, schema)
        start = place.stop
    return columns


@dataclass(frozen=True)
class _Column:
    """A column, the place of its weights, and the bounds to which predictions clip its features."""

    name: str
    place: slice
    low: Vector
    high: Vector

    def changed_by(self, value: Any) -> tuple[Vector, str]:
        """Return the contrast of an increase, or of a change from the reference, and its description."""
        raise NotImplementedError

    def between(self, before: Any, after: Any) -> tuple[Vector, str]:
        """Return the contrast of a change from one value to another, and its description."""
        raise NotImplementedError

    def _grown(self, value: Any, per_unit: float, unit: str) -> Vector:
        """Return the contrast of a number that grows by this many units."""
        if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
            raise ValueError(
                f"The change of column {self.name!r} must be a finite number, or a pair (from, to)."
            )
        if not value:
            raise ValueError(f"The change of column {self.name!r} is 0, so there is nothing to compare.")
        most = float(self.high[0] - self.low[0]) / per_unit
        if abs(float(value)) > most * (1.0 + ROUNDING):
            raise ValueError(
                f"Column {self.name!r} can change by at most {f'{most:g} {unit}'.rstrip()} between its "
                "bounds; ask for a smaller change."
            )
        return np.array([float(value) * per_unit])

    def _beyond(self, low: str, high: str) -> ValueError:
        return ValueError(f"A value for column {self.name!r} is beyond its bounds, {low} and {high}.")


class _Plain(_Column):
    """A column of a model without a schema."""

    def changed_by(self, value: Any) -> tuple[Vector, str]:
        return self._grown(value, 1.0, ""), _more(value, "")

    def between(self, before: Any, after: Any) -> tuple[Vector, str]:
        for value in (before, after):
            if not isinstance(value, Real) or not math.isfinite(value):
                raise ValueError(f"A value for column {self.name!r} is not a finite number.")
            if not self.low[0] <= float(value) <= self.high[0]:
                raise self._beyond(f"{self.low[0]:g}", f"{self.high[0]:g}")
        return np.array([float(after) - float(before)]), f"from {before:g} to {after:g}"


@dataclass(frozen=True)
class _Declared(_Column):
    """A column of a schema."""

    fact: Feature
    schema: Schema

    def changed_by(self, value: Any) -> tuple[Vector, str]:
        fact = self.fact
        if isinstance(fact, Categorical):
            return self.between(fact.reference_level, value)
        if isinstance(fact, Boolean | Ordinal):
            return self.between(fact.span[0], value)
        assert isinstance(fact, Scale)
        if isinstance(fact, Curved) and fact.shape is not None:
            raise ValueError(
                f"Column {fact.name!r} has a curve, so the change depends on where it starts; give a pair "
                "(from, to)."
            )
        unit = "days" if isinstance(fact, Date) else fact.unit
        if isinstance(value, datetime.timedelta):
            value = value / datetime.timedelta(days=1)
        low, high = fact.ends
        own = np.zeros(len(fact.levels))
        own[:1] = self._grown(value, 1.0 / (high - low), unit)
        return own, _more(value, unit, later=isinstance(fact, Date))

    def between(self, before: Any, after: Any) -> tuple[Vector, str]:
        fact = self.fact
        said = [self._word(cell) for cell in (before, after)]
        cells = [None if _is_missing(cell) else cell for cell in (before, after)]
        alone = Schema([fact], self.schema.label)
        rows = encode({fact.name: cells}, alone, sparse=False, dtype=np.float64)
        first, second = np.clip(rows, self.low, self.high)
        own: Vector = second - first
        if isinstance(fact, Categorical | Boolean | Ordinal):
            return own, f"{said[1]} instead of {said[0]}"
        return own, f"from {said[0]} to {said[1]} {printable(fact.unit)}".rstrip()

    def _word(self, cell: Any) -> str:
        """Return the name of a cell's value; raise if the cell is not missing and does not fit."""
        fact = self.fact
        if _is_missing(cell):
            if fact.missing == "refuse":
                raise ValueError(f"A value for column {fact.name!r} is missing, which the schema refuses.")
            return "missing"
        said = fact.read(cell)
        if isinstance(fact, Categorical | Ordinal):
            known = fact.order if isinstance(fact, Ordinal) else fact.categories
            if math.isnan(said):
                raise ValueError(
                    f"A value for column {fact.name!r} is not one of its possible values: "
                    f"{listed(dict.fromkeys(known))}."
                )
            return printable(known[int(said)])
        if isinstance(fact, Boolean):
            if math.isnan(said):
                raise ValueError(f"A value for column {fact.name!r} is neither {' nor '.join(fact.words)}.")
            return printable(fact.words[int(said)])
        assert isinstance(fact, Scale)
        low, high = fact.ends
        if math.isnan(said):
            kind = "date" if isinstance(fact, Date) else "number"
            raise ValueError(f"A value for column {fact.name!r} is not a {kind} that the schema can read.")
        if not low <= said <= high:
            raise self._beyond(*fact.span)
        return datetime.date.fromordinal(int(said)).isoformat() if isinstance(fact, Date) else f"{said:g}"


def _more(value: float, unit: str, *, later: bool = False) -> str:
    """Return in words by how much a number grows."""
    words = ("later", "earlier") if later else ("more", "less")
    return f"{abs(value):g} {printable(unit)}".rstrip() + f" {words[value < 0]}"


def _is_missing(cell: Any) -> bool:
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return True
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):  # pandas.NA is neither equal nor unequal to itself
        return True
