"""Schemas: public facts about a table. They alone decide how it is encoded."""

from privfit.schema.column import Identifier, Ignored
from privfit.schema.encoding import encode
from privfit.schema.findings import Finding, Findings
from privfit.schema.ids import repeated_ids
from privfit.schema.label import Label
from privfit.schema.labelling import labels_of
from privfit.schema.levels import Boolean, Categorical, Ordinal
from privfit.schema.numbers import Date, Integer, Numeric
from privfit.schema.quantities import CountLabel, NumberLabel
from privfit.schema.schema import Schema
from privfit.schema.weight import Weight

__all__ = [
    "Boolean",
    "Categorical",
    "CountLabel",
    "Date",
    "Finding",
    "Findings",
    "Identifier",
    "Ignored",
    "Integer",
    "Label",
    "NumberLabel",
    "Numeric",
    "Ordinal",
    "Schema",
    "Weight",
    "encode",
    "labels_of",
    "repeated_ids",
]
