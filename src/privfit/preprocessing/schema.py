"""What may be known about a data set without looking at it."""

from __future__ import annotations

import json
import math
import sys
import tomllib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from numbers import Real
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

from privfit.preprocessing.cells import reading

_DOUBT = 2**53  # from here on, different integers become the same float


@dataclass(frozen=True, slots=True)
class Numeric:
    """A column of numbers between two public bounds.

    Parameters
    ----------
    name : str
        The column's name.
    low, high : float
        The bounds. Numbers beyond them count as the nearer one.
    other : bool
        Whether a missing number becomes an indicator of its own; otherwise it counts as the middle.
    text : bool
        Whether the column may be stored as text, whose cells are missing where they do not read as numbers;
        otherwise such a column is refused.
    """

    name: str
    low: float
    high: float
    other: bool = False
    text: bool = False

    def __post_init__(self) -> None:
        _check_name(self.name)
        bounds = (self.low, self.high)
        numbers = all(isinstance(bound, Real) and not isinstance(bound, bool) for bound in bounds)
        if not numbers or not all(abs(bound) <= sys.float_info.max for bound in bounds):
            raise ValueError(f"The bounds of column {self.name!r} must be finite numbers, not {bounds}.")
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        if not 0 < self.high - self.low < math.inf:
            raise ValueError(f"Column {self.name!r} needs low < high, a finite distance apart, not {bounds}.")
        _check_switch(self, "other")
        _check_switch(self, "text")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The feature this column becomes, and the indicator for missing numbers if there is one."""
        return (self.name, f"{self.name}=other") if self.other else (self.name,)


@dataclass(frozen=True, slots=True)
class Categorical:
    """A column of categories from a public list.

    Parameters
    ----------
    name : str
        The column's name.
    categories : sequence of str
        The list; integers are kept as they are written. What reads as a number or a truth value is compared
        as a number, because tables store it in many ways: 1, 1.0, "01" and True are one category, and a list
        with two of them is refused.
    other : bool
        Whether all values that are missing or not on the list share an indicator; otherwise they have none.
    """

    name: str
    categories: Sequence[str]
    other: bool = False

    def __post_init__(self) -> None:
        _check_name(self.name)
        owner = f"column {self.name!r}"
        values = _listed(self.categories, owner)
        texts = [str(value) if isinstance(value, int) else value for value in values]
        object.__setattr__(self, "categories", _distinct(texts, owner))
        if not texts:
            raise ValueError(f"Column {self.name!r} needs at least one category.")
        _check_readings(texts, owner)
        _check_switch(self, "other")
        if self.other and "other" in texts:
            raise ValueError(
                f"Column {self.name!r} has a category 'other' already, so it cannot have other=True as well."
            )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One indicator per category, and one for all other values if they share one."""
        levels = (*self.categories, "other") if self.other else self.categories
        return tuple(f"{self.name}={level}" for level in levels)

    @property
    def only_as_text(self) -> bool:
        """Whether a category is an integer that columns of numbers may confuse with another one."""
        return any(isinstance(said, int) and abs(said) >= _DOUBT for said in map(reading, self.categories))


@dataclass(frozen=True, slots=True)
class Label:
    """The column to predict and the classes it may take.

    Parameters
    ----------
    name : str
        The column's name.
    classes : sequence of str, int or bool
        At least two: all strings, all integers, or False and True.
    """

    name: str
    classes: Sequence[str] | Sequence[int]

    def __post_init__(self) -> None:
        _check_name(self.name)
        owner = f"label {self.name!r}"
        classes = _distinct(_listed(self.classes, owner), owner)
        if len({type(value) for value in classes}) > 1:
            raise ValueError(f"The values of {owner} must be all strings, all integers or all booleans.")
        object.__setattr__(self, "classes", classes)
        if len(classes) < 2:
            raise ValueError(f"Label {self.name!r} needs at least two classes, not {len(classes)}.")


@dataclass(frozen=True, slots=True)
class Schema:
    """The public facts of a data set.

    Parameters
    ----------
    columns : sequence of Numeric or Categorical
        The columns, in order.
    label : Label
        The column to predict.

    Examples
    --------
    >>> schema = Schema([Numeric("age", 0, 120)], Label("ill", [False, True]))
    >>> print(schema.to_toml())
    [[columns]]
    name = "age"
    type = "numeric"
    low = 0.0
    high = 120.0
    <BLANKLINE>
    [label]
    name = "ill"
    classes = [false, true]
    <BLANKLINE>
    >>> Schema.from_toml(schema.to_toml()) == schema
    True
    """

    columns: Sequence[Numeric | Categorical]
    label: Label

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns:
            raise ValueError("A schema needs at least one column.")
        repeated = _first_repeated([*(column.name for column in self.columns), self.label.name])
        if repeated is not None:
            raise ValueError(f"The schema names column {repeated!r} more than once.")
        repeated = _first_repeated(self.feature_names)
        if repeated is not None:
            raise ValueError(f"Two columns of the schema would both become the feature {repeated!r}.")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The encoded features, in the order of the columns."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @classmethod
    def from_toml(cls, source: str | PathLike[str]) -> Schema:
        """Read a schema from a TOML file, or from TOML text.

        Parameters
        ----------
        source : str or path
            A string with more than one line is the text, because no schema fits into one line. Any other
            names a file.

        Returns
        -------
        schema : Schema
            What it says.

        Raises
        ------
        ValueError
            If it is no TOML, or not a schema; the message names the column.
        """
        if isinstance(source, str) and "\n" in source:
            return _from_text(source, "The schema")
        try:
            text = Path(source).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{fspath(source)} is not UTF-8 text.") from None
        return _from_text(text, fspath(source))

    def to_toml(self) -> str:
        """Write the schema as TOML text, from which `from_toml` makes an equal schema.

        Returns
        -------
        text : str
            A table for each column, and one for the label.
        """
        names = {kind: name for name, kind in _TYPES.items()}
        columns = [_toml("[[columns]]", column, type=names[type(column)]) for column in self.columns]
        return "\n".join([*columns, _toml("[label]", self.label)])


