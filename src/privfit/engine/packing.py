"""How a sparse matrix is laid out for speed: phrases of ones, dense columns, and loose entries.

Tables with categories repeat themselves: most of their entries are ones, and which columns hold them follows
a few hundred patterns. X is therefore kept as

    X = P D + planes + loose

where a row of P picks one phrase of each block of neighbouring columns, D spells phrases out as columns of
ones, planes are columns that most rows have a value in, and loose is what remains, by rows. Products with D
take a moment, so a row costs a few table look-ups where it cost a dozen scattered entries.

The layout follows the data, and neighbouring tables may be laid out differently. So nothing that is computed
may depend on it, to the last bit; `sparse` sees to that.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privfit.engine.base import FloatArray
from privfit.engine.compiling import compiled
from privfit.engine.kernels import Indices, Rows

Codes = NDArray[np.uint16]

PHRASES = 512  # of a block, so that the tables of a few blocks stay in the nearest cache
CODES = 2**16  # phrases of all blocks: their numbers take two bytes
WORTHWHILE = 0.5  # of the rows must have a value in a block or plane
PIECE = 256  # rows that are worked on at a time, so that their margins stay in the nearest cache


class Layout(NamedTuple):
    """Where the entries of X are."""

    codes: Codes  # (blocks, rows): the phrase of each block that a row shows
    parents: NDArray[np.int32]  # of a phrase, the phrase without its last column; itself for an empty one
    lasts: NDArray[np.int32]  # of a phrase, its last column
    planes: Rows  # (planes, rows)
    plane_columns: NDArray[np.int64]
    loose_rows: NDArray[np.int64]  # the rows that have loose entries
    loose_pieces: NDArray[np.int64]  # where in this list each PIECE of the matrix begins
    indptr: Indices  # where each of their entries begin
    indices: Indices
    data: Rows
    has_wild: bool  # whether a loose entry is larger than 1


def loose(X: Any) -> Layout:
    """Lay out all entries of a canonical CSR matrix as loose ones, where they are."""
    n = X.shape[0]
    return Layout(
        codes=np.empty((0, n), np.uint16),
        parents=np.empty(0, np.int32),
        lasts=np.empty(0, np.int32),
        planes=np.empty((0, n), X.dtype),
        plane_columns=np.empty(0, np.int64),
        loose_rows=np.arange(n),
        loose_pieces=np.minimum(_borders(n), n),
        indptr=X.indptr,
        indices=X.indices,
        data=X.data,
        has_wild=bool(np.any(np.abs(X.data) > 1.0)),
    )


def packed(X: Any) -> Layout:
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
    return Layout(
        codes=codes,
        parents=parents,
        lasts=lasts,
        planes=planes,
        plane_columns=plane_columns,
        loose_rows=loose_rows,
        loose_pieces=np.searchsorted(loose_rows, _borders(n)),
        indptr=np.append(0, np.cumsum(lengths[loose_rows])).astype(X.indptr.dtype),
        indices=indices,
        data=data,
        has_wild=bool(np.any(np.abs(data) > 1.0)),
    )


@compiled()
def ones_by_column(
    indptr: Indices, indices: Indices, data: Rows, n_columns: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of the ones in every column, one column after the other, and where each begins."""
    starts = np.zeros(n_columns + 1, np.int64)
    for t in range(indptr[-1]):
        starts[indices[t] + 1] += data[t] == 1.0
    starts = np.cumsum(starts)
    filled = starts.copy()
    rows = np.empty(starts[-1], np.int64)
    for i in range(len(indptr) - 1):
        for t in range(indptr[i], indptr[i + 1]):
            if data[t] == 1.0:
                rows[filled[indices[t]]] = i
                filled[indices[t]] += 1
    return starts, rows


