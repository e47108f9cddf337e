"""Run cells in parallel processes, write each finished cell to disk at once, and continue stopped runs."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, as_completed, wait
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from privfit.experiments.designs import DATASETS, FOLDS, OPTIONAL, Cell
from privfit.experiments.environment import write_lock
from privfit.experiments.fingerprints import fingerprint
from privfit.experiments.fit import Outcome, fit_cell, table
from privfit.experiments.provenance import Kind, begin, forget, unfit
from privfit.experiments.results import Results

# A worker is one core: `jobs` is then the number of cores that are used.
ONE_THREAD = dict.fromkeys(
    ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)


def run(
    cells: Sequence[Cell],
    out: Path,
    *,
    seed: int,
    jobs: int,
    console: Console,
    records: int | None = None,
    optional: Collection[str] = OPTIONAL,
    replace: bool = False,
) -> dict[Cell, BaseException]:
    """Run the cells that are not finished, and return those that failed with the reason.

    Failed cells are not written, so the next run tries them again. After Ctrl-C the cells in progress finish;
    a second Ctrl-C drops them. Data sets that are `optional` are left out if they cannot be loaded; if
    another one is missing, nothing is run. With `replace`, cells whose rows another version made are run
    again; each old row stays until the new one is written. In a smoke test, tables are cut to their first
    `records`, and rows have no fingerprint, because fingerprints take longer than the fits.
    """
    tables = {name: Results(out / f"{name}.csv", seed) for name in dict.fromkeys(c.experiment for c in cells)}
    finished = {cell: outcome for results in tables.values() for cell, outcome in results.finished().items()}
    outdated = unfit(out, seed, set(map(_kind_of_rows, cells))) if replace else {}
    for (experiment, algorithm), why in outdated.items():
        console.print(f"Run again: rows of {algorithm} in {experiment}.csv, which {why}.")
    finished = {
        cell: outcome
        for cell, outcome in finished.items()
        if _kind_of_rows(cell) not in outdated or outcome.fingerprint == fingerprint(cell.algorithm)
    }
    todo = _with_data([cell for cell in cells if cell not in finished], finished, optional, records, console)
    failed: dict[Cell, BaseException] = {}
    if not todo:
        return failed
    if records is None:
        begin(todo, out, seed, replacing=outdated)
    else:  # the rows of a smoke test are not results
        write_lock(out)
    done = sum(cell in finished for cell in cells)
    clock = _Clock(finished, todo, jobs)
    waiting = iter(todo)
    running: dict[Future[Outcome], Cell] = {}
    with ExitStack() as opened:
        if records is None:
            opened.callback(forget, out, seed)
        for results in tables.values():
            opened.enter_context(results.appending())
        progress = opened.enter_context(_bar(console))
        task = progress.add_task("cells", total=done + len(todo), completed=done, left="")
        pool = opened.enter_context(_workers(jobs))

        def record(future: Future[Outcome]) -> None:
            cell = running.pop(future)
            error = future.exception()
            if error is not None:
                if str(error) not in map(str, failed.values()):  # each message is shown once
                    console.print(f"Failed: {describe(cell)}: {type(error).__name__}: {error}")
                failed[cell] = error
                clock.tick(cell, None)
            else:
                stamp = "" if records is not None else fingerprint(cell.algorithm)
                tables[cell.experiment].append(cell, future.result()._replace(fingerprint=stamp))
                clock.tick(cell, future.result().seconds)
            progress.update(task, advance=1, left=f"about {timedelta(seconds=round(clock.left()))} left")

        try:
            while True:
                # at most `jobs` at a time, because submitted cells cannot be cancelled
                while len(running) < jobs and (cell := next(waiting, None)) is not None:
                    running[pool.submit(fit_cell, cell, seed, records)] = cell
                if not running:
                    return failed
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    record(future)
        except KeyboardInterrupt:
            console.print("Stopping after the cells in progress; press Ctrl-C again to drop them.")
            try:
                for future in as_completed(list(running)):
                    record(future)
            except KeyboardInterrupt:
                for child in multiprocessing.active_children():
                    child.kill()
            raise


def _kind_of_rows(cell: Cell) -> Kind:
    return cell.experiment, cell.algorithm


def describe(cell: Cell) -> str:
    """Return the name of a cell for messages."""
    return ", ".join(f"{name} {value}" for name, value in cell._asdict().items() if value is not None)


def _with_data(
    cells: Sequence[Cell],
    finished: Mapping[Cell, Outcome],
    optional: Collection[str],
    records: int | None,
    console: Console,
) -> list[Cell]:
    """Download missing data sets; leave out optional ones that are not available, with the reason."""
    missing = set()
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        try:
            size = len(table(dataset).target[:records])
        except OSError as error:
            if dataset not in optional:
                raise OSError(f"{DATASETS[dataset]} cannot be had: {error}") from error
            missing.add(dataset)
            console.print(f"{DATASETS[dataset]} is left out: {error}")
        else:
            _check_size(dataset, size, finished)
    return [cell for cell in cells if cell.dataset not in missing]


def _check_size(dataset: str, size: int, finished: Mapping[Cell, Outcome]) -> None:
    """Refuse to mix fits on the full KDDCup99 with fits on a tenth of it."""
    possible = {size - size // FOLDS, size - size // FOLDS - 1}
    for cell, outcome in finished.items():
        if cell.dataset == dataset and outcome.records not in possible:
            raise ValueError(
                f"{cell.experiment}.csv holds fits of {DATASETS[dataset]} on {outcome.records:,} records and "
                f"the table here has {size:,}: give another directory as --out."
            )


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=console,
    )


@contextmanager
def _workers(jobs: int) -> Iterator[ProcessPoolExecutor]:
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)  # read by each worker when it is spawned
    try:
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, mp_context=spawn, initializer=_start_worker) as pool:
            yield pool
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _start_worker() -> None:
    """Leave Ctrl-C to the parent process, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None  # this runs in workers only
    parent.join()
    os._exit(1)  # a killed parent cannot end its workers, and their results are not needed any more


class _Clock:
    """Estimates the time of the remaining cells from finished ones of their kind."""

    def __init__(self, finished: Mapping[Cell, Outcome], todo: Sequence[Cell], jobs: int) -> None:
        self._jobs = jobs
        self._left = Counter(map(_kind, todo))
        self._done: Counter[_Kind] = Counter()
        self._seconds: defaultdict[_Kind, float] = defaultdict(float)
        for cell, outcome in finished.items():
            self._count(cell, outcome.seconds)

    def tick(self, cell: Cell, seconds: float | None) -> None:
        """Count a cell as finished, with its seconds if it did not fail."""
        self._left[_kind(cell)] -= 1
        if seconds is not None:
            self._count(cell, seconds)

    def left(self) -> float:
        """Return the estimated remaining seconds."""
        means = {kind: self._seconds[kind] / done for kind, done in self._done.items()}
        typical = sum(means.values()) / max(len(means), 1)
        return sum(count * means.get(kind, typical) for kind, count in self._left.items()) / self._jobs

    def _count(self, cell: Cell, seconds: float) -> None:
        self._done[_kind(cell)] += 1
        self._seconds[_kind(cell)] += seconds


_Kind = tuple[str, str, str, float]


def _kind(cell: Cell) -> _Kind:
    return cell.dataset, cell.loss, cell.algorithm, cell.epsilon
