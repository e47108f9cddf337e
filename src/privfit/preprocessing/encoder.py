"""Records to numbers in [0, 1], by the schema alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin

from privfit.preprocessing.cells import number, reading
from privfit.preprocessing.columns import columns_of
from privfit.preprocessing.schema import Categorical, Numeric, Schema


class SchemaEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Rescale numbers to [0, 1] and one-hot encode categories, learning nothing from the data.

    Guarantee: each encoded row is a function of what was written in that row and the schema (claim C1 of
    docs/privacy.md), so encoding before a private fit costs no privacy. Cells are read by what they say, not
    by how their column is stored: 1, 1.0, "01" and True are the same. Numbers are clipped to their bounds and
    a missing one becomes the middle of its range; a missing or unknown category leaves its block of
    indicators at zero. In columns declared with ``other=True`` both set an indicator of their own instead,
    and a missing number leaves its feature at zero. No warning is given, because a warning would tell
    something about the records. Columns that cannot hold what the schema declares are refused by their dtype.

    Parameters
    ----------
    schema : Schema
        The public columns, bounds and categories.
    sparse_output : bool, default=True
        Return a CSR matrix rather than an array; both are float32.

    Examples
    --------
    >>> from privfit.preprocessing import Categorical, Label, Numeric, Schema
    >>> columns = [Numeric("age", 0, 120), Categorical("smokes", ["no", "yes"])]
    >>> encoder = SchemaEncoder(Schema(columns, Label("ill", [False, True])), sparse_output=False)
    >>> encoder.transform([[60, "yes"], [150, "unknown"]])
    array([[0.5, 0. , 1. ],
           [1. , 0. , 0. ]], dtype=float32)
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
        """Check that X has the schema's columns, by their dtypes; nothing else is looked at or kept.

        Parameters
        ----------
        X : data frame, dict of columns, array or list of rows
            The table, as in `transform`.
        y : ignored
            Not used; present because pipelines pass it.

        Returns
        -------
        self : object
            The encoder, as it was.
        """
        columns_of(X, self.schema)
        return self

    def transform(self, X: Any) -> csr_matrix | NDArray[np.float32]:
        """Encode a table with the schema's columns by name (others are ignored), or rows in schema order.

        Columns have names in a data frame, a dict of columns and a structured array.

        Parameters
        ----------
        X : data frame, dict of columns, array or list of rows
            The table, one record in each row.

        Returns
        -------
        X_new : CSR matrix or array of shape (n_records, n_encoded_features)
            Numbers in [0, 1], in float32.

        Raises
        ------
        TypeError, ValueError
            If X lacks a column, or one cannot hold what the schema declares. No cell is quoted.
        """
        columns = columns_of(X, self.schema)
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
        """Name the encoded features: a numeric column's name, ``column=category`` or ``column=other``.

        Parameters
        ----------
        input_features : sequence of str, optional
            The schema's column names in order; anything else is refused.

        Returns
        -------
        names : array of str
            One name for each encoded feature.
        """
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


def _rescaled(column: Any, fact: Numeric) -> NDArray[np.float64]:
    """Map [low, high] to [0, 1], what lies beyond to 0 or 1, and what is missing to NaN."""
    cells = _cells(column)
    if isinstance(cells, np.ndarray):
        numbers = cells.astype(np.float64)
    else:
        numbers = np.fromiter(map(number, cells), dtype=np.float64, count=len(cells))
    scaled: NDArray[np.float64] = (np.clip(numbers, fact.low, fact.high) - fact.low) / (fact.high - fact.low)
    return scaled


def _codes(column: Any, fact: Categorical) -> NDArray[np.int32]:
    """Position of each value in the public list; when it is not there, that of "other", or -1."""
    positions = {reading(category): code for code, category in enumerate(fact.categories)}
    unlisted = len(positions) if fact.other else -1
    cells = _cells(column)
    if isinstance(cells, np.ndarray):
        return _codes_of_numbers(cells.astype(np.float64), positions, unlisted)
    codes = _CodesSeen(positions, unlisted)
    try:
        found = list(map(codes.__getitem__, zip(map(type, cells), cells, strict=True)))
    except TypeError:  # a cell that is a list or the like cannot be remembered
        found = [positions.get(reading(cell), unlisted) for cell in cells]
    return np.array(found, dtype=np.int32)


class _CodesSeen(dict[tuple[type, Any], int]):
    """The codes of cells met before, so that each text is read once.

    Cells are remembered with their type, because equal cells may read differently: 1 + 0j is no number here.
    """

    def __init__(self, positions: dict[Any, int], unlisted: int) -> None:
        self.positions = positions
        self.unlisted = unlisted

    def __missing__(self, key: tuple[type, Any]) -> int:
        self[key] = code = self.positions.get(reading(key[1]), self.unlisted)
        return code


def _codes_of_numbers(
    numbers: NDArray[np.float64], positions: dict[Any, int], unlisted: int
) -> NDArray[np.int32]:
    """Look up numbers among the categories that are numbers, each of which a float holds exactly."""
    listed = sorted((float(said), code) for said, code in positions.items() if not isinstance(said, str))
    if not listed:
        return np.full(len(numbers), unlisted, dtype=np.int32)
    values, codes = (np.array(part) for part in zip(*listed, strict=True))
    nearest = np.minimum(np.searchsorted(values, numbers), len(values) - 1)
    return np.where(values[nearest] == numbers, codes[nearest], unlisted).astype(np.int32)


def _cells(column: Any) -> Sequence[Any] | NDArray[Any]:
    """Return a column's cells: an array if all are stored as numbers or truth values, else a list."""
    if hasattr(column, "cast") and column.dtype.is_integer():
        column = column.cast(float)  # because polars has longer integers than NumPy
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    if not isinstance(values, np.ndarray):
        return list(values)
    return values if values.dtype.kind in "biuf" else values.tolist()
