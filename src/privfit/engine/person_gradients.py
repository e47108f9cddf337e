"""Sums of gradients in which each person's sum, not each record's gradient, is clipped.

A record's gradient is its coefficients times (z, bias), so the norm of a person's sum follows from the
coefficients and the angles between that person's records. Angles do not depend on the weights. They are
computed once for each view, and no person's sum has to be stored.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import issparse

from privfit.engine import general
from privfit.engine.combination import shrunk
from privfit.engine.exact.grids import FloatArray
from privfit.engine.kernels.cosines import csr_cosines, dense_cosines, person_factors
from privfit.engine.parallel import threads
from privfit.engine.persons import Persons
from privfit.engine.table import Table

if TYPE_CHECKING:
    from privfit.engine.problem import Problem

MOST_RECORDS = 64  # per person, because each record stores an angle with every other record of the person
RECORDS_AT_ONCE = 2**14  # records whose angles are computed at a time


def cosines(table: Table, persons: Persons) -> FloatArray:
    """Return the cosine between each record and every earlier record of its person. One pass over X.

    Guarantee: they depend on that person's records alone.
    """
    if persons.most > MOST_RECORDS:
        raise ValueError(f"a person may have at most {MOST_RECORDS} records, not {persons.most}")
    found = np.zeros((table.n_records, persons.most - 1))
    view, starts = table.view, persons.starts
    map_ = view.center, view.scale, view.squared_base, 0.0 if view.bias is None else view.bias**2
    # each block begins with the first record of a person
    firsts = np.searchsorted(starts, np.arange(0, table.n_records, RECORDS_AT_ONCE))
    cuts = np.unique(np.append(firsts, persons.count))

    def fill(first: int, last: int) -> None:
        rows = slice(starts[first], starts[last])
        X, own = table.layout.take(rows), starts[first : last + 1] - starts[first]
        arguments = *map_, own, table.norms[rows], found[rows]
        if issparse(X):
            csr_cosines(X.indptr, X.indices, X.data, *arguments)
        else:
            dense_cosines(np.ascontiguousarray(X), *arguments)

    threads.run([partial(fill, *ends) for ends in pairwise(cuts)])
    return found


def _remembered_cosines(problem: Problem, persons: Persons) -> FloatArray:
    """Return the cosines in the current view; they are remembered, because every step of a fit needs them."""
    known = problem.__dict__.get("_cosines")
    if known is None or known[0] is not problem.table:
        known = problem.__dict__["_cosines"] = problem.table, cosines(problem.table, persons)
    found: FloatArray = known[1]
    return found


def gradient_sums_at(problem: Problem, w: FloatArray, clip: float) -> FloatArray:
    """Sum the gradients at w, each record's clipped to norm `clip`, and then each person's sum. Two passes.

    The view is not applied to the sums yet; see `Table.viewed_sums`.

    Guarantee: the sum is exact, and one person more, with at most `persons.most` records, moves it by at most
    `bounds.person_bound`. The clip of each record comes first: it keeps rounding in proportion to `clip`.
    """
    table, persons = problem.table, problem.persons
    assert persons is not None
    slopes = np.nan_to_num(general.coefficients(problem, problem.at(w).predictions))
    short = shrunk(slopes, clip * table.reciprocals)
    with np.errstate(invalid="ignore"):
        shares = np.atleast_2d(np.where(np.isfinite(table.norms), short.T * table.norms, 0.0)).T
    factors = np.ones(len(short))
    # A bound on the rounding error of the squared norm, relative to the square of the sum of all lengths:
    # n_weights + 8 roundings for the product of two records, two for each pair, and a few for each output.
    slack = (problem.n_weights + persons.most**2 + problem.outputs + 64) * 2.0**-52
    angles = _remembered_cosines(problem, persons)
    person_factors(persons.starts, angles, np.ascontiguousarray(shares), clip, slack, factors)
    return table.combination_sums((short.T * factors).T.copy(), clip)
