"""Sums of outer products of rows that hold the features once for each class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from privfit.engine.exact.grids import FloatArray
from privfit.engine.parallel.chunks import cut
from privfit.engine.products import product_multiples
from privfit.engine.table import Table

NUMBERS_AT_ONCE = 2**21  # the largest number of numbers in the rows that are in memory at a time


def class_multiples(
    table: Table, coefficients: Callable[[slice], FloatArray], rows: int, outputs: int, radius: float
) -> NDArray[np.int64]:
    """Sum the outer products of rows that hold each number of (z, bias) times a coefficient of each class.

    `coefficients` returns an array for a slice of the records, of shape (records, `rows`, `outputs`). The
    entries of one column for all classes are next to each other. Each row is clipped to norm `radius`, and
    NaN counts as 0. One pass over X.

    Guarantee: if a record's coefficients depend on that record alone, so does its share. The sums are whole
    multiples of the squared step, the upper triangle, as those of `product_multiples`, and exact.
    """
    view, size = table.view, table.n_weights * outputs
    total = np.zeros((size, size), np.int64)
    for part in cut(slice(0, table.n_records), max(1, NUMBERS_AT_ONCE // (rows * size))):
        X = table.layout.take(np.arange(part.start, part.stop))
        X = np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)
        factors = coefficients(part)
        with np.errstate(over="ignore", invalid="ignore"):
            z = view.scale * (X - view.center)
            if view.bias is not None:
                z = np.column_stack([z, np.full(len(z), view.bias)])
            expanded = np.nan_to_num(factors[:, :, None, :] * z[:, None, :, None], posinf=0.0, neginf=0.0)
        total += product_multiples(Table(expanded.reshape(-1, size), intercept=False), 1.0, radius)
    return total
