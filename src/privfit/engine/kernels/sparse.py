"""The compiled loops over a sparse matrix in its layout: predictions, and sums of coefficient times row.

The result for a record depends only on the values of its own entries, for every layout:

- Values of size at most 1 are tame. Their products with the weights are rounded to a public grid on which
  their sums are exact (`weight_magic`), so that their order does not matter. The products of larger, wild
  values are added up separately, from left to right.
- Ones, if the view lets them (`Sums.ones_alike`), add the record's coefficient rounded to one grid for all
  columns, so that sums over phrases are exact; other values add products rounded to their column's grid.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privfit.engine.exact.grids import FloatArray
from privfit.engine.kernels import lanes
from privfit.engine.kernels.compiling import compiled, inner
from privfit.engine.kernels.csr import Indices
from privfit.engine.kernels.dense import Rows
from privfit.engine.kernels.fused import fma
from privfit.engine.kernels.lanes import LANES
from privfit.engine.kernels.limits import within_limits
from privfit.engine.kernels.packing import ROWS_PER_TILE, Codes, Packed

COPIES = 4  # copies of the phrases' sums, so that successive rows do not wait for each other
LARGEST_WEIGHTS = 1e290  # the largest sum of the sizes of all weights


class PackedWeights(NamedTuple):
    """Weights, and sums of weights for the parts of a packed matrix."""

    columns: FloatArray
    planes: FloatArray
    phrases: FloatArray
    magic: float
    offset: float


@compiled(nogil=False)
def weight_magic(w: FloatArray) -> float:
    """Return M such that products of w and values of size at most 1, rounded by it, add up exactly.

    With 2**e above the sum S of all |w|, the step is 2**(e - 51). A record has each column once, so its
    products sum to less than 2**51 steps, and rounding moves the sum by half a step per column, at most
    2**-51 S. M is 0, so nothing is rounded, if weights are not finite or so large that their sums could
    overflow.
    """
    total = 0.0
    for weight in w:
        total += abs(weight)
    if not total < LARGEST_WEIGHTS:
        return 0.0
    return 1.5 * 2.0**52 * math.ldexp(1.0, max(math.frexp(total)[1] - 51, -1000))


@compiled(nogil=False)
def phrase_weights(
    parents: NDArray[np.int32], lasts: NDArray[np.int32], w: FloatArray, magic: float
) -> FloatArray:
    """Return the sum of w, rounded, over the columns of each phrase: D w."""
    sums = np.zeros(len(parents))
    for phrase in range(len(parents)):
        if parents[phrase] != phrase:
            sums[phrase] = sums[parents[phrase]] + ((w[lasts[phrase]] + magic) - magic)
    return sums


@compiled(nogil=False)
def spread(parents: NDArray[np.int32], lasts: NDArray[np.int32], sums: FloatArray, out: FloatArray) -> None:
    """Add each phrase's sum to all of its columns in `out`: D' sums. `sums` is overwritten."""
    for phrase in range(len(parents) - 1, -1, -1):
        if parents[phrase] != phrase:
            sums[parents[phrase]] += sums[phrase]
            out[lasts[phrase]] += sums[phrase]


@inner()
def mixed_predictions(
    rows: Indices,
    first: int,
    indptr: Indices,
    indices: Indices,
    data: Rows,
    w: FloatArray,
    magic: float,
    out: FloatArray,
) -> None:
    """Add the products of the loose entries in these rows, some of which are wild."""
    for r in range(len(rows)):
        tame = wild = 0.0
        for t in range(np.uint64(indptr[r]), np.uint64(indptr[r + 1])):
            value, weight = data[t], w[np.uint64(indices[t])]
            # selections instead of branches, which the processor would mispredict for mixed values
            is_tame = abs(value) <= 1.0
            rounding = magic if is_tame else 0.0
            product = fma(value, weight, rounding) - rounding
            tame += product if is_tame else 0.0
            wild += 0.0 if is_tame else product
        i = np.uint64(rows[r] - first)
        out[i] = (out[i] + tame) + wild


@inner()
def tame_predictions(
    rows: Indices,
    first: int,
    indptr: Indices,
    indices: Indices,
    data: Rows,
    w: FloatArray,
    magic: float,
    out: FloatArray,
) -> None:
    """Add the products of the loose entries in these rows, none of which is wild."""
    one = np.uint64(1)
    for r in range(len(rows)):
        even = odd = 0.0
        t, stop = np.uint64(indptr[r]), np.uint64(indptr[r + 1])
        while t + one < stop:
            even += fma(data[t], w[np.uint64(indices[t])], magic) - magic
            odd += fma(data[t + one], w[np.uint64(indices[t + one])], magic) - magic
            t += one + one
        if t < stop:
            even += fma(data[t], w[np.uint64(indices[t])], magic) - magic
        out[np.uint64(rows[r] - first)] += even + odd


@inner()
def tile_predictions(X: Packed, first: int, w: PackedWeights, out: FloatArray) -> None:
    """Write X.w + offset, `within_limits`, for the tile that begins with row `first`."""
    n, magic = len(out), w.magic
    out[:] = 0.0
    phrases = w.phrases
    for block in range(X.codes.shape[0]):
        codes = X.codes[block, first : first + n]
        for i in range(n):
            out[i] += phrases[np.uint64(codes[i])]
    for plane in range(X.planes.shape[0]):
        x, weight = X.planes[plane, first : first + n], w.planes[plane]
        for i in range(n):
            out[i] += fma(x[i], weight, magic) - magic
    tile = first // ROWS_PER_TILE
    rows = X.loose_rows[X.loose_tiles[tile] : X.loose_tiles[tile + 1]]
    indptr = X.indptr[X.loose_tiles[tile] :]
    if X.has_wild or magic == 0.0:  # without a grid the order of additions matters, so it is always the same
        mixed_predictions(rows, first, indptr, X.indices, X.data, w.columns, magic, out)
    else:
        tame_predictions(rows, first, indptr, X.indices, X.data, w.columns, magic, out)
    for i in range(n):
        out[i] = within_limits(out[i] + w.offset)


@compiled()
def sparse_predictions(X: Packed, start: int, w: PackedWeights, out: FloatArray) -> None:
    """Write X.w + offset, `within_limits`, of the rows from `start` on, a multiple of ROWS_PER_TILE."""
    for first in range(0, len(out), ROWS_PER_TILE):
        tile_predictions(X, start + first, w, out[first : first + ROWS_PER_TILE])


@inner(fastmath={"reassoc"})
def total(values: FloatArray) -> float:
    """Sum values whose sums are exact, in any order."""
    result = 0.0
    for i in range(len(values)):
        result += values[i]
    return result


@inner()
def plane_sum(planes: Rows, plane: int, first: int, coefficients: FloatArray, magic: float) -> float:
    """Return the sum of coefficient times value, rounded, over a tile of a plane; see `grids.odd`."""
    n = len(coefficients)
    even = odd = lanes.alike(magic)
    full = n - n % (2 * LANES)
    for i in range(0, full, 2 * LANES):
        k = i + LANES
        even = lanes.fma(lanes.read(coefficients, i), lanes.entries(planes, plane, first + i), even)
        odd = lanes.fma(lanes.read(coefficients, k), lanes.entries(planes, plane, first + k), odd)
    back = lanes.alike(-magic)
    result: float = lanes.total(lanes.add(lanes.add(even, back), lanes.add(odd, back)))
    for i in range(full, n):
        result += fma(coefficients[i], planes[plane, first + i], magic) - magic
    return result


@inner()
def phrase_sums(codes: Codes, rounded: FloatArray, phrases: FloatArray) -> None:
    """Add the coefficients to the phrases of their rows; every fourth row uses the same copy of the sums."""
    a, b, c, d = phrases[0], phrases[1], phrases[2], phrases[3]
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    for quarter in range(len(codes) // 4):
        k = np.uint64(4 * quarter)
        a[np.uint64(codes[k])] += rounded[k]
        b[np.uint64(codes[k + one])] += rounded[k + one]
        c[np.uint64(codes[k + two])] += rounded[k + two]
        d[np.uint64(codes[k + three])] += rounded[k + three]
    for i in range(len(codes) - len(codes) % 4, len(codes)):
        a[np.uint64(codes[i])] += rounded[i]


@inner(forceinline=True)
def product(
    coefficient: float, value: float, column: Any, ones_alike: bool, magics: FloatArray, ones: Any
) -> tuple[float, Any]:
    """Round coefficient times value, and return the number of the sum to which it is added."""
    is_one = ones_alike and value == 1.0
    in_column, of_coefficient = magics[column], magics[-1]
    magic = of_coefficient if is_one else in_column
    return fma(coefficient, value, magic) - magic, column + ones if is_one else column


@inner()
def loose_combine(
    rows: Indices,
    first: int,
    indptr: Indices,
    indices: Indices,
    data: Rows,
    coefficients: FloatArray,
    magics: FloatArray,
    ones_alike: bool,
    out: FloatArray,
) -> None:
    """Add coefficient times the loose entries in these rows.

    Four columns are added at a time, which saves a fifth of the time. They differ, because the column numbers
    of a row increase strictly.
    """
    ones = np.uint64(len(magics))
    step, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    for r in range(len(rows)):
        a = coefficients[np.uint64(rows[r] - first)]
        t, stop = np.uint64(indptr[r]), np.uint64(indptr[r + 1])
        while t + three < stop:
            share_j, j = product(a, data[t], np.uint64(indices[t]), ones_alike, magics, ones)
            share_k, k = product(a, data[t + step], np.uint64(indices[t + step]), ones_alike, magics, ones)
            share_m, m = product(a, data[t + two], np.uint64(indices[t + two]), ones_alike, magics, ones)
            share_o, o = product(a, data[t + three], np.uint64(indices[t + three]), ones_alike, magics, ones)
            sum_j, sum_k, sum_m, sum_o = out[j], out[k], out[m], out[o]
            out[j], out[k] = sum_j + share_j, sum_k + share_k
            out[m], out[o] = sum_m + share_m, sum_o + share_o
            t += four
        while t < stop:
            share_j, j = product(a, data[t], np.uint64(indices[t]), ones_alike, magics, ones)
            out[j] += share_j
            t += step


@inner()
def tile_combine(
    X: Packed,
    first: int,
    coefficients: FloatArray,
    magics: FloatArray,
    ones_alike: bool,
    scratch: FloatArray,
    phrases: FloatArray,
    out: FloatArray,
) -> None:
    """Add coefficient times (row, 1), rounded, to `out` for the tile that begins with row `first`.

    `out` holds the sums of the columns, of the coefficients, and of ones in the columns. The sums of phrases
    are added to the copies in `phrases`. If `ones_alike`, entries equal to 1 are rounded like the coefficient
    and summed separately, because sums are exact only on one grid.
    """
    n, p = len(coefficients), len(magics) - 1
    rounded, magic = scratch[:n], magics[p]
    for i in range(n):
        rounded[i] = (coefficients[i] + magic) - magic
    out[p] += total(rounded)
    for block in range(X.codes.shape[0]):
        phrase_sums(X.codes[block, first : first + n], rounded, phrases)
    for plane in range(X.planes.shape[0]):
        column = X.plane_columns[plane]
        out[column] += plane_sum(X.planes, plane, first, coefficients, magics[column])
    tile = first // ROWS_PER_TILE
    rows = X.loose_rows[X.loose_tiles[tile] : X.loose_tiles[tile + 1]]
    indptr = X.indptr[X.loose_tiles[tile] :]
    loose_combine(rows, first, indptr, X.indices, X.data, coefficients, magics, ones_alike, out)


@inner()
def merge(phrases: FloatArray, out: FloatArray) -> None:
    """Add the copies of the phrases' sums to the last of the sums in `out`."""
    size = phrases.shape[1]
    for copy in range(COPIES):
        for phrase in range(size):
            out[len(out) - size + phrase] += phrases[copy, phrase]
