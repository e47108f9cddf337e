"""Sums of a person's rows, each multiplied by a coefficient: a table with one row for each person."""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

from privfit.engine.exact.grids import FloatArray
from privfit.engine.persons import Persons
from privfit.engine.table import Table

PEOPLE_AT_ONCE = 2**14  # the number of people whose rows are in memory at a time


def person_rows(table: Table, persons: Persons, coefficients: FloatArray) -> Table:
    """Return a table of each person's sum of coefficient times (z, bias). One pass over X.

    Guarantee: if a record's coefficient depends on that record alone, a person's row depends on that person's
    records, in their order, alone. NaN counts as 0.
    """
    view, starts = table.view, persons.starts
    rows = np.zeros((persons.count, table.n_weights))
    for first in range(0, persons.count, PEOPLE_AT_ONCE):
        last = min(first + PEOPLE_AT_ONCE, persons.count)
        own = slice(starts[first], starts[last])
        X = table.layout.take(np.arange(own.start, own.stop))
        X = np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            z = coefficients[own, None] * (view.scale * (X - view.center))
        places = starts[first:last] - own.start
        sizes = np.diff(starts[first : last + 1])
        for k in range(persons.most):  # one record after the other, so that a sum depends on its person alone
            some = np.flatnonzero(sizes > k)
            rows[first + some, : table.n_columns] += np.nan_to_num(z[places[some] + k])
            if view.bias is not None:
                rows[first + some, -1] += coefficients[own][places[some] + k] * view.bias
    return Table(rows, intercept=False)
