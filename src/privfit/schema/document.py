"""Convert schemas to TOML text and to plain dictionaries, and back, without loss."""

from __future__ import annotations

import datetime
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from privfit.printable import ACTING, brief
from privfit.schema.column import Column, Feature, Identifier, Ignored
from privfit.schema.curved import Curved
from privfit.schema.label import AnyLabel, Label
from privfit.schema.levels import Boolean, Categorical, Ordinal
from privfit.schema.numbers import Date, Integer, Numeric
from privfit.schema.quantities import CountLabel, NumberLabel
from privfit.schema.weight import Weight

TYPES: dict[str, type[Column]] = {
    "numeric": Numeric,
    "integer": Integer,
    "boolean": Boolean,
    "categorical": Categorical,
    "ordinal": Ordinal,
    "date": Date,
    "id": Identifier,
    "weight": Weight,
    "ignored": Ignored,
}
LABEL_TYPES: dict[str, type[AnyLabel]] = {"classes": Label, "number": NumberLabel, "count": CountLabel}
TYPE_NAMES = {kind: name for name, kind in TYPES.items()}
PUBLIC_FACTS = ("records", "taken_from_data")  # keys of the table as a whole

Fact = TypeVar("Fact", bound=Column)

# the time and memory of Python's parser grow with the square of the number of parts of a key
_MOST_PARTS = 50
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_LONG_KEY = re.compile(rf"(?<![\w.\"'-]){_PART}(?:[ \t]*\.[ \t]*{_PART}){{{_MOST_PARTS}}}")


# -- reading ------------------------------------------------------------------------------------------------


def parsed(text: str, source: str) -> dict[str, Any]:
    """Parse TOML text."""
    if _LONG_KEY.search(text):
        raise ValueError(f"{source} has a key of more than {_MOST_PARTS} parts; shorten it.")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"{source} has lists or tables that are nested too deeply.") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{source} is not valid TOML: {str(error).rstrip('.')}.") from None
    except ValueError:
        raise ValueError(f"{source} has an integer of thousands of digits; shorten it.") from None


