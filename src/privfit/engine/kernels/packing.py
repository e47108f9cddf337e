"""The compiled loops that pack a sparse matrix: which phrases of ones its rows show, and what remains.

`layouts.packed` says what a packed matrix is.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privfit.engine.kernels.compiling import compiled
from privfit.engine.kernels.csr import Indices
from privfit.engine.kernels.dense import Rows

Codes = NDArray[np.uint16]

PHRASES = 512  # of a block of columns, so that the tables of a few blocks stay in the nearest cache
ROWS_PER_TILE = 256  # so few that their predictions stay in the nearest cache


class Packed(NamedTuple):
    """Where the entries of X are."""

    codes: Codes  # (blocks of columns, rows): the phrase of each block that a row shows
    parents: NDArray[np.int32]  # of a phrase, the phrase without its last column; itself for an empty one
    lasts: NDArray[np.int32]  # of a phrase, its last column
    planes: Rows  # (planes, rows)
    plane_columns: NDArray[np.int64]
    loose_rows: NDArray[np.int64]  # the rows that have loose entries
    loose_tiles: NDArray[np.int64]  # where in this list each tile of the matrix begins
    indptr: Indices  # where each of their entries begin
    indices: Indices
    data: Rows
    has_wild: bool  # whether a loose entry is larger than 1


@compiled()
def ones_by_column(
    indptr: Indices, indices: Indices, data: Rows, n_columns: int
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the rows of the ones in every column, one column after the other, and where each begins."""
    starts = np.zeros(n_columns + 1, np.int64)
    for t in range(indptr[-1]):
        starts[indices[t] + 1] += data[t] == 1.0
    starts = np.cumsum(starts)
    filled = starts.copy()
    rows = np.empty(starts[-1], np.uint32)  # of at most 2**32 records
    for i in range(len(indptr) - 1):
        for t in range(indptr[i], indptr[i + 1]):
            if data[t] == 1.0:
                rows[filled[indices[t]]] = i
                filled[indices[t]] += 1
    return starts, rows


@compiled()
def uncoded(
    indptr: Indices, indices: Indices, data: Rows, in_block: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Count the entries that no phrase takes, by column: ones, and others; tell which columns have wild ones.

    A plane takes the others of a column without wild values, which are to be added up in the order of
    columns. It takes no ones, because they would be rounded to the grid of that column, not to that of ones.
    """
    ones, others = np.zeros(len(in_block), np.int64), np.zeros(len(in_block), np.int64)
    is_wild = np.zeros(len(in_block), np.bool_)
    for t in range(indptr[-1]):
        j, value = indices[t], data[t]
        if value == 1.0:
            ones[j] += not in_block[j]
        else:
            others[j] += 1
            is_wild[j] |= abs(value) > 1.0
    return ones, others, is_wild


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
) -> Indices:
    """Copy the entries that no phrase takes to planes or loose entries; count the latter by row."""
    lengths = np.zeros(len(indptr) - 1, indptr.dtype)
    end = 0
    for i in range(len(lengths)):
        for t in range(indptr[i], indptr[i + 1]):
            j, value = indices[t], data[t]
            if value == 1.0 and in_block[j]:
                continue
            if value != 1.0 and plane_of[j] >= 0:
                planes[plane_of[j], i] = value
            else:
                loose_indices[end], loose_data[end] = j, value
                lengths[i] += 1
                end += 1
    return lengths


@compiled()
def learn(
    indptr: Indices,
    rows: NDArray[np.uint32],
    column: int,
    first: int,
    shown: NDArray[np.int32],
    parents: NDArray[np.int32],
    lasts: NDArray[np.int32],
) -> tuple[int, int]:
    """Grow a block of columns from `column` on, as far as it has at most PHRASES phrases; return both ends.

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
