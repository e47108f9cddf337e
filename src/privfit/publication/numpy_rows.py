"""The part of a NumPy file that reads raw rows, and the public facts that it follows."""

from __future__ import annotations

import re
from typing import Any

from privfit.models.published import Published
from privfit.publication.raw_columns import encoded_alone, listed, pieces_of
from privfit.schema import Boolean, Date, Integer, Numeric, Schema
from privfit.schema.cells import reading
from privfit.schema.column import Feature
from privfit.schema.curved import Curved

SOURCE = r'''"""Makes the predictions of a model that privfit published; needs NumPy only. {promise}"""
import datetime, decimal, json, numbers, re
import numpy as np
MODEL = json.loads({model})  # its columns hold public facts of the schema
CLASSES, WEIGHTS, COLUMNS = np.array(MODEL["classes"]), np.array(MODEL["weights"]), MODEL["columns"]
NUMBER = re.compile(r"[+-]?(?:([0-9]+)|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.I)

def said(cell):  # the number or else the text that a cell says; None if it is missing
    if isinstance(cell, (np.bool_, numbers.Real)):
        cell = str(int(cell) if isinstance(cell, (np.bool_, numbers.Integral)) else float(cell))
    text = str(cell).rstrip("\0").strip() if isinstance(cell, (str, decimal.Decimal)) else ""
    if not (number := NUMBER.fullmatch(text)):
        return {{"true": 1, "false": 0}}.get(text.lower(), text or None)
    return int(text) if number[1] and abs(float(text)) < np.inf else float(text)

def entry(cell, column):  # which of the column's features a cell sets, and to what
    known = said(cell)
    if "dates" in column:
        found = (re.fullmatch(way, str(cell).rstrip("\0").strip()) for way in column["dates"])
        try:
            known = next(datetime.date(*(int(date[k]) for k in "Ymd")).toordinal() for date in found if date)
        except (ValueError, StopIteration):  # the 31st of February, or no date at all
            return column["missing"]
    elif "words" in column:
        return next((found for word, found in column["words"] if word == known), column["missing"])
    elif isinstance(known, str) or column["mark"] == "." and isinstance(cell, str) and "." in cell:
        sign, body = re.fullmatch(column["number"], str(cell).rstrip("\0").strip(), re.S).groups()  # no unit
        body = body.replace(column["mark"], "") if re.fullmatch(column["marked"], body) else body
        known = said(sign + body.translate(str.maketrans(*column["decimal"])))
    if known is None or isinstance(known, str) or known != known or column["whole"] and known % 1 > 0:
        return column["missing"]
    place = (min(max(known, column["low"]), column["high"]) - column["low"]) / column["span"]
    return slice(len(column["pieces"])), [min(max((place - a) / b, 0), 1) for a, b in column["pieces"]]

def encode(rows):
    """Return the features, numbers between 0 and 1, of a dict of columns or of a list of dicts."""
    features = []
    for name, column in COLUMNS.items():
        cells = rows[name] if hasattr(rows, "keys") else [row[name] for row in rows]
        features.append(np.zeros((len(cells), column["width"])))
        for row, cell in zip(features[-1], cells):
            if (found := entry(cell, column)) is None:
                raise ValueError(f"Column {{name!r}} has cells that are missing or do not fit; it may not.")
            row[found[0]] = found[1]
    return np.hstack(features)

def {scorer}(rows):
    """Return {score} of every row{meaning}."""
    X = {clipped}
    return {scores}

{predictions}'''


def columns_of(model: Published) -> dict[str, dict[str, Any]]:
    """Return the facts about every raw column that the file needs, in a form that JSON can hold.

    Parameters
    ----------
    model : Published
        A model with a schema.

    Returns
    -------
    columns : dict of dict
        For each name: the number of features, the feature that a missing cell sets and its value (None if
        missing cells are refused), and how cells are read.
    """
    schema = Schema.from_dict(model.schema or {})
    return {fact.name: _column(fact) for fact in schema.features}


def _column(fact: Feature) -> dict[str, Any]:
    missing = None if fact.missing == "refuse" else _entry(fact, None)
    return {"width": len(fact.levels), "missing": missing, **_reading(fact)}


def _entry(fact: Feature, cell: Any) -> tuple[int, float] | tuple[list[int], list[float]]:
    """Return the feature that a cell sets, and its value; for a curve, all features and values."""
    (row,) = encoded_alone(fact, [cell])
    if isinstance(fact, Curved) and fact.shape is not None:
        return list(range(len(row))), row.tolist()
    place = int(row.argmax())
    return place, float(row[place])


def _reading(fact: Feature) -> dict[str, Any]:
    words = listed(fact)
    if words is not None:
        words = (*words, "false", "true") if isinstance(fact, Boolean) else words
        return {"words": [(reading(word), _entry(fact, word)) for word in words]}
    assert isinstance(fact, Numeric | Date)  # because all other types were handled
    # the start and the length of each piece, as shares of the range; one piece without a curve
    starts, lengths = pieces_of(fact) or ([0.0], [1.0])
    low, high = fact.ends
    scale = {"low": low, "high": high, "span": high - low, "pieces": [*zip(starts, lengths, strict=True)]}
    if isinstance(fact, Date):
        return {"dates": [f"(?as){way}" for way in fact.patterns], **scale, "whole": False}
    # a unit may stand before or after the number, and white space around it
    unit = re.escape(fact.unit)
    number = rf"([+-]?)\s*(?:{unit})?\s*(.*?)\s*(?:{unit})?" if fact.unit else r"([+-]?)(.*)"
    marked = fact.grouped if fact.thousands else "(?!)"
    ways = {"number": number, "mark": fact.thousands, "marked": marked, "decimal": fact.decimal_marks}
    return {**ways, **scale, "whole": isinstance(fact, Integer)}
