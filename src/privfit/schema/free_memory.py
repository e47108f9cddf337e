"""Free memory, which allocators keep for their process."""

from __future__ import annotations

import ctypes
from contextlib import suppress


def give_back_free_memory() -> None:
    """Give free memory of Arrow, and of the C library if it is glibc, back to the system.

    Threads that read a table in batches leave more than 100 MB of free pieces, which the large arrays of a
    fit do not fit into.
    """
    import pyarrow

    pyarrow.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):  # other C libraries; Windows
        ctypes.CDLL(None).malloc_trim(0)
