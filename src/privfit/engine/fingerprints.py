"""Check that numbers in a file have not changed since they were first read (Q37 in docs/privacy.md).

The norm of each row is computed once and remembered. It clips what the record adds to later sums. If the
numbers in the file changed between two passes, rows would be clipped by wrong norms, and no sensitivity bound
would hold.
"""

import os
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privfit.engine.kernels.fingerprints import fingerprints
from privfit.engine.parallel import threads
from privfit.engine.parallel.chunks import cut

WORDS_PER_PIECE = 2**14  # number of words, of four bytes each, in a piece that has a fingerprint
PIECES_AT_ONCE = 2**10  # number of pieces that a thread reads at a time


class CacheChanged(OSError):
    """The encoded table on disk has changed."""


class Fingerprints:
    """The fingerprints of a contiguous array: one number for each piece of 64 KiB.

    The keys are secret and drawn anew for each array. The probability that a changed piece goes unnoticed is
    at most 2**-33.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self._words = array.reshape(-1).view(np.uint32)
        self._per_entry = array.itemsize // self._words.itemsize
        self._keys = np.frombuffer(os.urandom(8 * WORDS_PER_PIECE), np.uint64).copy()
        self._known = np.empty(-(-len(self._words) // WORDS_PER_PIECE), np.uint64)

        def fill(pieces: slice) -> None:
            self._known[pieces] = self._found(pieces.start, pieces.stop)

        every = slice(0, len(self._known))
        threads.run([partial(fill, pieces) for pieces in cut(every, PIECES_AT_ONCE)])

    def check(self, start: int, stop: int) -> None:
        """Raise `CacheChanged` if the pieces that hold these entries have changed."""
        if stop <= start:
            return
        first = start * self._per_entry // WORDS_PER_PIECE
        last = -(-stop * self._per_entry // WORDS_PER_PIECE)
        if not np.array_equal(self._found(first, last), self._known[first:last]):
            raise CacheChanged(
                "The encoded table on disk has changed since it was written, so the fit has ended and "
                "released nothing more; look for a fault of the disk, or for a program that writes to files "
                "of this one, and fit again."
            )

    def check_each(self, starts: NDArray[np.integer], stops: NDArray[np.integer]) -> None:
        """Check several ranges of entries, each piece once."""
        pieces = np.zeros(len(self._known) + 1, np.int64)
        np.add.at(pieces, starts * self._per_entry // WORDS_PER_PIECE, 1)
        np.add.at(pieces, -(-stops * self._per_entry // WORDS_PER_PIECE), -1)
        entries = WORDS_PER_PIECE // self._per_entry  # entries of a piece
        for piece in np.flatnonzero(np.cumsum(pieces)).tolist():
            self.check(piece * entries, piece * entries + 1)

    def _found(self, first: int, last: int) -> NDArray[np.uint64]:
        found = np.empty(last - first, np.uint64)
        fingerprints(self._words[first * WORDS_PER_PIECE : last * WORDS_PER_PIECE], self._keys, found)
        return found
