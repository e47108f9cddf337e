"""Parts of a table on the workers of a cluster of any kind (Q39 in docs/privacy.md).

A worker keeps the rows of a part, and everything that is derived from them. The driver sends questions and
gets back sums, one small array for each part. Errors are returned, not raised, because clusters write
exceptions, and some of them the arguments of the function, into their logs.
"""

from __future__ import annotations

import hashlib
import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from privfit.engine.bounded import Sums
from privfit.engine.fingerprints import WORDS_PER_PIECE
from privfit.engine.kernels.fingerprints import fingerprints
from privfit.engine.parallel import threads
from privfit.engine.parts import Part, PartsLost, Request, check_total, stretches_of
from privfit.engine.problem import Problem

# for X, y and so on: the values of some blocks; or the pieces of all blocks
Columns = Sequence[Sequence[Any]]
Make = Callable[[Columns], tuple[Problem, Sequence[int]]]

FINGERPRINT_BYTES = 16
NO_RECORDS = "Found array with 0 sample(s): the table has no records."  # scikit-learn's words


class Answer(NamedTuple):
    """The result of a worker: sums, or an error, and the fingerprint of the part."""

    fingerprint: bytes
    sizes: tuple[int, ...] = ()
    sums: Sums | None = None
    refusal: str | None = None


class Failed:
    """Stands for a part that could not be computed."""

    def __init__(self, refusal: str) -> None:
        self.refusal = refusal

    def __repr__(self) -> str:
        return "<part that could not be computed>"


class KeptPart(Part):
    """A part with the fingerprint of its records, and with the number of records of each of its blocks."""

    def __init__(self, records: Problem, sizes: Sequence[int], key: bytes) -> None:
        super().__init__(records)
        self.sizes, self.fingerprint = tuple(sizes), fingerprint(records, key)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"sizes": self.sizes, "fingerprint": self.fingerprint}

    def __sizeof__(self) -> int:  # Dask moves data to other workers depending on this size
        return sum(array.nbytes for array in arrays_of(self.records)) + object.__sizeof__(self)


def arrays_of(records: Problem) -> list[np.ndarray[Any, Any]]:
    """Return the arrays of the records, in a fixed order."""
    X = records.table.layout.take(slice(None))
    features = [X.data, X.indices, X.indptr] if issparse(X) else [X]
    beside = [records.targets, records.weights, None if records.persons is None else records.persons.starts]
    return [*features, *(array for array in beside if array is not None)]


