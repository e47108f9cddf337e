"""How a sparse matrix is laid out for speed: phrases of ones, dense columns, and loose entries.

Tables with categories repeat themselves: most of their entries are ones, and which columns hold them follows
a few hundred patterns. X is therefore kept as

    X = P D + planes + loose

where a row of P picks one phrase of each block of neighbouring columns, D spells phrases out as columns of
ones, planes are columns that most rows have a value in, and loose is what remains, by rows. Products with D
take a moment, so a row costs a few table look-ups where it cost a dozen scattered entries.

The layout follows the data, and neighbouring tables may be laid out differently. So nothing that is computed
may depend on it, to the last bit; `kernels.sparse` sees to that.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.engine.kernels.csr import Indices
from privfit.engine.kernels.packing import (
    PHRASES,
    TILE,
    Codes,
    Packed,
    distribute,
    learn,
    ones_by_column,
    uncoded,
)

CODES = 2**16  # phrases of all blocks: their numbers take two bytes
WORTHWHILE = 0.5  # of the rows must have a value in a block or plane


def loose(X: Any) -> Packed:
    """Lay out all entries of a canonical CSR matrix as loose ones, where they are."""
    n = X.shape[0]
    return Packed(
        codes=np.empty((0, n), np.uint16),
        parents=np.empty(0, np.int32),
        lasts=np.empty(0, np.int32),
        planes=np.empty((0, n), X.dtype),
        plane_columns=np.empty(0, np.int64),
        loose_rows=np.arange(n),
        loose_tiles=np.minimum(_borders(n), n),
        indptr=X.indptr,
        indices=X.indices,
        data=X.data,
        has_wild=bool(np.any(np.abs(X.data) > 1.0)),
    )


def packed(X: Any) -> Packed:
    """Return the layout of a canonical CSR matrix: `loose` unless half of its entries can be packed."""
    n, p = X.shape
    arrays = X.indptr, X.indices, X.data
    codes, parents, lasts, in_block = _phrases(*ones_by_column(*arrays, p), n, p)
    counts, unfit = uncoded(*arrays, in_block)
    plane_columns = np.flatnonzero((counts >= max(1.0, WORTHWHILE * n)) & ~unfit)
    n_loose = int(counts.sum() - counts[plane_columns].sum())
    if 2 * n_loose > X.indptr[-1]:
        return loose(X)
    plane_of = np.full(p, -1)
    plane_of[plane_columns] = np.arange(len(plane_columns))
    planes = np.zeros((len(plane_columns), n), X.dtype)
    indices, data = np.empty(n_loose, X.indices.dtype), np.empty(n_loose, X.dtype)
    lengths = distribute(*arrays, in_block, plane_of, planes, indices, data)
    loose_rows = np.flatnonzero(lengths)
    return Packed(
        codes=codes,
        parents=parents,
        lasts=lasts,
        planes=planes,
        plane_columns=plane_columns,
        loose_rows=loose_rows,
        loose_tiles=np.searchsorted(loose_rows, _borders(n)),
        indptr=np.append(0, np.cumsum(lengths[loose_rows])).astype(X.indptr.dtype),
        indices=indices,
        data=data,
        has_wild=bool(np.any(np.abs(data) > 1.0)),
    )


def _borders(n: int) -> NDArray[np.int64]:
    """Return the rows at which tiles begin, and one at or beyond the end."""
    return TILE * np.arange(-(-n // TILE) + 1)


def _phrases(
    indptr: Indices, rows: NDArray[np.uint32], n: int, p: int
) -> tuple[Codes, NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """Cut the columns of ones into blocks and number the phrases of each; drop what is not worthwhile."""
    parents, lasts = np.empty(CODES, np.int32), np.empty(CODES, np.int32)
    shown = np.zeros(n, np.int32)
    in_block = np.zeros(p, np.bool_)
    codes: list[Codes] = []
    size = column = 0
    while column < p and size + PHRASES <= CODES:
        shown[:] = size
        stop, end = learn(indptr, rows, column, size, shown, parents, lasts)
        if indptr[stop] - indptr[column] >= WORTHWHILE * n:
            codes.append(shown.astype(np.uint16))
            in_block[column:stop] = True
            size = end
        column = stop
    return np.array(codes, np.uint16).reshape(len(codes), n), parents[:size], lasts[:size], in_block
