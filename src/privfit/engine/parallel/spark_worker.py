"""The code of Spark's Python workers: they encode partitions, keep parts in memory, and answer questions.

These are functions for `mapInArrow`. A partition of encoded rows is a pickled part that is divided into
cells. Spark decides which of its Python workers gets which partition, and sending a partition takes longer
than a pass over it. So a worker keeps the parts that it received. A question is a job without rows, in which
each worker answers for the parts that it keeps.

A function must read all rows that it gets. Otherwise Spark ends the worker, with all parts that it keeps.
"""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from privfit.engine.parallel.worker_parts import (
    Answer,
    Failed,
    KeptPart,
    Make,
    answer,
    attempted,
    fingerprint,
    make_part,
)
from privfit.engine.parts import Request

ENCODED = "part int, fingerprint binary, cells binary"
ANSWERS = "part int, answer binary"
# Arrow's columns of bytes hold at most 2 GiB, and Spark puts up to 10,000 rows into a column
CELL_BYTES = 2**17


@dataclass(frozen=True)
class Encode:
    """Makes a part from the rows of a partition.

    Parameters
    ----------
    names : tuple of str
        The names of the columns.
    empty : pyarrow.Table
        A table of these columns without rows, for partitions without rows.
    read : callable
        Reads a table of some rows.
    make : callable
        Makes a problem of what was read.
    key : bytes
        The secret key of the fingerprints.
    """

    names: tuple[str, ...]
    empty: Any
    read: Callable[[Any], Any]
    make: Make
    key: bytes = field(repr=False)

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the cells of the part, with its number and its fingerprint."""
        import pyarrow
        from pyspark import TaskContext

        read = [attempted(partial(self.read, self.empty))]
        for batch in batches:
            table = pyarrow.Table.from_batches([batch]).rename_columns(list(self.names))
            read.append(attempted(partial(self.read, table)))
        part = make_part(self.make, self.key, read)
        stamp = part.fingerprint if isinstance(part, KeptPart) else b""
        pickled = pickle.dumps(part, protocol=5)
        number = TaskContext.get().partitionId()
        for start in range(0, len(pickled), CELL_BYTES):
            cell = pickled[start : start + CELL_BYTES]
            yield _batch(part=number, fingerprint=stamp, cells=cell)


@dataclass(frozen=True)
class Pickled:
    """A function that was pickled once.

    Spark Connect finds persisted rows by their plan, in which it compares functions by their bytes, and it
    pickles functions again for each job.
    """

    function: bytes = field(repr=False)

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Call the function."""
        found: Iterator[Any] = pickle.loads(self.function)(batches)
        return found


@dataclass
class _Fit:
    """The parts that this worker keeps for one fit."""

    parts: dict[int, KeptPart | Failed] = field(default_factory=dict)
    last_round: int = -1


_FITS: dict[bytes, _Fit] = {}
_WORKER = secrets.token_bytes(8)  # differs between workers, which are forked before this file is imported


@dataclass(frozen=True)
class Ask:
    """Asks a worker for the answers of the parts that it keeps.

    Parameters
    ----------
    fit : bytes
        Which fit asks.
    round : int
        The number of the job. A worker that has several of its tasks answers in the first one.
    request : Request or None
        The request; None asks for the fingerprints of the parts.
    asked : frozenset of int
        The parts that have to answer.
    keepers : mapping
        The worker that keeps each part. A worker forgets a part that was sent to another worker.
    key : bytes
        The secret key of the fingerprints.
    """

    fit: bytes
    round: int
    request: Request | None
    asked: frozenset[int]
    keepers: Mapping[int, bytes]
    key: bytes = field(repr=False)

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the answers of the parts that this worker keeps; the rows do not matter."""
        for _ in batches:
            pass
        own = _FITS.get(self.fit)
        if own is None or own.last_round == self.round:
            return
        own.last_round = self.round
        own.parts = {k: part for k, part in own.parts.items() if self.keepers.get(k) == _WORKER}
        for number in self.asked & own.parts.keys():
            yield self._answer(number, own.parts[number])

    def _answer(self, number: int, part: KeptPart | Failed) -> Any:
        said = answer(part, self.request and self.request.of_part(number))
        return _batch(part=number, answer=pickle.dumps((_WORKER, said), protocol=5))


@dataclass(frozen=True)
class Send(Ask):
    """Sends parts to workers that do not keep them, and asks them as well."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the answers of the parts whose cells are in these rows."""
        cells: dict[int, list[bytes]] = {}
        for batch in batches:
            for number, cell in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                cells.setdefault(number, []).append(cell)
        own = _FITS.setdefault(self.fit, _Fit())
        for number, pickled in cells.items():
            part = attempted(partial(loaded, b"".join(pickled), self.key))
            own.parts[number] = part
            yield self._answer(number, part)


def loaded(pickled: bytes, key: bytes) -> KeptPart | Failed:
    """Return a part that was encoded, with the fingerprint of the rows that arrived."""
    part: KeptPart | Failed = pickle.loads(pickled)
    if isinstance(part, KeptPart):
        part.fingerprint = fingerprint(part.records, key)
    return part


@dataclass(frozen=True)
class Forget:
    """Ends a fit: its parts are forgotten."""

    fit: bytes

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the numbers of the parts that this worker kept."""
        for _ in batches:
            pass
        for number in _FITS.pop(self.fit, _Fit()).parts:
            yield _batch(part=number, answer=b"")


def _batch(part: int, **cells: bytes) -> Any:
    """Return a batch of one row."""
    import pyarrow

    columns = [pyarrow.array([part], pyarrow.int32())]
    columns += [pyarrow.array([cell], pyarrow.binary()) for cell in cells.values()]
    return pyarrow.RecordBatch.from_arrays(columns, ["part", *cells])


def said_in(rows: Iterable[Any]) -> dict[int, tuple[bytes, Answer]]:
    """Return the first answer of each part in collected rows, and the worker that gave it."""
    found: dict[int, tuple[bytes, Answer]] = {}
    for number, cell in rows:
        found.setdefault(number, pickle.loads(cell))
    return found
