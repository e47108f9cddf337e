"""Encode records as numbers in [0, 1], by the schema alone (claim C1 of docs/privacy.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack

from privfit.mapped import Cache, is_mapped
from privfit.remedies import remedy
from privfit.schema.column import Feature, Numbers, Scale
from privfit.schema.curved import Curved
from privfit.schema.frames import columns_of, opened
from privfit.schema.schema import Schema
from privfit.schema.stored import readings

# entries in a block of rows while columns are divided at edges; a block fits into the cache
_ENTRIES_AT_ONCE = 2**20


def encode(
    X: Any, schema: Schema, *, sparse: bool | None = None, dtype: type[np.floating[Any]] = np.float32
) -> csr_matrix | NDArray[Any]:
    """Encode a table with the schema's columns by name (others are ignored), or rows in schema order.

    Parameters
    ----------
    X : data frame, Arrow table, dict of columns, array, list of rows, or path of a CSV or Parquet file
        The table, one record in each row. The path of a directory of Parquet files, or a list of paths, is
        the table that these files hold together.
    schema : Schema
        The schema, which decides the encoding.
    sparse : bool, optional
        Whether to return a CSR matrix; by default if at most half of the entries can differ from zero (with
        curves: if numbers are in the middle of their range).
    dtype : numpy.float32 or numpy.float64
        The type of the numbers. Fits use single precision, predictions double precision.

    Returns
    -------
    matrix : CSR matrix or array of shape (n_records, n_encoded_features)
        Numbers in [0, 1].

    Raises
    ------
    TypeError, ValueError
        If X lacks a column, or one cannot hold what the schema declares. No cell is quoted.
    """
    if schema.has_curves:
        return with_curves(encode(X, schema.without_curves(), dtype=dtype), schema, sparse=sparse)
    columns = columns_of(opened(X, [fact.name for fact in schema.features]), schema.features)
    return encoded(columns, schema, sparse=sparse, dtype=dtype)


def encoded(
    columns: Sequence[Any],
    schema: Schema,
    *,
    sparse: bool | None = None,
    dtype: type[np.floating[Any]] = np.float32,
) -> csr_matrix | NDArray[Any]:
    """Encode the columns of a table like `encode`, in the order of a schema that has no curves.

    `columns_of` has checked that their types can hold what the schema declares.
    """
    width = sum(len(fact.levels) for fact in schema.features)
    if sparse is None:
        sparse = 2 * len(columns) <= width
    # each column writes exactly one entry into every row; zeros are removed at the end
    shape = (len(columns[0]), len(columns))
    values = np.empty((shape[0], width) if not sparse else shape, dtype=dtype)
    positions = np.empty(shape if sparse else 0, dtype=np.int32)
    start = 0
    for j, (fact, column) in enumerate(zip(schema.features, columns, strict=True)):
        entries, place = _entries(fact, readings(fact, column))
        levels = len(fact.levels)
        if sparse:
            values[:, j] = entries
            positions[:, j] = start + place
        elif levels == 1:
            values[:, start] = entries
        else:
            values[:, start : start + levels] = 0.0
            values[np.arange(shape[0]), start + place] = entries
        start += levels
    if not sparse:
        return values
    row_starts = np.arange(shape[0] + 1) * shape[1]
    encoded = csr_matrix((values.ravel(), positions.ravel(), row_starts), shape=(shape[0], width))
    encoded.eliminate_zeros()
    return encoded


def with_curves(
    plain: csr_matrix | NDArray[Any], schema: Schema, *, sparse: bool | None = None
) -> csr_matrix | NDArray[Any]:
    """Divide the columns that have a curve at their edges, in a table that was encoded without curves.

    Parameters
    ----------
    plain : CSR matrix or array
        What `encode` returned for ``schema.without_curves()``.
    schema : Schema
        The schema with its curves.
    sparse : bool, optional
        Whether to return a CSR matrix; by default if at most half of the entries differ from zero when
        numbers are in the middle of their range.

    Returns
    -------
    matrix : CSR matrix or array of shape (n_records, n_encoded_features)
        What `encode` returns for `schema`; numbers of the type that `plain` has.
    """
    if not schema.has_curves:
        return plain
    shapes = [fact.shape if isinstance(fact, Curved) else None for fact in schema.features]
    width = len(schema.feature_names)
    if sparse is None:
        sparse = 2 * sum(1 if shape is None else (shape.n_pieces + 1) // 2 for shape in shapes) <= width
    n = plain.shape[0]
    in_file = is_mapped(plain if isinstance(plain, np.ndarray) else plain.data)
    in_parts = sparse or in_file
    dense = np.empty((0 if in_parts else n, width), dtype=plain.dtype)
    parts: Cache | list[csr_matrix] = Cache(width) if in_file else []
    rows = max(1, _ENTRIES_AT_ONCE // width)
    for first in range(0, n, rows):
        given = plain[first : first + rows]
        given = given if isinstance(given, np.ndarray) else given.toarray()
        block = np.empty((len(given), width), dtype=plain.dtype) if in_parts else dense[first : first + rows]
        source = target = 0
        for fact, shape in zip(schema.features, shapes, strict=True):
            levels = len(fact.levels)
            taken = levels if shape is None else 1 + levels - shape.n_pieces
            if shape is None:
                block[:, target : target + levels] = given[:, source : source + levels]
            else:
                shape.expand(given[:, source], out=block[:, target : target + shape.n_pieces])
                block[:, target + shape.n_pieces : target + levels] = given[:, source + 1 : source + taken]
            source, target = source + taken, target + levels
        if in_parts:
            parts.append(csr_matrix(block) if sparse else block)
    if isinstance(parts, Cache):
        return parts.matrix()
    if not sparse:
        return dense
    return csr_matrix(vstack(parts)) if parts else csr_matrix((0, width), dtype=plain.dtype)


def _entries(fact: Feature, said: Numbers) -> tuple[Numbers, NDArray[np.int32] | int]:
    """Return the entry of a column in every row, and the feature of the column that it belongs to."""
    missing = np.isnan(said)
    if isinstance(fact, Scale) and not missing.any():
        return fact.scaled(said), 0
    if fact.missing == "refuse" and missing.any():
        raise ValueError(
            f"Column {fact.name!r} has cells that are missing or do not fit, which the schema refuses; "
            f"{remedy('schema.check(table)', '`privfit schema check`')} counts them, and missing = "
            '"fill" or "indicator" takes them.'
        )
    if isinstance(fact, Scale):
        filled = 0.5 if fact.fill is None else float(fact.scaled(np.array([fact.read(fact.fill)]))[0])
        values = np.where(missing, 1.0 if fact.has_indicator else filled, fact.scaled(said))
        return values, (missing & fact.has_indicator).astype(np.int32)
    if fact.has_indicator:
        unlisted = len(fact.levels) - 1
    else:
        unlisted = -1 if fact.fill is None else int(fact.read(fact.fill))
    places = np.where(missing, unlisted, said).astype(np.int32)
    return (places >= 0).astype(np.float64), np.maximum(places, 0)
