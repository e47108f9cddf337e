"""What Spark's Python workers do: they encode partitions, keep parts in memory, and answer questions.

These are functions for `mapInArrow`. A partition of encoded rows is a pickled part, cut into cells. Spark
decides which of its Python workers gets which partition, and sending a partition takes longer than a pass
over it. So a worker keeps the parts that it was sent, and a question is a job without rows, in which each
worker answers for the parts that it keeps.

A function reads all rows that it gets, because Spark ends a worker that left some, with all that it keeps.
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
# Arrow's columns of bytes end at 2 GiB, and Spark puts up to 10,000 rows into one
CELL_BYTES = 2**17


@dataclass(frozen=True)
class Encode:
    """Makes a part of the rows of a partition.

    Parameters
    ----------
    names : tuple of str
        What the columns are called.
    empty : pyarrow.Table
        A table of these columns without rows, of which a partition without rows is made.
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

    Spark Connect finds persisted rows by the plan that they are the answer of, in which functions are
    compared by their bytes, and it pickles them for each job anew.
    """

    function: bytes = field(repr=False)

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Do what the function does."""
        found: Iterator[Any] = pickle.loads(self.function)(batches)
        return found


@dataclass
class _Fit:
    """What this worker keeps for one fit."""

    parts: dict[int, KeptPart | Failed] = field(default_factory=dict)
    last_round: int = -1


_FITS: dict[bytes, _Fit] = {}
_WORKER = secrets.token_bytes(8)  # workers are forked before this is imported


@dataclass(frozen=True)
class Ask:
    """Asks a worker for the answers of those parts that it keeps.

    Parameters
    ----------
    fit : bytes
        Which fit asks.
    round : int
        The number of the job. A worker that has several of its tasks answers in the first one.
    request : Request or None
        What is asked; None: what the parts are.
    asked : frozenset of int
        The parts that have to answer.
    keepers : mapping
        Which worker keeps each part. A part that was sent to another one meanwhile is forgotten.
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
        """Yield the answers of the parts that are here, whatever the rows say."""
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
        """Yield the answers of the parts whose cells these are."""
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
        """Yield the numbers of the parts that were here."""
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
