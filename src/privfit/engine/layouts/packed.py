"""The packed layout of a sparse matrix, which is fast: phrases of ones, dense columns, and loose entries.

In tables with categories, most entries are ones, and the same few hundred patterns of ones occur again and
again. X is therefore stored as

    X = P D + planes + loose

A *phrase* is a pattern of ones in a block of neighbouring columns. Each row of P picks one phrase for each
block, and D has a row of ones and zeros for each phrase. *Planes* are columns in which most rows have a
value, without the ones among them. *Loose* entries are all others, stored by row. A product with D is
computed once for all rows, so each row then costs a few table look-ups instead of a dozen scattered entries.

The layout depends on the data, so neighbouring tables may have different layouts. Therefore no result may
depend on the layout, not even in its last bit; `kernels.sparse` ensures that.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.engine.kernels.csr import Indices
from privfit.engine.kernels.dense import Rows
from privfit.engine.kernels.packing import (
    PHRASES,
    ROWS_PER_TILE,
    Codes,
    Packed,
    distribute,
    learn,
    ones_by_column,
    uncoded,
)

MOST_PHRASES = 2**16  # the largest number of phrases of all blocks, so that their numbers fit into two bytes
# the least share of rows with a value in a block or plane; with fewer, it does not save time
LEAST_FILLED_SHARE = 0.5


def loose(X: Any) -> Packed:
    """Return a layout of a canonical CSR matrix in which all entries are loose, without a copy."""
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
        has_wild=_has_wild(X.data),
    )


def packed(X: Any) -> Packed:
    """Return the layout of a canonical CSR matrix: `loose` unless half of its entries can be packed."""
    n, p = X.shape
    arrays = X.indptr, X.indices, X.data
    codes, parents, lasts, in_block = _phrases(X)
    ones, others, is_wild = uncoded(*arrays, in_block)
    plane_columns = np.flatnonzero((others >= max(1.0, LEAST_FILLED_SHARE * n)) & ~is_wild)
    n_loose = int(ones.sum() + others.sum() - others[plane_columns].sum())
    if 2 * n_loose > X.indptr[-1]:
        return loose(X)
    plane_of = np.full(p, -1)
    plane_of[plane_columns] = np.arange(len(plane_columns))
    planes = np.zeros((len(plane_columns), n), X.dtype)
    indices, data = np.empty(n_loose, X.indices.dtype), np.empty(n_loose, X.dtype)
    lengths = distribute(*arrays, in_block, plane_of, planes, indices, data)
    loose_rows = np.flatnonzero(lengths)
    starts = np.zeros(len(loose_rows) + 1, X.indptr.dtype)
    np.cumsum(lengths[loose_rows], out=starts[1:])
    return Packed(
        codes=codes,
        parents=parents,
        lasts=lasts,
        planes=planes,
        plane_columns=plane_columns,
        loose_rows=loose_rows,
        loose_tiles=np.searchsorted(loose_rows, _borders(n)),
        indptr=starts,
        indices=indices,
        data=data,
        has_wild=_has_wild(data),
    )


def first(X: Packed, count: int) -> Packed:
    """Return the layout of the first rows, which shares the memory of this one.

    Codes and planes are looked up by row, so those of later rows may stay. Loops go through all loose rows of
    a tile, so later loose rows are left out.
    """
    stop = int(np.searchsorted(X.loose_rows, count))
    tiles = np.minimum(X.loose_tiles[: len(_borders(count))], stop)
    return X._replace(loose_rows=X.loose_rows[:stop], loose_tiles=tiles, indptr=X.indptr[: stop + 1])


def _has_wild(data: Rows) -> bool:
    """Return whether an entry is larger than 1, without a copy of the entries."""
    return bool(data.max(initial=0.0) > 1.0 or data.min(initial=0.0) < -1.0)


def _borders(n: int) -> NDArray[np.int64]:
    """Return the first row of each tile, and a row at or beyond the end."""
    return ROWS_PER_TILE * np.arange(-(-n // ROWS_PER_TILE) + 1)


def _phrases(X: Any) -> tuple[Codes, NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """Divide the columns of ones into blocks and number their phrases; drop blocks that few rows use."""
    n, p = X.shape
    codes, parents, lasts, in_block = _blocks(*ones_by_column(X.indptr, X.indices, X.data, p), n, p)
    return np.array(codes, np.uint16).reshape(len(codes), n), parents, lasts, in_block


def _blocks(
    indptr: Indices, rows: NDArray[np.uint32], n: int, p: int
) -> tuple[list[Codes], NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """Return the phrase of every row in each block, the phrases, and which columns are in blocks."""
    parents, lasts = np.empty(MOST_PHRASES, np.int32), np.empty(MOST_PHRASES, np.int32)
    shown = np.zeros(n, np.int32)
    in_block = np.zeros(p, np.bool_)
    codes: list[Codes] = []
    size = column = 0
    while column < p and size + PHRASES <= MOST_PHRASES:
        shown[:] = size
        stop, end = learn(indptr, rows, column, size, shown, parents, lasts)
        if indptr[stop] - indptr[column] >= LEAST_FILLED_SHARE * n:
            codes.append(shown.astype(np.uint16))
            in_block[column:stop] = True
            size = end
        column = stop
    return codes, parents[:size], lasts[:size], in_block
