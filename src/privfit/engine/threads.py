"""Running calls, one for every part of the records, on all cores.

The compiled loops release the GIL, so ordinary threads do. Unlike numba's own layers they may be used
from several threads at once and after a fork, and they leave the process's OpenMP alone. A step of a fit
takes less than a millisecond, and waking a thread a good part of that, so whoever waits for another thread
here watches for it a moment before going to sleep.
"""

import itertools
import os
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import config, njit
from numpy.typing import NDArray

from privfit.intrinsics import peek, poke

Call = Callable[[], Any]
Flag = NDArray[np.int64]

GLANCES = 2**19  # before going to sleep: about a fifth of a millisecond
# More glances, while the caller gets to its own compiled loop: until then it has the GIL, and waiting for
# that is sleeping, too.
UNTIL_STARTED = 2**14


class _Job:
    """Work for a helper, unless it is withdrawn before one gets to it."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.work = work
        self.claims = itertools.count()  # whoever takes the 0, which one thread alone can, decides
        self.done = _flag()
        self.asleep = threading.Lock()
        self.asleep.acquire()
        self.error: BaseException | None = None

    def run(self) -> Flag:
        """Do it, and return what to set when it is done and the GIL is free."""
        if next(self.claims) == 0:
            try:
                self.work()
            except BaseException as error:
                self.error = error
            finally:
                self.asleep.release()
        return self.done

    def finish(self) -> BaseException | None:
        """Withdraw the job, or wait for its end and return what it raised."""
        if next(self.claims) > 0:
            watch(_flag(), self.done, 0, GLANCES, 0)
            self.asleep.acquire()
        return self.error


class _Helpers:
    """Threads that take jobs from one queue."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self.posted = _flag()  # changes with every job
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
        done = _flag()
        while True:
            seen = int(self.posted[0])
            watch(done, self.posted, seen, GLANCES if self.jobs.empty() else 0, UNTIL_STARTED)
            done = self.jobs.get().run()


def _flag() -> Flag:
    return np.zeros(1, np.int64)


@njit(cache=True, nogil=True)
def watch(done: Flag, number: Flag, seen: int, glances: int, grace: int) -> None:
    """Set `done`, then look at a number until it has changed, but not for ever. The GIL is free meanwhile."""
    poke(done, 1)
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


def run(tasks: Sequence[Sequence[Call]]) -> None:
    """Make the calls of every task in turn; tasks in any order, several at a time. Raise what they raise."""
    remaining = iter(tasks)

    def work() -> None:
        for calls in remaining:
            for call in calls:
                call()

    n_helpers = min(n_threads(), len(tasks)) - 1
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