def facts(document: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return the arguments of a schema: columns, label, and public facts about the whole table."""
    _check_keys(document, (*PUBLIC_FACTS, "columns", "label"), source, optional=PUBLIC_FACTS)
    columns, label = document["columns"], document["label"]
    if not isinstance(columns, list) or not all(isinstance(column, Mapping) for column in columns):
        raise ValueError(f"{source}: write each column as a table of its own, under [[columns]].")
    if not isinstance(label, Mapping):
        raise ValueError(f"{source}: write the label as a table, under [label].")
    try:
        return {
            **{key: document[key] for key in PUBLIC_FACTS if key in document},
            "columns": [_column(table, number) for number, table in enumerate(columns, 1)],
            "label": _label(label),
        }
    except ValueError as error:
        raise ValueError(brief(f"{source}: {error}")) from None


def _column(table: Mapping[str, Any], number: int) -> Column:
    where = f"column {table['name']!r}" if table.get("name") else f"column number {number}"
    kind = table.get("type")
    if kind == "":
        raise _unfilled(where, ["type"])
    if not isinstance(kind, str) or kind not in TYPES:
        raise ValueError(f"{where} needs a type, one of {', '.join(TYPES)}.")
    if "curve" in table and not issubclass(TYPES[kind], Curved):
        *others, last = (name for name, other in TYPES.items() if issubclass(other, Curved))
        raise ValueError(
            f"{where} has a curve, which only columns of type {', '.join(others)} and {last} can have; "
            "remove curve."
        )
    return _fact(TYPES[kind], {key: value for key, value in table.items() if key != "type"}, where)


def _label(table: Mapping[str, Any]) -> AnyLabel:
    kind = table.get("type", "classes")
    if kind == "":
        raise _unfilled("the label", ["type"])
    if not isinstance(kind, str) or kind not in LABEL_TYPES:
        raise ValueError(f"the type of the label must be one of {', '.join(LABEL_TYPES)}.")
    entries = {key: value for key, value in table.items() if key != "type"}
    if kind == "classes" and any(key in entries for key in ("low", "high", "largest")):
        raise ValueError('the label has bounds, so it is a number; add type = "number" or type = "count".')
    return _fact(LABEL_TYPES[kind], entries, "the label")


def _fact(kind: type[Fact], table: Mapping[str, Any], where: str) -> Fact:
    taken = fields(kind)
    optional = [field.name for field in taken if field.default is not MISSING]
    blank = [
        field.name
        for field in taken
        if table.get(field.name) == [] or (table.get(field.name) == "" and field.default in (MISSING, None))
    ]
    if blank:
        raise _unfilled(where, blank)
    _check_keys(table, [field.name for field in taken], where, optional)
    return kind(**table)


def _unfilled(where: str, keys: Sequence[str]) -> ValueError:
    return ValueError(f"{where} is not filled in yet: give its {' and '.join(keys)} from public knowledge.")


def _check_keys(
    table: Mapping[str, Any], known: Sequence[str], where: str, optional: Sequence[str] = ()
) -> None:
    for key in table:
        if key not in known:
            raise ValueError(f"{where} has an unknown key {key!r}; the keys are {', '.join(known)}.")
    for key in known:
        if key not in table and key not in optional:
            raise ValueError(f"{where} has no key {key!r}; add it, from public knowledge.")


# -- writing ------------------------------------------------------------------------------------------------


def document(
    columns: Sequence[Column], label: AnyLabel, records: int | None, taken_from_data: bool
) -> dict[str, Any]:
    """Return a schema as nested dictionaries, without default values."""
    whole: dict[str, Any] = {} if records is None else {"records": records}
    if taken_from_data:
        whole["taken_from_data"] = True
    kinds = {kind: name for name, kind in LABEL_TYPES.items()}
    said = _table(label) if isinstance(label, Label) else _table(label, type=kinds[type(label)])
    if isinstance(label, Label) and label.one_against_rest is not None:  # it implies these two
        said = {key: value for key, value in said.items() if key not in ("classes", "positive")}
    return {
        **whole,
        "columns": [_table(column, type=TYPE_NAMES[type(column)]) for column in columns],
        "label": said,
    }


def _table(fact: Column, **more: str) -> dict[str, Any]:
    said = {field.name: getattr(fact, field.name) for field in fields(fact)}
    kept = {field.name: said[field.name] for field in fields(fact) if said[field.name] != field.default}
    return {"name": fact.name} | more | {key: kept[key] for key in _in_order(fact, kept)}


def _in_order(fact: Column, keys: Mapping[str, Any]) -> list[str]:
    """Return the keys with those of this type first, and then those that all features have."""
    common = [field.name for field in fields(Curved)] if isinstance(fact, Feature) else []
    return [key for key in keys if key not in common] + [key for key in keys if key in common]


def plain(value: Any) -> Any:
    """Return a document in a form that JSON can hold: lists instead of tuples, and dates in ISO format."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value.isoformat() if isinstance(value, datetime.date) else value


def toml(document: Mapping[str, Any]) -> str:
    """Write a document as TOML text."""
    whole = [f"{key} = {toml_value(document[key])}\n" for key in PUBLIC_FACTS if key in document]
    tables = [_toml_table("[[columns]]", column) for column in document["columns"]]
    return "\n".join(["".join(whole)] * bool(whole) + [*tables, _toml_table("[label]", document["label"])])


def _toml_table(header: str, table: Mapping[str, Any]) -> str:
    return "\n".join([header, *(f"{key} = {toml_value(value)}" for key, value in table.items()), ""])


def toml_value(value: Any) -> str:
    """Write one value as TOML does."""
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    # JSON writes integers, truth values and most strings like TOML. TOML requires that control characters
    # beyond U+001F are escaped, too, which also protects terminals.
    text = json.dumps(value, ensure_ascii=False)
    return ACTING.sub(lambda found: f"\\U{ord(found[0]):08x}", text)
