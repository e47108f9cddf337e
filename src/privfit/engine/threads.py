"""Running one function on every part of the records, on all cores.

The compiled loops release the GIL, so ordinary threads do. Unlike numba's own layers they may be used
from several threads at once and after a fork, and they leave the process's OpenMP alone. A step of a fit
takes less than a millisecond, and waking a thread a good part of that, so whoever waits for another thread
here watches for it a moment before going to sleep.
"""

import itertools
import os
import queue
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, njit

from privfit.intrinsics import peek

GLANCES = 2**18  # before going to sleep: about a tenth of a millisecond
# More glances, while the other thread lets go of the GIL, for waiting for that is sleeping too. A helper has
# finished in no time; a caller has first to get to its own compiled loop.
UNTIL_FINISHED, UNTIL_STARTED = 2**14, 3 * 2**14


class _Job:
    """Work for a helper, unless it is withdrawn before one gets to it."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.work = work
        self.claims = itertools.count()  # whoever takes the 0, which one thread alone can, decides
        self.done = np.zeros(1, np.int64)
        self.asleep = threading.Lock()
        self.asleep.acquire()
        self.error: BaseException | None = None

    def run(self) -> None:
        if next(self.claims) == 0:
            try:
                self.work()
            except BaseException as error:
                self.error = error
            finally:
                self.done[0] = 1
                self.asleep.release()

    def finish(self) -> BaseException | None:
        """Withdraw the job, or wait for its end and return what it raised."""
        if next(self.claims) > 0:
            watch(self.done, 0, GLANCES, UNTIL_FINISHED)
            self.asleep.acquire()
        return self.error


class _Helpers:
    """Threads that take jobs from one queue."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self.posted = np.zeros(1, np.int64)  # changes with every job
        self.n_threads = 0
        self.lock = threading.Lock()

    def post(self, job: _Job) -> None:
        self.jobs.put(job)
        self.posted[0] += 1

    def hire(self, count: int) -> None:
        """Have at least so many threads."""
        if self.n_threads < count:
            with self.lock:
                for _ in range(count - self.n_threads):
                    threading.Thread(target=self._serve, name="privfit", daemon=True).start()
                    self.n_threads += 1

    def _serve(self) -> None:
        while True:
            seen = int(self.posted[0])
            if self.jobs.empty():
                watch(self.posted, seen, GLANCES, UNTIL_STARTED)
            self.jobs.get().run()


@njit(cache=True, nogil=True)
def watch(number: Any, seen: int, glances: int, grace: int) -> None:
    """Look at a number until it has changed, but not for ever."""
    for _ in range(glances):
        if peek(number) != seen:
            break
    for _ in range(grace):
        peek(number)


_crew = _Helpers()


def _reset() -> None:
    global _crew
    _crew = _Helpers()


if hasattr(os, "register_at_fork"):
    # The parent's threads do not exist in a child, and its locks may be held by one of them.
    os.register_at_fork(after_in_child=_reset)


def n_threads() -> int:
    """Return how many threads to use: NUMBA_NUM_THREADS, by default the cores this process may use."""
    return int(vars(config)["NUMBA_NUM_THREADS"])


def for_each(function: Callable[[int], None], count: int) -> None:
    """Call function(0) .. function(count - 1), in any order, several at a time; raise what they raise."""
    remaining = itertools.count()

    def work() -> None:
        while (index := next(remaining)) < count:
            function(index)

    n_helpers = min(n_threads(), count) - 1
    crew = _crew
    crew.hire(n_helpers)
    jobs = [_Job(work) for _ in range(n_helpers)]
    for job in jobs:
        crew.post(job)
    try:
        work()
    finally:
        errors = [error for job in jobs if (error := job.finish()) is not None]
    if errors:
        raise errors[0]
