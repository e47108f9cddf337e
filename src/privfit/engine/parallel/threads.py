"""Running tasks on all cores.

The compiled loops release the GIL, so ordinary threads do. Unlike numba's own layers they may be used from
several threads at once and after a fork, and they leave the process's OpenMP alone. A step of a fit takes a
fraction of a millisecond, and futures, and waking sleepers, a good part of that: so helpers wait at a queue,
and whoever waits watches a moment before going to sleep (`privfit.engine.kernels.watching`).
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

LOOKS = 2**19  # before going to sleep: about a fifth of a millisecond
GRACE = 2**14  # further looks, until the caller is in its own compiled loop and has let go of the GIL


class _Share:
    """What one helper is to do, unless it is taken back before the helper gets to it."""

    def __init__(self, work: Task) -> None:
        self.work: Task | None = work
        self.error: BaseException | None = None
        self.taken, self.asleep, self.done = threading.Lock(), threading.Lock(), flag()
        self.asleep.acquire()

    def run(self) -> Flag:
        """Do it, and return what to set when it is done and the GIL is free."""
        if self.taken.acquire(blocking=False):
            try:
                assert self.work is not None
                self.work()
            except BaseException as error:  # handed to whoever waits
                self.error = error
            finally:
                self.work = None  # so that an idle helper keeps nothing of what it worked on
                self.asleep.release()
        return self.done

    def finish(self) -> None:
        """Take it back, or wait for its end and raise what it raised."""
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
    """Use the calling thread alone: for workers, which are as many as there are cores.

    Nobody is handed anything then, so nobody waits or watches either.
    """
    before = getattr(_here, "alone", False)
    _here.alone = True
    try:
        yield
    finally:
        _here.alone = before


def run(tasks: Sequence[Task]) -> None:
    """Run tasks, several at a time and in any order. Raise what they raise."""
    remaining = iter(tasks)

    def work() -> None:
        for task in remaining:
            task()

    shares = [_Share(work) for _ in range(min(n_threads(), len(tasks)) - 1)]
    for share in shares:
        _at_work().hand_over(share)
    try:
        work()  # the caller works, too, so that tasks end even if the helpers are busy with another's
    finally:
        for share in shares:
            share.finish()


def _at_work() -> _Helpers:
    """Return the helpers, who are started when they are first needed."""
    global _helpers
    if _helpers is None:
        _helpers = _Helpers()
    return _helpers


def _forget() -> None:
    global _helpers
    _helpers = None


if hasattr(os, "register_at_fork"):
    # The parent's threads do not exist in a child, and its locks may be held by one of them.
    os.register_at_fork(after_in_child=_forget)
