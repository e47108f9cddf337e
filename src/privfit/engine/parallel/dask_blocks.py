"""Make parts from the blocks of Dask collections: each worker joins the blocks that it has in memory.

There is one part for each thread of the cluster, however many blocks there are. So a question is one task for
each thread, and a pass over all parts takes as long as one over the table in one place.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from privfit.engine.parallel.dask_parts import (
    DaskParts,
    Divide,
    losses,
    make_pieces,
    piece_of,
    problem_with,
    until_released,
)
from privfit.engine.parallel.worker_parts import NO_RECORDS, Failed, Make, make_part
from privfit.engine.parts import LocalParts

READINGS = 3  # of a table, as long as workers die meanwhile


def read_here(given: Sequence[Any], make: Make, key: bytes) -> LocalParts:
    """Return a single part of all blocks, computed in this process by Dask's threads.

    Parameters
    ----------
    given : sequence of Dask collections
        X, y and so on, with the same blocks of rows.
    make : callable
        Makes a problem of blocks.
    key : bytes
        The secret key of the fingerprint.

    Raises
    ------
    ValueError
        If the rows cannot be encoded, or if there are none.
    """
    import dask.base  # imported late: it is an extra
    from dask.delayed import delayed

    compute: Any = dask.base.compute
    columns = [np.ravel(np.asarray(_delayed(values), dtype=object)).tolist() for values in given]
    try:
        (made,) = compute(delayed(make_part, pure=False)(make, key, *columns), scheduler="threads")
    except Exception as error:  # of any kind: the caller's code makes the blocks, and may quote a cell
        made = Failed(_not_computed(type(error).__name__))
    if isinstance(made, Failed):
        raise ValueError(made.refusal)
    if not made.records.n_records:
        raise ValueError(NO_RECORDS)
    return LocalParts([made])


def _not_computed(problem: str) -> str:
    return f"The table could not be computed ({problem}); compute it by itself to see why."


def _delayed(values: Any) -> Any:
    return values.to_delayed(optimize_graph=False)


def on_workers(
    client: Any, given: Sequence[Any], make: Make, key: bytes, divide: Divide | None = None
) -> DaskParts:
    """Return parts of all blocks, on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    given : sequence of Dask collections
        X, y and so on, with the same blocks of rows.
    make : callable
        Makes a problem of blocks, or of pieces.
    key : bytes
        The secret key of the fingerprints.
    divide : callable, optional
        Divides blocks into pieces, one for each part. It is used for people, whose records must be in one
        part (Q42).

    Raises
    ------
    ValueError
        If the rows cannot be computed or encoded, or if there are none.
    PartsLost
        If workers died and their parts could not be computed again.

    Notes
    -----
    If a worker dies during the reading, everything is read once more. The cluster would compute again only
    what it lost. If a source gives its rows in another order then, a record could be in two blocks, or its
    features could be with the target of another one.
    """
    keys = {key for values in given for key in _keys(values)} - client.futures.keys()
    for _ in range(READINGS):
        before = losses(client)
        parts = _read_on_workers(client, given, make, key, divide)
        if losses(client) <= before:
            return parts
        del parts
        until_released(client, keys)  # so that the next reading computes all of them
    raise ValueError(
        f"A worker was lost each of the {READINGS} times that the table was read, so nothing was charged; "
        "fit again when the cluster keeps its workers."
    )


def _read_on_workers(
    client: Any, given: Sequence[Any], make: Make, key: bytes, divide: Divide | None
) -> DaskParts:
    """Return parts of all blocks, some of which were computed twice if a worker died meanwhile."""
    import distributed  # imported late: it is an extra

    futures_of: Any = distributed.futures_of
    # not optimised, because optimising may compute the common parts of two collections twice
    computed = client.persist(list(given), optimize_graph=False)
    columns = []
    for values, kept in zip(given, computed, strict=True):
        by_key = {future.key: future for future in futures_of(kept)}
        columns.append([by_key[key] for key in _keys(values)])
    problem = problem_with(client, [future for column in columns for future in column])
    places = [address for address, threads in client.nthreads().items() for _ in range(threads)]
    if problem is not None or not places:
        raise ValueError(_not_computed(problem or "no worker"))
    holders = client.who_has(columns[0])
    numbers = divided_among([holders.get(future.key, ()) for future in columns[0]], places)

    def submitted(place: str, function: Any, *arguments: Any) -> Any:
        return client.submit(function, *arguments, workers=[place], allow_other_workers=True, pure=False)

    shares = [(place, own) for place, own in zip(places, numbers, strict=True) if own]

    def of_blocks(own: Sequence[int]) -> list[list[Any]]:
        return [[column[number] for number in own] for column in columns]

    if divide is None:
        made = [submitted(place, make_part, make, key, *of_blocks(own)) for place, own in shares]
        return DaskParts(client, made, [own for _, own in shares])
    count = len(shares)
    divided = [
        (place, submitted(place, make_pieces, divide, count, *of_blocks(own))) for place, own in shares
    ]
    made = []
    for number, (place, _) in enumerate(shares):
        pieces = [submitted(at, piece_of, all_pieces, number) for at, all_pieces in divided]
        made.append(submitted(place, make_part, make, key, pieces))
    return DaskParts(client, made, [[number] for number in range(count)])


def _keys(values: Any) -> list[Any]:
    """Return the keys of the blocks of a collection, in their order."""
    import dask.core  # imported late: it is an extra

    flatten: Any = dask.core.flatten
    return list(flatten(values.__dask_keys__()))


def divided_among(holders: Sequence[Collection[str]], places: Sequence[str]) -> list[list[int]]:
    """Divide blocks evenly among places, as far as possible where they are in memory already.

    Parameters
    ----------
    holders : sequence of collections of str
        Which workers have each block.
    places : sequence of str
        A worker for each of its threads.

    Returns
    -------
    numbers : list of list of int
        The numbers of each place's blocks, ascending.
    """
    room = -(-len(holders) // len(places))
    own: list[list[int]] = [[] for _ in places]
    elsewhere = []
    for number, workers in enumerate(holders):
        near = [
            mine for mine, place in zip(own, places, strict=True) if place in workers and len(mine) < room
        ]
        if near:
            min(near, key=len).append(number)
        else:
            elsewhere.append(number)
    for number in elsewhere:
        min(own, key=len).append(number)
    return [sorted(numbers) for numbers in own]
