"""Running one function on every chunk of the records, on all cores.

The compiled loops release the GIL, so ordinary threads do. Unlike numba's own layers they may be used
from several threads at once and after a fork, and they leave the process's OpenMP alone.
"""

import itertools
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from numba import config

_lock = threading.Lock()
_executor: ThreadPoolExecutor | None = None


def _reset() -> None:
    global _lock, _executor
    _lock, _executor = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    # The parent's threads do not exist in a child, and its lock may be held by one of them.
    os.register_at_fork(after_in_child=_reset)


def _helpers() -> ThreadPoolExecutor:
    global _executor
    with _lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(max(1, n_threads() - 1), "privfit")
        return _executor


def n_threads() -> int:
    """Return how many threads to use: NUMBA_NUM_THREADS, by default the cores this process may use."""
    return int(vars(config)["NUMBA_NUM_THREADS"])


def for_each(function: Callable[[int], None], count: int) -> None:
    """Call function(0) .. function(count - 1), in any order, several at a time; raise what they raise."""
    remaining = itertools.count()

    def work() -> None:
        while (index := next(remaining)) < count:
            function(index)

    futures = [_helpers().submit(work) for _ in range(min(n_threads(), count) - 1)]
    try:
        work()
    finally:
        # A helper that never got to start is not needed any more; one that did may still be in its chunk.
        running = [future for future in futures if not future.cancel()]
        for future in running:
            future.result()
