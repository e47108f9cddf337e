"""Records to numbers in [0, 1], by the schema alone."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin

from privfit.preprocessing.schema import Categorical, Numeric, Schema


class SchemaEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Rescale numbers to [0, 1] and one-hot encode categories, learning nothing from the data.

    Guarantee: each encoded row is a function of that row and the schema, so encoding before a private fit
    costs no privacy. Numbers are clipped to their bounds and a missing one becomes the middle of its range;
    a missing or unknown category leaves its block of indicators at zero. In columns declared with
    ``other=True`` both set an indicator of their own instead, and a missing number leaves its feature at
    zero. No warning is given, because a warning would tell something about the records.

    Parameters
    ----------
    schema : Schema
        The public columns, bounds and categories.
    sparse_output : bool, default=True
        Return a CSR matrix rather than an array; both are float32.
    """

    def __init__(self, schema: Schema, *, sparse_output: bool = True) -> None:
        self.schema = schema
        self.sparse_output = sparse_output

    @property
    def n_features_in_(self) -> int:
        """Number of columns before encoding."""
        return len(self.schema.columns)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Column names before encoding."""
        return np.array([column.name for column in self.schema.columns], dtype=object)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check that X has the schema's columns; nothing else about X is looked at or kept."""
        _columns(X, self.schema)
        return self

    def transform(self, X: Any) -> csr_matrix | NDArray[np.float32]:
        """Encode a table with the schema's columns by name (others are ignored), or rows in schema order.

        Columns have names in a data frame, a dict of columns and a structured array.
        """
        columns = _columns(X, self.schema)
        shape = (len(columns[0]), len(columns))
        # Every column puts exactly one entry in every row; those that are zero are dropped at the end.
        values = np.empty(shape, dtype=np.float32)
        features = np.empty(shape, dtype=np.int32)
        width = 0
        for j, (fact, column) in enumerate(zip(self.schema.columns, columns, strict=True)):
            if isinstance(fact, Numeric):
                scaled = _rescaled(column, fact)
                missing = np.isnan(scaled)
                values[:, j] = np.where(missing, 1.0 if fact.other else 0.5, scaled)
                features[:, j] = width + (missing & fact.other)
            else:
                codes = _codes(column, fact)
                values[:, j] = codes >= 0
                features[:, j] = width + np.maximum(codes, 0)
            width += len(fact.feature_names)
        row_starts = np.arange(shape[0] + 1) * shape[1]
        encoded = csr_matrix((values.ravel(), features.ravel(), row_starts), shape=(shape[0], width))
        encoded.eliminate_zeros()
        return encoded if self.sparse_output else encoded.toarray()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the encoded features: a numeric column's name, ``column=category`` or ``column=other``."""
        if input_features is not None and list(input_features) != list(self.feature_names_in_):
            raise ValueError("input_features must be the schema's column names in order.")
        return np.array(self.schema.feature_names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _columns(X: Any, schema: Schema) -> list[Any]:
    """Take the schema's columns out of whatever holds them, and check that they are columns."""
    names = [column.name for column in schema.columns]
    present = _column_names(X)
    if present is not None:
        for name in names:
            if name not in present:
                raise ValueError(f"The data have no column {name!r}, which the schema declares.")
        columns = [X[name] for name in names]
    else:
        columns = _split_rows(X, len(names))
    for name, column in zip(names, columns, strict=True):
        if isinstance(column, str) or not hasattr(column, "__len__") or getattr(column, "ndim", 1) != 1:
            raise ValueError(f"Column {name!r} must be one sequence with one value per row.")
        if len(column) != len(columns[0]):
            raise ValueError(f"Column {name!r} and column {names[0]!r} differ in length.")
    return columns


def _column_names(X: Any) -> Collection[Any] | None:
    """Return the names of the columns of a frame, a dict or a structured array; None if they have none."""
    if isinstance(X, Mapping):
        return X.keys()
    fields = getattr(X, "columns", None) if not isinstance(X, np.ndarray) else X.dtype.names
    return None if fields is None else list(fields)


def _split_rows(X: Any, width: int) -> list[Any]:
    if isinstance(X, np.ndarray):
        if X.ndim != 2 or X.shape[1] != width:
            raise ValueError(f"The schema declares {width} columns, but the array has shape {X.shape}.")
        return list(X.T)
    if not isinstance(X, Sequence) or isinstance(X, str):
        raise TypeError(
            "X must be a frame, a dict of columns, a structured or 2-d array, or a list of rows, "
            f"not {type(X).__name__}."
        )
    for i, row in enumerate(X):
        if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != width:
            raise ValueError(f"Row {i} does not have the {width} values that the schema declares.")
    return [[row[j] for row in X] for j in range(width)]


def _rescaled(column: Any, fact: Numeric) -> NDArray[np.float64]:
    """Map [low, high] to [0, 1], what lies beyond to 0 or 1, and what is missing to NaN."""
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
    else:
        numbers = np.fromiter(map(_number, values), dtype=np.float64, count=len(values))
    scaled: NDArray[np.float64] = (np.clip(numbers, fact.low, fact.high) - fact.low) / (fact.high - fact.low)
    return scaled


def _number(value: Any) -> float:
    """Read a number or the text of one; anything else is missing."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


def _codes(column: Any, fact: Categorical) -> NDArray[np.int32]:
    """Position of each value in the public list; when it is not there, that of "other", or -1."""
    position = {category: code for code, category in enumerate(fact.categories)}
    unlisted = len(position) if fact.other else -1
    codes = (position.get(_text(value), unlisted) for value in column)
    return np.fromiter(codes, dtype=np.int32, count=len(column))


def _text(value: Any) -> str:
    """Write a value as a category is written; the empty string, never a category, when it is missing.

    Whole floats are written as integers: frames turn integers into floats when another row is missing, and
    that must not change this row.
    """
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool | np.bool_):
        return str(value)
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, float | np.floating) and not math.isnan(value):
        return str(int(value)) if value.is_integer() else str(value)
    return ""
