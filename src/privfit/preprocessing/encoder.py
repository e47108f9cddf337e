"""Encode records as numbers in [0, 1], by the schema alone."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import TransformerMixin

from privfit.estimators.pickled import PickledForOneVersion
from privfit.schema import Schema, encode
from privfit.schema.frames import columns_of, opened


class SchemaEncoder(TransformerMixin, PickledForOneVersion):  # type: ignore[misc]  # scikit-learn is untyped
    """Rescale numbers to [0, 1] and one-hot encode categories, learning nothing from the data.

    Guarantee: each encoded row depends only on that row and on the schema (claim C1 of docs/privacy.md), so
    encoding before a private fit costs no privacy. The value of a cell does not depend on how its column is
    stored: 1, 1.0, "01" and True are the same. Numbers are clipped to their bounds, and a missing number
    becomes the middle of its range. A missing or unknown category leaves its block of indicators at zero,
    unless the schema declares ``missing`` or ``fill``. There are no warnings, because a warning would reveal
    something about the records. Columns whose dtype cannot hold what the schema declares raise an error.

    Parameters
    ----------
    schema : Schema
        The public columns, bounds and categories.
    sparse_output : bool, default=True
        Return a CSR matrix rather than an array; both are float32.

    Examples
    --------
    >>> from privfit.schema import Categorical, Label, Numeric, Schema
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
        return len(Schema.of(self.schema).features)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Column names before encoding."""
        return np.array([column.name for column in Schema.of(self.schema).features], dtype=object)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check that X has the schema's columns, by their dtypes; nothing is learnt from the data.

        Parameters
        ----------
        X : data frame, dict of columns, array or list of rows
            The table, as in `transform`.
        y : ignored
            Not used; present because pipelines pass it.

        Returns
        -------
        self : object
            The encoder itself.
        """
        features = Schema.of(self.schema).features
        columns_of(opened(X, [fact.name for fact in features]), features)
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
        return encode(X, Schema.of(self.schema), sparse=self.sparse_output)

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
        return np.array(Schema.of(self.schema).feature_names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
