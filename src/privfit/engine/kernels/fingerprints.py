"""The compiled loop of fingerprints: sums of words times secret keys."""

import numpy as np
from numpy.typing import NDArray

from privfit.engine.kernels.compiling import compiled


@compiled()
def fingerprints(words: NDArray[np.uint32], keys: NDArray[np.uint64], out: NDArray[np.uint64]) -> None:
    """Write the fingerprint of each piece of as many words as there are keys; the last may be shorter.

    Two different pieces of one length have the same fingerprint with a probability of at most 2**-33 over
    the keys: with other words fixed, the words that differ, by d = odd * 2**t for a t < 32, leave at most
    2**t of the 2**64 values of their key.
    """
    size = len(keys)
    for piece in range(len(out)):
        # a slice, so that numba need not test for negative subscripts
        own = words[piece * size : (piece + 1) * size]
        total = np.uint64(0)
        for i in range(len(own)):
            total += np.uint64(own[i]) * keys[i]
        out[piece] = total
