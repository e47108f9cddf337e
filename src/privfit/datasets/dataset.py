"""The object that every loader returns, and how loaders make it from raw columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from privfit.schema import Label, Numeric, Schema
from privfit.schema import encode as encode_table

Encoding = Literal["schema", "paper"]
CC_BY = "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/"


def dataset(data: Any, target: NDArray[Any], *, schema: Schema, licence: str, description: str) -> Bunch:
    """Return encoded records and the public facts about them as one object."""
    assert isinstance(schema.label, Label)  # the labels of all these data sets are classes
    return Bunch(
        data=data,
        target=target,
        feature_names=list(schema.feature_names),
        classes=tuple(schema.label.classes),
        schema=schema,
        licence=licence,
        DESCR=description,
    )


def encode(columns: Mapping[str, Any], schema: Schema) -> Any:
    """Encode raw columns by the schema alone, as a CSR matrix of float32 between 0 and 1."""
    return encode_table(columns, schema, sparse=True)


def raw_columns(rows: Iterable[Sequence[str]], schema: Schema) -> tuple[dict[str, Any], NDArray[np.str_]]:
    """Turn rows of text, which end with the label, into the schema's columns and the labels."""
    *fields, labels = zip(*rows, strict=True)
    columns = {
        fact.name: np.array(field, dtype=np.float64 if isinstance(fact, Numeric) else object)
        for fact, field in zip(schema.columns, fields, strict=True)
    }
    return columns, np.array(labels)
