"""The compiled loops of first and second moments: the factor that shrinks each row, and sums of rows.

Each row z = scale * (x - center) has a curve, z * (z - root) in each column. It is z**2 if the root is 0. If
the root is 1, it is 0 for 0/1 columns. A row is shrunk by f = min(1, radius / ||z||, curve_radius /
||curve||); see `bounds.moment_bound`.
"""

import math

import numpy as np

from privfit.engine.exact.grids import FloatArray
from privfit.engine.kernels.compiling import compiled, inner
from privfit.engine.kernels.csr import Indices
from privfit.engine.kernels.dense import Rows, padded, standardised
from privfit.engine.kernels.lanes import LANES, add, alike, fma, multiply, read, subtract, total, write


@inner()
def factor(squares: float, curves: float, radius: float, curve_radius: float) -> float:
    """Return f for a row with these sums of squares of z and of its curve; 0 if they have overflowed."""
    if not squares + curves < math.inf:
        return 0.0
    f = 1.0
    if squares > radius * radius:
        f = radius / math.sqrt(squares)
    if f * math.sqrt(curves) > curve_radius:
        f = curve_radius / math.sqrt(curves)
    return f


@compiled()
def dense_powers(
    X: Rows,
    center: FloatArray,
    scale: FloatArray,
    roots: FloatArray,
    absent: FloatArray,
    squares: FloatArray,
    curves: FloatArray,
) -> None:
    """Write each row's sums of squares of z and of its curve. No value is `absent`."""
    center, scale, roots = padded(center), padded(scale), padded(roots)
    for i in range(X.shape[0]):
        straight = curved = alike(0.0)
        for j in range(0, X.shape[1], LANES):
            z = standardised(X, i, j, center, scale)
            curve = multiply(z, subtract(z, read(roots, j)))
            straight, curved = fma(z, z, straight), fma(curve, curve, curved)
        squares[i], curves[i] = total(straight), total(curved)


@compiled()
def dense_moments(
    X: Rows,
    center: FloatArray,
    scale: FloatArray,
    roots: FloatArray,
    radius: float,
    curve_radius: float,
    magics: FloatArray,
    squares: FloatArray,
    curves: FloatArray,
    out: FloatArray,
) -> None:
    """Add f * z to out[0] and f times its curve to out[1], rounded to the columns' grids."""
    n, p = X.shape
    center, scale, roots = padded(center), padded(scale), padded(roots)
    magic, curve_magic = padded(magics[0, :p]), padded(magics[1, :p])
    first, second = np.zeros(len(center)), np.zeros(len(center))
    for i in range(n):
        factor_i = factor(squares[i], curves[i], radius, curve_radius)
        if factor_i > 0.0:  # otherwise z may be infinite
            f = alike(factor_i)
            for j in range(0, p, LANES):
                z, M, C = standardised(X, i, j, center, scale), read(magic, j), read(curve_magic, j)
                curve = multiply(z, subtract(z, read(roots, j)))
                write(first, j, add(read(first, j), subtract(fma(f, z, M), M)))
                write(second, j, add(read(second, j), subtract(fma(f, curve, C), C)))
    for j in range(p):
        out[0, j] += first[j]
        out[1, j] += second[j]


@compiled()
def csr_powers(
    indptr: Indices,
    indices: Indices,
    data: Rows,
    center: FloatArray,
    scale: FloatArray,
    roots: FloatArray,
    absent: FloatArray,
    squares: FloatArray,
    curves: FloatArray,
) -> None:
    """Write each row's sums of squares of z and of its curve, rounded up.

    `absent` holds the squares for absent values, each row followed by its sum, as in `csr.csr_squares`.
    """
    p = len(scale)
    for i in range(len(indptr) - 1):
        straight, curved = absent[0, p], absent[1, p]
        present, present_curved = 0.0, 0.0
        for t in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j = np.uint64(indices[t])
            z = scale[j] * (data[t] - center[j])
            curve = z * (z - roots[j])
            present += z * z
            present_curved += curve * curve
            straight -= absent[0, j]
            curved -= absent[1, j]
        squares[i], curves[i] = present + straight, present_curved + curved


@compiled()
def csr_moments(
    indptr: Indices,
    indices: Indices,
    data: Rows,
    center: FloatArray,
    scale: FloatArray,
    roots: FloatArray,
    radius: float,
    curve_radius: float,
    magics: FloatArray,
    squares: FloatArray,
    curves: FloatArray,
    out: FloatArray,
) -> None:
    """Add f times (z, curve), minus that of an absent value, to out[0] and out[1]; f is added last."""
    p = len(scale)
    for i in range(len(indptr) - 1):
        f = factor(squares[i], curves[i], radius, curve_radius)
        if f > 0.0:
            for t in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                j = np.uint64(indices[t])
                first = scale[j] * data[t]
                second = first * (scale[j] * (data[t] - 2.0 * center[j]) - roots[j])
                out[0, j] += (f * first + magics[0, j]) - magics[0, j]
                out[1, j] += (f * second + magics[1, j]) - magics[1, j]
            out[0, p] += (f + magics[0, p]) - magics[0, p]