def fingerprint(records: Problem, key: bytes) -> bytes:
    """Return a keyed hash of the rows in their order, and of the kind of machine and the versions.

    The probability that other rows, or the same rows in another order, have the same hash is at most 2**-33:
    pieces of the arrays are multiplied by secret numbers, like those of a table on disk, and the sums are
    hashed. Machines of different kinds may round the last bit of a record's share differently. So if a part
    moves to another kind of machine, its fingerprint changes.
    """
    import llvmlite.binding  # imported late: only workers need it

    versions = [metadata.version(name) for name in ("numpy", "numba", "privfit")]
    kind = platform.machine(), llvmlite.binding.get_host_cpu_name(), *versions
    found = hashlib.blake2b(repr(kind).encode(), digest_size=FINGERPRINT_BYTES, key=key)
    keys = np.frombuffer(hashlib.shake_256(key).digest(8 * WORDS_PER_PIECE), dtype=np.uint64).copy()
    for array in arrays_of(records):
        words = np.ascontiguousarray(array).reshape(-1).view(np.uint32)
        sums = np.empty(-(-len(words) // WORDS_PER_PIECE), dtype=np.uint64)
        fingerprints(words, keys, sums)
        found.update(f"{array.shape} {array.dtype} ".encode())
        found.update(sums.data)
    return found.digest()


# -- on a worker -------------------------------------------------------------------------------------------


def attempted(read: Callable[[], Any]) -> Any:
    """Return the result of a function on one thread of a worker, or `Failed` with the error."""
    try:
        with threads.one_thread():
            return read()
    except Exception as error:  # if it were raised on a worker, it would be logged
        problem = str(error) if is_ours(error) else _unreadable(error)
    return Failed(problem)


def make_part(make: Make, key: bytes, *columns: Sequence[Any]) -> KeptPart | Failed:
    """Return a part of blocks of rows, or of pieces of all blocks, on a worker."""
    failed = next((each for column in columns for each in column if isinstance(each, Failed)), None)
    made: KeptPart | Failed = failed or attempted(lambda: KeptPart(*make(columns), key))
    return made


def answer(part: KeptPart | Failed, request: Request | None) -> Answer:
    """Return the answer of a part, on its worker; without a request, its fingerprint."""
    if isinstance(part, Failed):
        return Answer(b"", refusal=part.refusal)
    if request is None:
        return Answer(part.fingerprint, part.sizes)
    try:
        with threads.one_thread():
            return Answer(part.fingerprint, sums=part.answer(request))
    except Exception as error:  # if it were raised on a worker, it would be logged
        problem = str(error) if is_ours(error) else f"A worker could not answer ({type(error).__name__})."
    return Answer(part.fingerprint, refusal=problem)


def is_ours(error: Exception) -> bool:
    """Return whether an error was raised by this package, whose messages quote no value."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame is not None and str(frame.tb_frame.f_globals.get("__name__")).startswith("privfit.")


def _unreadable(error: Exception) -> str:
    return (
        f"A part of the table could not be read ({type(error).__name__}); compute that part by itself to see "
        "why."
    )


# -- on the driver -----------------------------------------------------------------------------------------


class WorkerParts(ABC):
    """Parts that workers keep. Each is asked until it has answered once, with its first fingerprint."""

    stretches: Sequence[Sequence[slice]]
    _fingerprints: dict[int, bytes]

    @abstractmethod
    def _asked(self, request: Request | None, parts: Sequence[int]) -> dict[int, Answer]:
        """Ask until each of these parts has answered, and keep one answer of each.

        Raises
        ------
        PartsLost
            If a part does not answer.
        """

    def _read(self, blocks: Sequence[Sequence[int]]) -> None:
        """Ask the parts for their fingerprints, before anything is charged.

        Parameters
        ----------
        blocks : sequence of sequence of int
            The numbers of the blocks of rows that each part was made of, ascending.

        Raises
        ------
        ValueError
            If a part could not be computed, or if there are no rows.
        """
        found = self._asked(None, range(len(blocks)))
        for each in found.values():
            if each.refusal is not None:
                raise ValueError(each.refusal)
        self._fingerprints = {k: each.fingerprint for k, each in found.items()}
        sizes = {
            block: size
            for k, own in enumerate(blocks)
            for block, size in zip(own, found[k].sizes, strict=True)
        }
        check_total(sizes.values())
        if not sum(sizes.values()):
            raise ValueError(NO_RECORDS)
        rows = dict(zip(sorted(sizes), stretches_of(sizes[block] for block in sorted(sizes)), strict=True))
        self.stretches = [[rows[block] for block in own] for own in blocks]

    def answers(self, request: Request, parts: Sequence[int] | None = None) -> Mapping[int, Sums | None]:
        """Return the answers of all parts, or of some parts, which are asked at the same time."""
        found = self._asked(request, sorted(self._fingerprints) if parts is None else parts)
        for each in found.values():
            if each.refusal is not None:
                raise PartsLost(
                    "A part of the table did not answer, so the fit has ended and released nothing more: "
                    f"{each.refusal}"
                )
        if any(each.fingerprint != self._fingerprints[k] for k, each in found.items()):
            raise PartsLost(
                "A worker was lost, and the rows that were computed again in its place are not the same rows "
                "in the same order on the same kind of machine, so the fit has ended and released nothing "
                "more; read the table from files that do not change, or write it to some first."
            )
        return {k: each.sums for k, each in found.items()}


def lost(problem: str) -> PartsLost:
    """Return the error that ends a fit whose parts are lost."""
    return PartsLost(
        f"The cluster lost parts of the table and could not compute them again ({problem}), so the fit has "
        "ended and released nothing more; fit again when its workers and the table can be reached."
    )
