"""Read labels and weights from columns: each from its own cell and the schema alone (C1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.schema.frames import columns_of, opened
from privfit.schema.label import AnyLabel
from privfit.schema.schema import Schema
from privfit.schema.stored import read_stored, readings, stored, which_are_empty


def labels_of(X: Any, schema: Schema) -> NDArray[Any]:
    """Return the label of every record, from the label's column.

    Parameters
    ----------
    X : data frame, Arrow table, dict of columns, or path of a CSV or Parquet file
        The table.
    schema : Schema
        The schema, which declares the label.

    Returns
    -------
    labels : array of shape (n_records,)
        Classes as the schema writes them, or numbers. If its label has ``missing = "drop"``, None (NaN
        among numbers) stands for a label that is missing; fits and scores leave such records out.

    Raises
    ------
    ValueError
        If a label does not fit, or is missing, and the schema does not drop it.
    """
    labels, has_label = labels_in(X, schema)
    if has_label is None:
        return labels
    every: NDArray[Any]
    if labels.dtype.kind == "f":
        every = np.full(len(has_label), np.nan)
    else:
        every = np.full(len(has_label), None, dtype=object)
    every[has_label] = labels
    return every


def labels_in(
    X: Any, schema: Schema, *, may_be_none: bool = False
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Read the labels of a table as `read_labels` does."""
    (column,) = columns_of(opened(X, [schema.label.name]), [schema.label])
    return read_labels(column, schema.label, may_be_none=may_be_none)


def weights_in(X: Any, schema: Schema) -> NDArray[np.float64] | None:
    """Return the weights of a table's records, between 0 and the largest; None if the schema has none."""
    if schema.weight is None:
        return None
    fact = schema.weight.as_column
    (column,) = columns_of(opened(X, [fact.name]), [fact])
    weights = readings(fact, column)
    return np.minimum(np.where(weights > 0.0, weights, 0.0), fact.high)


def read_labels(
    column: Any, label: AnyLabel, *, may_be_none: bool = False
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return the labels of the records that have one, and which records these are (None: all).

    If no record has a label, raise an error unless `may_be_none`, because other parts of the table may have
    some.
    """
    cells = stored(column)
    numbers = read_stored(label, cells)
    unread = np.isnan(numbers)
    dropped = unread & label.drops
    if not label.drops_misfits:
        dropped &= which_are_empty(cells, unread)
    if (unread & ~dropped).any():
        raise ValueError(
            f"The label {label.name!r} is missing, or {label.misfit}, in some records; correct the schema or "
            'those records, or drop those without a label by missing = "drop".'
        )
    if dropped.any() and dropped.all() and not may_be_none:
        raise ValueError(f"The label {label.name!r} is missing in every record.")
    return (label.targets(numbers[~dropped]), ~dropped) if label.drops else (label.targets(numbers), None)
