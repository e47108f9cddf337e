"""The compiled loops of a view: weights of the columns before a pass over X, gradients after it."""

import numpy as np

from privfit.engine.exact.grids import FloatArray
from privfit.engine.kernels.compiling import compiled


@compiled(nogil=False)
def unfolded(
    w: FloatArray, center: FloatArray, scale: FloatArray, intercept: bool, bias: float
) -> tuple[FloatArray, float]:
    """Return the weights of x, and the constant, that give the predictions of w.

    With an intercept, the last weight belongs to the bias. The constant is added up from left to right,
    because in a library the order may depend on the addresses of the arrays.
    """
    v = np.empty(len(scale))
    offset = 0.0
    for j in range(len(scale)):
        v[j] = scale[j] * w[j]
        offset += center[j] * v[j]
    return v, bias * w[-1] - offset if intercept else 0.0


@compiled(nogil=False)
def folded(
    sums: FloatArray, lost: FloatArray, center: FloatArray, scale: FloatArray, intercept: bool, bias: float
) -> FloatArray:
    """Return scale * (sums - center * total) per column, and bias * total; total is the last sum.

    The rounding errors `lost` are added at the end. The sums of a dropped column were not rounded, and may
    have any value.
    """
    p = len(scale)
    gradient = np.empty(p + intercept)
    total = sums[p] if intercept else 0.0
    for j in range(p):
        gradient[j] = scale[j] * ((sums[j] - center[j] * total) + lost[j]) if scale[j] > 0.0 else 0.0
    if intercept:
        gradient[p] = bias * total
    return gradient
