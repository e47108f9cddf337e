"""The classes of records, from a column of labels: each from its own cell and the schema alone (C1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.schema.frames import columns_of, opened
from privfit.schema.label import Label
from privfit.schema.schema import Schema
from privfit.schema.stored import read_stored, stored, which_are_empty


def labels_of(X: Any, schema: Schema) -> NDArray[Any]:
    """Return the class of every record, from the label's column.

    Parameters
    ----------
    X : data frame, Arrow table, dict of columns, or path of a CSV or Parquet file
        The table.
    schema : Schema
        Whose label it is.

    Returns
    -------
    labels : array of shape (n_records,)
        Classes as the schema writes them. If its label has ``missing = "drop"``, None stands for a label
        that is missing; fits and scores leave such records out.

    Raises
    ------
    ValueError
        If a label is none of the classes, or is missing and the schema does not drop it.
    """
    labels, has_label = labels_in(X, schema)
    if has_label is None:
        return labels
    every = np.full(len(has_label), None, dtype=object)
    every[has_label] = labels
    return every


def labels_in(X: Any, schema: Schema) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Read the labels of a table as `read_labels` does."""
    (column,) = columns_of(opened(X, [schema.label.name]), [schema.label])
    return read_labels(column, schema.label)


def read_labels(column: Any, label: Label) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return the classes of the records that have a label, and which these are; None: all of them."""
    cells = stored(column)
    numbers = read_stored(label, cells)
    unread = np.isnan(numbers)
    dropped = unread & which_are_empty(cells, unread) & (label.missing == "drop")
    if (unread & ~dropped).any():
        raise ValueError(
            f"The label {label.name!r} is missing, or none of the declared classes, in some records; correct "
            'the classes or those records, or drop those without a label by missing = "drop".'
        )
    if dropped.any() and dropped.all():
        raise ValueError(f"The label {label.name!r} is missing in every record.")
    classes: NDArray[Any] = np.array(label.classes)
    if label.missing == "refuse":
        return classes[numbers.astype(np.intp)], None
    return classes[numbers[~dropped].astype(np.intp)], ~dropped