# -- TOML ---------------------------------------------------------------------------------------------------

_TYPES: dict[str, type[Numeric | Categorical]] = {"numeric": Numeric, "categorical": Categorical}

Fact = TypeVar("Fact", bound="Numeric | Categorical | Label")


def _from_text(text: str, source: str) -> Schema:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{source} is not valid TOML: {error}.") from None
    _check_keys(document, ("columns", "label"), source)
    columns, label = document["columns"], document["label"]
    if not isinstance(columns, list) or not all(isinstance(column, dict) for column in columns):
        raise ValueError(f"{source}: write each column as a table of its own, under [[columns]].")
    if not isinstance(label, dict):
        raise ValueError(f"{source}: write the label as a table, under [label].")
    try:
        return Schema([_column(table, i) for i, table in enumerate(columns, 1)], _fact(Label, label, "label"))
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None


def _column(table: dict[str, Any], number: int) -> Numeric | Categorical:
    where = f"column {table['name']!r}" if "name" in table else f"column number {number}"
    kind = table.pop("type", None)
    if not isinstance(kind, str) or kind not in _TYPES:
        raise ValueError(f'{where} needs type = "numeric" or type = "categorical".')
    return _fact(_TYPES[kind], table, where)


def _fact(kind: type[Fact], table: dict[str, Any], where: str) -> Fact:
    optional = [field.name for field in fields(kind) if field.default is not MISSING]
    _check_keys(table, [field.name for field in fields(kind)], where, optional)
    return kind(**table)


def _check_keys(
    table: Mapping[str, Any], known: Sequence[str], where: str, optional: Sequence[str] = ()
) -> None:
    for key in table:
        if key not in known:
            raise ValueError(f"{where} has an unknown key {key!r}; the keys are {', '.join(known)}.")
    for key in known:
        if key not in table and key not in optional:
            raise ValueError(f"{where} has no key {key!r}.")


def _toml(header: str, fact: Numeric | Categorical | Label, **more: str) -> str:
    set_here = [field.name for field in fields(fact) if getattr(fact, field.name) != field.default]
    entries = {"name": fact.name} | more | {key: getattr(fact, key) for key in set_here}
    return "\n".join([header, *(f"{key} = {_toml_value(value)}" for key, value in entries.items()), ""])


def _toml_value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    if isinstance(value, float):
        return repr(value)
    # JSON writes strings, integers and truth values as TOML does, except that it leaves DEL as it is
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# -- checks -------------------------------------------------------------------------------------------------


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"A column name must be a non-empty string, not {name!r}.")


def _check_switch(column: Numeric | Categorical, switch: str) -> None:
    value = getattr(column, switch)
    if not isinstance(value, bool):
        raise ValueError(f"{switch} of column {column.name!r} must be True or False, not {value!r}.")


def _check_readings(categories: Sequence[str], owner: str) -> None:
    """Refuse categories that no cell can have, or that a table may store as the same cell."""
    listed: dict[int | float | str, str] = {}
    for category in categories:
        said = reading(category)
        if said is None:
            raise ValueError(f"The values of {owner} include {category!r}, which reads as a missing value.")
        if said in listed:
            raise ValueError(
                f"The values of {owner} include {listed[said]!r} and {category!r}, which read as the same; "
                "keep one of them."
            )
        listed[said] = category


def _listed(values: Iterable[Any], owner: str) -> list[Any]:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise ValueError(f"The values of {owner} must be a list, not the single value {values!r}.")
    return values.tolist() if hasattr(values, "tolist") else list(values)


T = TypeVar("T", bound=Hashable)


def _distinct(values: Sequence[T], owner: str) -> tuple[T, ...]:
    for value in values:
        if not isinstance(value, int) and not (isinstance(value, str) and value and value == value.strip()):
            raise ValueError(
                f"Each value of {owner} must be an integer or a non-empty string without surrounding space, "
                f"not {value!r}."
            )
    repeated = _first_repeated(values)
    if repeated is not None:
        raise ValueError(f"The values of {owner} name {repeated!r} more than once.")
    return tuple(values)


def _first_repeated(names: Iterable[T]) -> T | None:
    seen: set[T] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