@compiled()
def uncoded(
    indptr: Indices, indices: Indices, data: Rows, in_block: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Count the entries that no phrase takes, by column, and tell which columns are not fit for a plane.

    Wild values are to be added up in the order of columns, and a one among the values of a plane would be
    rounded to the grid of that column, not to that of ones.
    """
    counts = np.zeros(len(in_block), np.int64)
    unfit = np.zeros(len(in_block), np.bool_)
    for t in range(indptr[-1]):
        j, value = indices[t], data[t]
        if not (value == 1.0 and in_block[j]):
            counts[j] += 1
            unfit[j] |= value == 1.0 or abs(value) > 1.0
    return counts, unfit


@compiled()
def distribute(
    indptr: Indices,
    indices: Indices,
    data: Rows,
    in_block: NDArray[np.bool_],
    plane_of: NDArray[np.int64],
    planes: Rows,
    loose_indices: Indices,
    loose_data: Rows,
) -> NDArray[np.int64]:
    """Copy the entries that no phrase takes to planes or loose entries; count the latter by row."""
    lengths = np.zeros(len(indptr) - 1, np.int64)
    end = 0
    for i in range(len(lengths)):
        for t in range(indptr[i], indptr[i + 1]):
            j, value = indices[t], data[t]
            if value == 1.0 and in_block[j]:
                continue
            if plane_of[j] >= 0:
                planes[plane_of[j], i] = value
            else:
                loose_indices[end], loose_data[end] = j, value
                lengths[i] += 1
                end += 1
    return lengths


def _borders(n: int) -> NDArray[np.int64]:
    """Return the rows at which pieces begin, and one at or beyond the end."""
    return PIECE * np.arange(-(-n // PIECE) + 1)


def _phrases(
    indptr: Indices, rows: Indices, n: int, p: int
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


@compiled()
def learn(
    indptr: Indices,
    rows: Indices,
    column: int,
    first: int,
    shown: NDArray[np.int32],
    parents: NDArray[np.int32],
    lasts: NDArray[np.int32],
) -> tuple[int, int]:
    """Grow a block from `column` on, as far as it has at most PHRASES phrases; return where both end.

    `shown` holds every row's phrase: at first the empty one, with number `first`. A column turns the phrase
    of each row that has a one there into the phrase with this column added.
    """
    parents[first], lasts[first] = first, 0
    size = first + 1
    longer = np.empty(PHRASES, np.int32)
    while column < len(indptr) - 1:
        before = size
        longer[: before - first] = -1
        for t in range(indptr[column], indptr[column + 1]):
            phrase = shown[rows[t]]
            if longer[phrase - first] < 0:
                if size == first + PHRASES:
                    break
                longer[phrase - first] = size
                parents[size], lasts[size] = phrase, column
                size += 1
            shown[rows[t]] = longer[phrase - first]
        else:
            column += 1
            continue
        for t in range(indptr[column], indptr[column + 1]):  # the block is full: take this column back
            if shown[rows[t]] >= before:
                shown[rows[t]] = parents[shown[rows[t]]]
        size = before
        break
    return column, size


@compiled(nogil=False)
def spelled(parents: NDArray[np.int32], lasts: NDArray[np.int32], w: FloatArray, magic: float) -> FloatArray:
    """Return the sum of w, rounded, over the columns of each phrase: D w."""
    sums = np.zeros(len(parents))
    for phrase in range(len(parents)):
        if parents[phrase] != phrase:
            sums[phrase] = sums[parents[phrase]] + ((w[lasts[phrase]] + magic) - magic)
    return sums


@compiled(nogil=False)
def spread(parents: NDArray[np.int32], lasts: NDArray[np.int32], sums: FloatArray, out: FloatArray) -> None:
    """Add each phrase's sum to all of its columns in `out`: D' sums. `sums` is used up."""
    for phrase in range(len(parents) - 1, -1, -1):
        if parents[phrase] != phrase:
            sums[parents[phrase]] += sums[phrase]
            out[lasts[phrase]] += sums[phrase]
