"""Parts of a table on the workers of a Dask cluster (Q39 in docs/privacy.md).

Parts are results of tasks, so Dask computes them again if a worker dies. Questions are not tasks: the
scheduler passes them to the workers, and passes the answers back. This takes a fifth of the time of a task.

Nothing is raised on a worker, because Dask writes the arguments of a function that raises into its log.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from privfit.engine.parallel.worker_parts import (
    Answer,
    Columns,
    Failed,
    WorkerParts,
    answer,
    attempted,
    lost,
)
from privfit.engine.parts import Request

Divide = Callable[[Columns, int], list[Any]]  # divides blocks into this many pieces

PATIENCE = 60  # seconds without any worker, or without an answer, after which a fit ends
PAUSE = 0.05  # seconds until parts are asked again if their worker did not answer


def make_pieces(divide: Divide, count: int, *columns: Sequence[Any]) -> list[Any] | Failed:
    """Return the records of some blocks in so many pieces, on a worker."""
    pieces: list[Any] | Failed = attempted(lambda: divide(columns, count))
    return pieces


def piece_of(pieces: list[Any] | Failed, number: int) -> Any:
    """Return one of several pieces, on the worker that made them."""
    return pieces if isinstance(pieces, Failed) else pieces[number]


async def answers_here(
    keys: Mapping[int, Any], request: Request | None, dask_worker: Any = None
) -> dict[int, Answer]:
    """Return the answers of the parts that this worker keeps, by number; each uses one of its threads."""
    own = {k: dask_worker.data[key] for k, key in keys.items() if key in dask_worker.data}
    loop = asyncio.get_running_loop()
    found = (
        loop.run_in_executor(dask_worker.executor, answer, part, request and request.of_part(k))
        for k, part in own.items()
    )
    return dict(zip(own, await asyncio.gather(*found), strict=True))


class DaskParts(WorkerParts):
    """Parts on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    made : sequence of Future
        What `make_part` returned on the workers.
    blocks : sequence of sequence of int
        The numbers of the blocks of rows that each part was made of, ascending.

    Raises
    ------
    ValueError
        If a part could not be made of its rows.
    PartsLost
        If workers died and their parts could not be computed again.
    """

    def __init__(self, client: Any, made: Sequence[Any], blocks: Sequence[Sequence[int]]) -> None:
        self.client, self.made = client, list(made)
        self._places: dict[int, str] = {}
        self._read(blocks)

    def _asked(self, request: Request | None, parts: Sequence[int]) -> dict[int, Answer]:
        """Ask until each part has answered, and keep one answer of each."""
        found: dict[int, Answer] = {}
        patience = time.monotonic() + PATIENCE
        while missing := [k for k in parts if k not in found]:
            for k in missing:
                if self.made[k].status != "finished":  # a call to a dead worker ends after 30 seconds
                    self._places.pop(k, None)
            if not self._places.keys() >= set(missing):
                began = time.monotonic()
                self._find(missing)
                patience += time.monotonic() - began  # the time to compute parts again does not count
            keys = {k: self.made[k].key for k in missing}
            workers = {self._places[k] for k in missing if k in self._places}
            replies = replies_of(self.client, workers, keys, request) if workers else []
            for reply in replies:
                found |= {k: each for k, each in reply.items() if k in keys}
            for k in missing:
                if k not in found:
                    self._places.pop(k, None)  # its worker is gone, or no longer has the part
            if len(found) < len(parts):
                if time.monotonic() > patience:
                    raise lost("no answer")
                time.sleep(PAUSE)
        return found

    def _find(self, parts: Sequence[int]) -> None:
        """Wait until these parts exist, and find their workers."""
        futures = {k: self.made[k] for k in parts}
        problem = problem_with(self.client, list(futures.values()))
        if problem is not None:
            raise lost(problem)
        workers = self.client.who_has(list(futures.values()))
        self._places |= {k: holders[0] for k, each in futures.items() if (holders := workers.get(each.key))}


def replies_of(
    client: Any, workers: Collection[str], keys: Mapping[int, Any], request: Request | None
) -> list[dict[int, Answer]]:
    """Return the replies of these workers; workers that are gone do not reply."""
    replies = client.run(answers_here, keys, request, workers=list(workers), on_error="return")
    return [reply for reply in replies.values() if isinstance(reply, dict)]


def problem_with(client: Any, futures: Sequence[Any]) -> str | None:
    """Wait until all futures are finished, and return None; or return in a word why one failed.

    A future is "lost" while the cluster computes again what it had lost.
    """
    import distributed  # imported late: it is an extra

    wait: Any = distributed.wait
    while True:
        try:
            wait(list(futures), timeout=PATIENCE)
            status = {future.status: future for future in futures}
            if "error" in status:
                return type(status["error"].exception()).__name__
            if "cancelled" in status:
                return "cancelled"
            if status.keys() <= {"finished"}:
                return None
        except TimeoutError:
            if not client.scheduler_info(n_workers=-1)["workers"]:
                return "no worker"
        except Exception as error:  # the cluster raises exceptions of its own classes
            return type(error).__name__


def losses(client: Any) -> frozenset[float]:
    """Return when the cluster lost what it had computed already, and had to compute it again."""
    events = client.get_events("all")
    return frozenset(
        when for when, event in events if isinstance(event, dict) and event.get("lost-computed-tasks")
    )


def until_released(client: Any, keys: Collection[Any]) -> None:
    """Wait until this client wants none of these results any more, which it says a moment after their end."""
    patience = time.monotonic() + PATIENCE
    while not client.futures.keys().isdisjoint(keys) and time.monotonic() < patience:
        time.sleep(PAUSE)
