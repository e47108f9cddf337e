"""Running tasks on all cores.

The compiled loops release the GIL, so ordinary threads do. Unlike numba's own layers they may be used from
several threads at once and after a fork, and they leave the process's OpenMP alone.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from numba import config

Task = Callable[[], Any]

_pool: ThreadPoolExecutor | None = None


def n_threads() -> int:
    """Return how many threads to use: NUMBA_NUM_THREADS, by default the cores this process may use."""
    return int(vars(config)["NUMBA_NUM_THREADS"])


def run(tasks: Sequence[Task]) -> None:
    """Run tasks, several at a time and in any order. Raise what they raise."""
    remaining = iter(tasks)

    def work() -> None:
        for task in remaining:
            task()

    helpers: list[Future[None]] = [_helpers().submit(work) for _ in range(min(n_threads(), len(tasks)) - 1)]
    try:
        work()  # the caller works, too, so that tasks end even if the helpers are busy with another's
    finally:
        begun = [helper for helper in helpers if not helper.cancel()]
        wait(begun)
    for helper in begun:
        helper.result()


def _helpers() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(max(1, n_threads() - 1), thread_name_prefix="privfit")
    return _pool


def _forget() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    # The parent's threads do not exist in a child, and its locks may be held by one of them.
    os.register_at_fork(after_in_child=_forget)
