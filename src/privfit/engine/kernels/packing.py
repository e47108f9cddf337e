"""The compiled loops that pack a sparse matrix: they find the phrases of ones in its rows, and the rest.

`layouts.packed` defines packed matrices.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privfit.engine.kernels.compiling import compiled
from privfit.engine.kernels.csr import Indices
from privfit.engine.kernels.dense import Rows

Codes = NDArray[np.uint16]

# the largest number of phrases of a block; then the tables of a few blocks stay in the nearest cache
PHRASES = 512
ROWS_PER_TILE = 256  # then the predictions of a tile stay in the nearest cache


class Packed(NamedTuple):
    """The entries of X in packed form."""

    codes: Codes  # (blocks of columns, rows): the phrase of each block that a row shows
    parents: NDArray[np.int32]  # of a phrase, the phrase without its last column; itself for an empty one
    lasts: NDArray[np.int32]  # of a phrase, its last column
    planes: Rows  # (planes, rows)
    plane_columns: NDArray[np.int64]
    loose_rows: NDArray[np.int64]  # the rows that have loose entries
    loose_tiles: NDArray[np.int64]  # the start of each tile of the matrix in this list
    indptr: Indices  # the start of the entries of each loose row
    indices: Indices
    data: Rows
    has_wild: bool  # whether a loose entry is larger than 1


@compiled()
def ones_by_column(
    indptr: Indices, indices: Indices, data: Rows, n_columns: int
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the rows of the ones, column by column, and the start of each column."""
    starts = np.zeros(n_columns + 1, np.int64)
    for t in range(indptr[-1]):
        starts[indices[t] + 1] += data[t] == 1.0
    starts = np.cumsum(starts)
    filled = starts.copy()
    rows = np.empty(starts[-1], np.uint32)  # enough for 2**32 records
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
    """Count, for each column, the ones and the other entries that are in no phrase, and find wild columns.

    Columns with wild values cannot be planes, because wild values are added up in the order of columns. A
    plane takes no ones, because it rounds all values to the grid of its column, but ones have a grid of their
    own.
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
    """Copy the entries that are in no phrase to planes or loose entries; count loose entries by row."""
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
    """Extend a block from `column` on, up to PHRASES phrases; return the next column and phrase.

    `shown` holds the phrase of every row, which at first is the empty phrase, with number `first`. If a row
    has a one in a column, its phrase is replaced by the same phrase with this column added.
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
        for t in range(indptr[column], indptr[column + 1]):  # the block is full: undo this column
            if shown[rows[t]] >= before:
                shown[rows[t]] = parents[shown[rows[t]]]
        size = before
        break
    return column, size
