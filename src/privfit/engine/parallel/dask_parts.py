"""Parts of a table on the workers of a Dask cluster (Q39 in docs/privacy.md).

A worker keeps the rows of a part, and all that is derived from them. The driver sends questions and gets back
sums, one small array for each part. Errors are returned, not raised, because Dask writes the arguments of a
task that raises into its log.
"""

from __future__ import annotations

import hashlib
import platform
import uuid
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from privfit.engine.bounded import Sums
from privfit.engine.parallel import threads
from privfit.engine.parts import Part, PartsLost, Request, check_total
from privfit.engine.problem import Problem

FINGERPRINT_BYTES = 16
PATIENCE = 60  # seconds without any worker until a fit ends
NO_RECORDS = "Found array with 0 sample(s): the table has no records."  # scikit-learn's words


class Answer(NamedTuple):
    """What a worker returns: sums, or what is wrong, and whether the part is what it was."""

    fingerprint: bytes
    size: int = 0
    sums: Sums | None = None
    refusal: str | None = None


class Failed:
    """Takes the place of a part that could not be made."""

    def __init__(self, refusal: str) -> None:
        self.refusal = refusal

    def __repr__(self) -> str:
        return "<part that could not be made>"


class KeptPart(Part):
    """A part with the fingerprint of its records."""

    def __init__(self, records: Problem, key: bytes) -> None:
        super().__init__(records)
        self.fingerprint = fingerprint(records, key)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"fingerprint": self.fingerprint}

    def __sizeof__(self) -> int:  # by which Dask decides what to move to another worker
        return sum(array.nbytes for array in arrays_of(self.records)) + object.__sizeof__(self)


def arrays_of(records: Problem) -> list[np.ndarray[Any, Any]]:
    """Return the arrays that records consist of, in a fixed order."""
    X = records.table.layout.take(slice(None))
    features = [X.data, X.indices, X.indptr] if issparse(X) else [X]
    return [*features, records.targets, *([] if records.weights is None else [records.weights])]


def fingerprint(records: Problem, key: bytes) -> bytes:
    """Return a keyed hash of the rows in their order, and of what computes with them.

    Machines of different kinds may round the last bit of a record's share differently, so a part that moves
    to another kind of machine is not what it was.
    """
    import llvmlite.binding  # imported late: only workers need it

    versions = [metadata.version(name) for name in ("numpy", "numba", "privfit")]
    kind = platform.machine(), llvmlite.binding.get_host_cpu_name(), *versions
    found = hashlib.blake2b(repr(kind).encode(), digest_size=FINGERPRINT_BYTES, key=key)
    for array in arrays_of(records):
        found.update(f"{array.shape} {array.dtype} ".encode())
        found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return found.digest()


def make_part(make: Callable[[Any], Problem], key: bytes, blocks: Any) -> KeptPart | Failed:
    """Return a part of blocks of rows, on a worker."""
    try:
        with threads.one_thread():
            return KeptPart(make(blocks), key)
    except Exception as error:  # raised on a worker, Dask would log its arguments, which are records
        problem = str(error) if is_ours(error) else _unreadable(error)
    return Failed(problem)


def answer(part: KeptPart | Failed, request: Request | None) -> Answer:
    """Return what a part says, on its worker; without a request, what it is."""
    if isinstance(part, Failed):
        return Answer(b"", refusal=part.refusal)
    if request is None:
        return Answer(part.fingerprint, part.records.n_records)
    try:
        with threads.one_thread():
            return Answer(part.fingerprint, sums=part.answer(request))
    except Exception as error:  # raised on a worker, Dask would log its arguments, which are records
        problem = str(error) if is_ours(error) else f"A worker could not answer ({type(error).__name__})."
    return Answer(part.fingerprint, refusal=problem)


def checked(made: KeptPart | Failed) -> KeptPart:
    """Return a part that was made in this process of all records, or raise what is wrong with them."""
    if isinstance(made, Failed):
        raise ValueError(made.refusal)
    if not made.records.n_records:
        raise ValueError(NO_RECORDS)
    return made


def is_ours(error: Exception) -> bool:
    """Tell whether an error was raised by this package, whose messages quote no value."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame is not None and str(frame.tb_frame.f_globals.get("__name__")).startswith("privfit.")


def _unreadable(error: Exception) -> str:
    return (
        f"A part of the table could not be read ({type(error).__name__}); compute that part by itself to see "
        "why."
    )


class DaskParts:
    """Parts on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    made : sequence of Future
        What `make_part` returned on the workers.

    Raises
    ------
    ValueError
        If a part could not be made of its rows.
    PartsLost
        If workers died and their parts could not be made again.
    """

    def __init__(self, client: Any, made: Sequence[Any]) -> None:
        self.client, self.made = client, list(made)
        found = self._asked(None, range(len(self.made)))
        self._fingerprints = {k: each.fingerprint for k, each in found.items()}
        sizes = [each.size for each in found.values()]
        check_total(sizes)
        if not sum(sizes):
            raise ValueError(NO_RECORDS)

    def answers(self, request: Request, parts: Sequence[int] | None = None) -> Mapping[int, Sums | None]:
        """Return the answers of all parts, or of some; all at the same time."""
        found = self._asked(request, range(len(self.made)) if parts is None else parts)
        if any(each.fingerprint != self._fingerprints[k] for k, each in found.items()):
            raise PartsLost(
                "A worker was lost, and the rows that were computed again in its place are not the same rows "
                "in the same order on the same kind of machine, so the fit has ended and released nothing "
                "more; read the table from files that do not change, or write it to some first."
            )
        return {k: each.sums for k, each in found.items()}

    def _asked(self, request: Request | None, parts: Sequence[int]) -> dict[int, Answer]:
        keys = [f"privfit-answer-{uuid.uuid4().hex}" for _ in parts]
        made = [self.made[k] for k in parts]
        found = gathered(self.client, self.client.map(answer, made, request=request, key=keys, pure=False))
        for each in found:
            if each.refusal is not None:
                raise ValueError(each.refusal)
        return dict(zip(parts, found, strict=True))


def gathered(client: Any, futures: Sequence[Any]) -> list[Any]:
    """Return what futures hold, and say in one sentence why they cannot be had."""
    import distributed  # imported late: it is an extra

    wait: Any = distributed.wait
    try:
        while True:
            try:
                wait(list(futures), timeout=PATIENCE)
                break
            except TimeoutError:
                if not client.scheduler_info(n_workers=-1)["workers"]:
                    raise
        found: list[Any] = client.gather(list(futures))
        return found
    except Exception as error:  # of any kind: the cluster's own, or of a user's source
        problem = type(error).__name__
    # raised here, because an error that is raised while another is handled holds that one
    raise PartsLost(
        f"The cluster lost parts of the table and could not compute them again ({problem}), so the fit has "
        "ended and released nothing more; fit again when its workers and the table can be reached."
    )
