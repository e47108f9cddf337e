import gc
import multiprocessing
import os
import threading
import time
import weakref
from functools import partial

import pytest

from privfit.engine.exact.grids import MAX_RECORDS
from privfit.engine.parallel import threads
from privfit.engine.parallel.chunks import chunk_size, cut, shares


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 100])
def test_every_call_is_made_once(n_threads: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "n_threads", lambda: n_threads)
    visited: list[int] = []
    threads.run([partial(visited.append, index) for index in range(count)])
    assert sorted(visited) == list(range(count))


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_records", [0, 1, 10**6, MAX_RECORDS])
def test_no_loop_is_given_more_rows_than_it_adds_up_exactly(n_records: int, n_threads: int) -> None:
    chunks = list(cut(slice(0, n_records), chunk_size(n_records, 10)))
    given = shares(chunks, n_threads)
    assert [chunk for share in given for chunk in share] == chunks
    assert all(share[-1].stop - share[0].start <= 2**29 for share in given)


def test_an_error_in_a_helper_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    caller = threading.current_thread()
    helper_failed = threading.Event()

    def fail_in_helper() -> None:
        if threading.current_thread() is not caller:
            helper_failed.set()
            raise RuntimeError("helper")
        helper_failed.wait(10)

    with pytest.raises(RuntimeError, match="helper"):
        threads.run([fail_in_helper] * 2)


def test_helpers_keep_nothing_of_what_they_worked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that waits for its next job must not hold on to the records of the last one."""
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    barrier = threading.Barrier(2)

    def visit() -> None:
        barrier.wait(20)  # both threads have one

    kept = weakref.ref(visit)
    threads.run([visit] * 2)
    del visit
    deadline = time.monotonic() + 20
    while kept() is not None and time.monotonic() < deadline:
        time.sleep(0.01)
        gc.collect()
    assert kept() is None


def test_a_call_may_itself_make_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "n_threads", lambda: 3)
    visited: list[int] = []
    threads.run([lambda: threads.run([lambda: visited.append(0)] * 10)] * 10)
    assert len(visited) == 100


def _meet() -> None:
    barrier = threading.Barrier(2)
    threads.run([lambda: barrier.wait(20)] * 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_gets_helpers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    _meet()
    child = multiprocessing.get_context("fork").Process(target=_meet)
    child.start()
    child.join(60)
    assert child.exitcode == 0
