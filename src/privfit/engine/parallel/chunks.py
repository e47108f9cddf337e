"""How the rows are cut for the threads.

Sums that are not exact are added up by chunks, which depend on the shape of X only, so that they do not
depend on the number of threads. Threads get neighbouring chunks.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from privfit.engine.kernels.packing import ROWS_PER_TILE

LARGEST_CHUNK = 12288  # rows, unless there are too many
MOST_CHUNKS = 64
TASKS_PER_THREAD = 4  # so that a thread that is held up does not hold up the others for long,
CHUNKS_PER_TASK = 4  # unless tasks would be so short that handing them over is felt
MOST_ROWS = 2**28  # of a share, about: one loop adds them up exactly (`grids.odd`)


def chunk_size(n_records: int, n_weights: int) -> int:
    """Return how many rows make a chunk. This depends on the shape only.

    Few records make one chunk. Otherwise there are four or a multiple, so that threads get equal shares.
    """
    most = max(1, min(MOST_CHUNKS, 2**24 // max(1, n_weights)))
    count = min(4 * -(-n_records // (4 * LARGEST_CHUNK)), most) if n_records > LARGEST_CHUNK else 1
    return ROWS_PER_TILE * max(1, -(-n_records // (count * ROWS_PER_TILE)))


def cut(rows: slice, height: int) -> Iterator[slice]:
    """Cut these rows into slices of at most this height."""
    for start in range(rows.start, rows.stop, height):
        yield slice(start, min(start + height, rows.stop))


def shares(
    chunks: Sequence[slice], n_threads: int, most: int = TASKS_PER_THREAD * MOST_CHUNKS
) -> list[Sequence[slice]]:
    """Group neighbouring chunks into equal shares, a few for each thread but at most so many in all."""
    tasks = min(TASKS_PER_THREAD, max(1, len(chunks) // (CHUNKS_PER_TASK * n_threads)))
    rows = chunks[-1].stop - chunks[0].start if chunks else 0
    count = min(len(chunks), max(min(tasks * n_threads, most), -(-rows // MOST_ROWS)))
    borders = [k * len(chunks) // max(1, count) for k in range(count + 1)]
    return [chunks[first:last] for first, last in pairwise(borders)]
