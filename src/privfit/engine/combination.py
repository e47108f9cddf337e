"""The joint clip of a record's coefficients."""

import numpy as np

from privfit.engine.exact.grids import FloatArray


def shrunk(values: FloatArray, most: FloatArray | float) -> FloatArray:
    """Return each record's values, one or several, shrunk to a length of at most `most`, up to rounding.

    A record's result depends on that record alone, to the last bit, because it is computed by operations on
    two numbers, which IEEE 754 rounds correctly. If `most` is NaN, nothing is shrunk. Values so large that
    their length overflows become 0.
    """
    if values.ndim == 1:
        return np.copysign(np.where(most < np.abs(values), most, np.abs(values)), values)
    with np.errstate(all="ignore"):
        largest = np.max(np.abs(values), axis=1)
        squares = np.zeros(len(values))
        for output in values.T:
            squares += (output / largest) ** 2
        lengths = largest * np.sqrt(squares)
        # divide by the length first, because `most` divided by it may underflow
        shorter = (values / lengths[:, None]) * np.reshape(most, (-1, 1))
        short: FloatArray = np.where((most < lengths)[:, None], shorter, values)
    return short
