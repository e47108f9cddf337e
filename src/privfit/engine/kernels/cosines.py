"""The compiled loops of a person's gradient: angles between records, and how far their sum is shrunk."""

import math

import numpy as np

from privfit.engine.exact.grids import FloatArray
from privfit.engine.kernels.compiling import compiled
from privfit.engine.kernels.csr import Indices
from privfit.engine.kernels.dense import Rows
from privfit.losses.arithmetic import compilable

# Norms for which no product of two entries overflows, and no relevant product underflows. Records with other
# norms are assumed to point in the same direction.
SHORTEST, LONGEST = 1e-120, 1e120


@compilable
def cosine(product: float, one: float, other: float) -> float:
    """Return the cosine of the angle between records of these norms, NaN where it cannot be computed."""
    known = SHORTEST < one < LONGEST and SHORTEST < other < LONGEST
    return product / (one * other) if known else np.nan


@compiled()
def dense_cosines(
    X: Rows,
    center: FloatArray,
    scale: FloatArray,
    absent: FloatArray,
    constant: float,
    starts: Indices,
    norms: FloatArray,
    out: FloatArray,
) -> None:
    """Write the cosines of each record's (z, bias) and those of the same person's earlier records.

    `constant` is the square of the bias. No value is `absent`.
    """
    for person in range(len(starts) - 1):
        first = starts[person]
        for i in range(first, starts[person + 1]):
            for k in range(first, i):
                product = constant
                for j in range(X.shape[1]):
                    product += (scale[j] * (X[i, j] - center[j])) * (scale[j] * (X[k, j] - center[j]))
                out[i, k - first] = cosine(product, norms[i], norms[k])


@compiled()
def csr_cosines(
    indptr: Indices,
    indices: Indices,
    data: Rows,
    center: FloatArray,
    scale: FloatArray,
    absent: FloatArray,
    constant: float,
    starts: Indices,
    norms: FloatArray,
    out: FloatArray,
) -> None:
    """Write the same for sparse rows, whose columns are in order.

    `absent` is as in `csr_squares`: the share of columns that both records lack is the sum of all minus the
    others.
    """
    for person in range(len(starts) - 1):
        first = starts[person]
        for i in range(first, starts[person + 1]):
            for k in range(first, i):
                product, rest = constant, absent[-1]
                s, t = indptr[i], indptr[k]
                while s < indptr[i + 1] or t < indptr[k + 1]:
                    at = len(scale)
                    if s < indptr[i + 1]:
                        at = indices[s]
                    if t < indptr[k + 1]:
                        at = min(at, indices[t])
                    x = y = 0.0
                    if s < indptr[i + 1] and indices[s] == at:
                        x = data[s]
                        s += 1
                    if t < indptr[k + 1] and indices[t] == at:
                        y = data[t]
                        t += 1
                    product += (scale[at] * (x - center[at])) * (scale[at] * (y - center[at]))
                    rest -= absent[at]
                out[i, k - first] = cosine(product + rest, norms[i], norms[k])


@compiled()
def person_factors(
    starts: Indices, cosines: FloatArray, shares: FloatArray, clip: float, slack: float, out: FloatArray
) -> None:
    """Write the factor that shrinks a person's sum of shares to norm `clip`, the same for all their records.

    A record's shares, a row, are the coefficients of its outputs times its norm. `slack` times the square of
    the sum of their lengths exceeds the rounding error of the squared norm of the sum.
    """
    lengths = np.empty(len(out))
    for person in range(len(starts) - 1):
        first, last = starts[person], starts[person + 1]
        square = total = 0.0
        for i in range(first, last):
            own = 0.0
            for o in range(shares.shape[1]):
                own += shares[i, o] * shares[i, o]
            lengths[i] = math.sqrt(own)
            square += own
            total += lengths[i]
            for k in range(first, i):
                angle = cosines[i, k - first]
                if math.isnan(angle):
                    square += 2.0 * (lengths[i] * lengths[k])
                    continue
                product = 0.0
                for o in range(shares.shape[1]):
                    product += shares[i, o] * shares[k, o]
                square += 2.0 * (product * angle)
        norm = math.sqrt(max(square, 0.0) + slack * (total * total))
        factor = 1.0 if norm <= clip else clip / norm
        for i in range(first, last):
            out[i] = factor
