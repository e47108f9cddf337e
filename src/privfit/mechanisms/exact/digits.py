"""Uniform digits: a stream cipher expands entropy of the operating system.

Each call of the secure source makes a `Digits` of its own and drops it when it returns. Nothing is kept from
one call to the next, so there is no state that threads could share, or that a forked process could inherit
and use a second time.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from cryptography.exceptions import UnsupportedAlgorithm as UnsupportedAlgorithm
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import NDArray

Words = NDArray[np.uint32]

BITS = 32
BASE = 1 << BITS
# digits of one key; with 256 KiB the time to make a key hardly counts, and the digits fit into the cache
MOST_DIGITS = 1 << 16
_ZEROS = bytes(4 * MOST_DIGITS)


class Digits:
    """A sequence of independent uniform digits in base 2^32.

    Compiled samplers read `array` from `position` on and set `position` to the first digit that they did not
    use; others call `next` and `take`. `refill` drops digits that were not read. That does no harm, because
    whether they are dropped does not depend on them.

    Parameters
    ----------
    expected : int
        About how many digits will be read. The array holds that many, or `MOST_DIGITS` if that is less.
    fill : callable
        Overwrites an array with fresh digits. Tests pass digits of their own.
    """

    def __init__(self, expected: int, fill: Callable[[Words], None] | None = None) -> None:
        # a power of two, so that a compiled sampler can wrap around with a mask
        size = 1 << (max(1, min(expected, MOST_DIGITS)) - 1).bit_length()
        self._fill = fill or keystream
        self.array: Words = np.zeros(size, dtype=np.uint32)
        self.refill()

    @property
    def left(self) -> int:
        """How many digits of the array have not been read."""
        return self.array.size - self.position

    def refill(self) -> None:
        """Overwrite the array with fresh digits."""
        self._fill(self.array)
        self.position = 0

    def next(self) -> int:
        """Return one digit."""
        if not self.left:
            self.refill()
        self.position += 1
        return int(self.array[self.position - 1])

    def take(self, count: int) -> Words:
        """Return that many digits."""
        taken = np.empty(count, dtype=np.uint32)
        done = 0
        while done < count:
            if not self.left:
                self.refill()
            step = min(count - done, self.left)
            taken[done : done + step] = self.array[self.position : self.position + step]
            done, self.position = done + step, self.position + step
        return taken

    def __enter__(self) -> Digits:
        return self

    def __exit__(self, *_: object) -> None:
        self.array.fill(0)


def keystream(array: Words) -> None:
    """Overwrite an array with the keystream of ChaCha20 under a key that is used only once.

    The key is overwritten afterwards, and OpenSSL clears its own copy. `os.urandom` returns the key in an
    immutable string, which Python cannot overwrite; it is released at once.
    """
    entropy = bytearray(os.urandom(40))
    key, nonce = entropy[:32], bytes(8) + entropy[32:]  # the nonce's first half is the block counter
    encryptor = Cipher(ChaCha20(key, nonce), mode=None).encryptor()
    encryptor.update_into(memoryview(_ZEROS)[: array.nbytes], array.data.cast("B"))
    encryptor.finalize()
    entropy[:], key[:] = bytes(40), bytes(32)
