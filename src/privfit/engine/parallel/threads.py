"""Run tasks on all cores.

The compiled loops release the GIL, so ordinary threads are enough. Unlike numba's threading layers they can
be used from several threads at once and after a fork, and they do not affect OpenMP. A step of a fit takes a
fraction of a millisecond. Futures, and waking threads, would take a large part of that. So helper threads
wait at a queue, and waiting threads spin for a moment before they sleep (`privfit.engine.kernels.watching`).
"""

import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from numba import config

from privfit.engine.kernels.watching import Flag, flag, watch

Task = Callable[[], Any]

LOOKS = 2**19  # reads of a flag before a thread sleeps: about a fifth of a millisecond
GRACE = 2**14  # further reads, until the caller is in its own compiled loop and has released the GIL


class _Share:
    """The work for one helper, which can be taken back until a helper begins it."""

    def __init__(self, work: Task) -> None:
        self.work: Task | None = work
        self.error: BaseException | None = None
        self.taken, self.asleep, self.done = threading.Lock(), threading.Lock(), flag()
        self.asleep.acquire()

    def run(self) -> Flag:
        """Do the work, and return the flag to set when it is done and the GIL is free."""
        if self.taken.acquire(blocking=False):
            try:
                assert self.work is not None
                self.work()
            except BaseException as error:  # raised in the thread that waits
                self.error = error
            finally:
                self.work = None  # so that an idle helper keeps no reference to its last work
                self.asleep.release()
        return self.done

    def finish(self) -> None:
        """Take the work back, or wait for its end and raise its exception."""
        if not self.taken.acquire(blocking=False):
            watch(flag(), self.done, 0, LOOKS, 0)
            self.asleep.acquire()
        self.work = None
        if self.error is not None:
            raise self.error


class _Helpers:
    """Threads that take shares from one queue."""

    def __init__(self) -> None:
        self.shares: queue.SimpleQueue[_Share] = queue.SimpleQueue()
        self.handed_over = flag()  # changes with every share
        for number in range(max(1, n_threads() - 1)):
            with suppress(RuntimeError):  # no memory for another thread: whoever hands over works alone
                threading.Thread(target=self._serve, name=f"privfit-{number}", daemon=True).start()

    def hand_over(self, share: _Share) -> None:
        self.shares.put(share)
        self.handed_over[0] += 1

    def _serve(self) -> None:
        done = flag()
        while True:
            seen = int(self.handed_over[0])
            watch(done, self.handed_over, seen, LOOKS if self.shares.empty() else 0, GRACE)
            done = self.shares.get().run()


_helpers: _Helpers | None = None
_here = threading.local()


def n_threads() -> int:
    """Return how many threads to use: NUMBA_NUM_THREADS, by default the cores this process may use."""
    return 1 if getattr(_here, "alone", False) else int(vars(config)["NUMBA_NUM_THREADS"])


@contextmanager
def one_thread() -> Iterator[None]:
    """Use only the calling thread, for workers, of which there is one for each core.

    Then no work is handed over, so no thread waits.
    """
    before = getattr(_here, "alone", False)
    _here.alone = True
    try:
        yield
    finally:
        _here.alone = before


def run(tasks: Sequence[Task]) -> None:
    """Run tasks, several at a time and in any order. Raise their exceptions."""
    remaining = iter(tasks)

    def work() -> None:
        for task in remaining:
            task()

    shares = [_Share(work) for _ in range(min(n_threads(), len(tasks)) - 1)]
    for share in shares:
        _at_work().hand_over(share)
    try:
        work()  # the caller works, too, so that its tasks end even if the helpers are busy with others
    finally:
        for share in shares:
            share.finish()


def _at_work() -> _Helpers:
    """Return the helpers, which are started when they are first needed."""
    global _helpers
    if _helpers is None:
        _helpers = _Helpers()
    return _helpers


def _forget() -> None:
    global _helpers
    _helpers = None


if hasattr(os, "register_at_fork"):
    # a forked child does not have the parent's threads, and they may have held its locks
    os.register_at_fork(after_in_child=_forget)
