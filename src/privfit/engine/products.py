"""Sums of outer products of rows, exact and at the speed of a matrix product.

Every row is clipped and rounded to whole multiples of a step, fewer than 2**15 + sqrt(d) of them. Products
of two such numbers, and sums of a million products, are integers that float64 holds exactly; sums over all
rows are 64-bit integers. So they are the same in any order. (A library's matrix product would be exact, too,
but its threads wait for each other in busy loops. On a busy machine it took thirty times as long.)
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.engine.exact.bounds import product_step
from privfit.engine.exact.grids import FloatArray
from privfit.engine.kernels.lanes import LANES
from privfit.engine.kernels.multiples import add_products, csr_multiples, dense_multiples
from privfit.engine.kernels.packing import ROWS_PER_TILE
from privfit.engine.layouts.layout import Loops
from privfit.engine.parallel import threads
from privfit.engine.parallel.chunks import cut
from privfit.engine.table import Table

MULTIPLES_LOOPS = Loops(dense_multiples, csr_multiples)
# The number of rows in memory as multiples: two panels of them fit into the first-level cache.
ROWS_AT_ONCE = 4 * ROWS_PER_TILE
MOST_BYTES = 2**28  # for the sums of all threads together; each thread has sums of its own


def product_sums(table: Table, coefficients: FloatArray | float, radius: float) -> FloatArray:
    """Sum the outer products of coefficient * (z, bias), each row clipped to norm `radius` before.

    Coefficients are finite and not negative: one for each record, or one for all. Rows whose norm overflows
    add nothing. One pass over X, and d / 2 multiplications of every number in it for d weights.

    Guarantee: if a record's coefficient depends on that record alone, so does its share. The sums are exact
    up to one last rounding, and one record more moves them by at most `bounds.product_bound(radius, d)` in
    the norm of all d * d numbers.
    """
    return as_matrix(product_multiples(table, coefficients, radius), radius)


def product_multiples(table: Table, coefficients: FloatArray | float, radius: float) -> NDArray[np.int64]:
    """Return the upper triangle of `product_sums` in multiples of the squared step, before rounding."""
    step, d, view = product_step(radius), table.n_weights, table.view
    factors = radius * table.reciprocals  # changed in place below, because memory use is largest here
    np.minimum(coefficients, factors, out=factors)
    factors /= step
    bias = np.array([] if view.bias is None else [view.bias])
    n_panels = -(-d // LANES)
    size = LANES * n_panels
    blocks = list(cut(slice(0, table.n_records), ROWS_AT_ONCE))
    n_tasks = max(1, min(threads.n_threads(), len(blocks), MOST_BYTES // max(1, 8 * size**2)))
    sums = np.zeros((n_tasks, size, size), np.int64)

    def add(task: int, out: NDArray[np.int64]) -> None:
        panels = np.zeros((n_panels, ROWS_AT_ONCE, LANES))
        for rows in blocks[task::n_tasks]:
            table.layout.visit(rows, MULTIPLES_LOOPS, partial(arguments, rows.start, panels))
            add_products(panels, rows.stop - rows.start, out)

    def arguments(first: int, panels: FloatArray, part: slice) -> tuple[Any, ...]:
        return view.center, view.scale, bias, factors[part], part.start - first, panels

    threads.run([partial(add, task, out) for task, out in enumerate(sums)])
    total: NDArray[np.int64] = np.triu(sums.sum(axis=0)[:d, :d])
    return total


def as_matrix(multiples: NDArray[np.int64], radius: float) -> FloatArray:
    """Turn `product_multiples`, of one table or added up over several, into a symmetric matrix."""
    exact: FloatArray = (multiples + np.triu(multiples, 1).T).astype(np.float64) * product_step(radius) ** 2
    return exact
