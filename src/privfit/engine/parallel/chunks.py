"""Divide the rows among the threads.

Sums that are not exact are added up by chunks. Chunks depend only on the shape of X, so these sums do not
depend on the number of threads. Each thread gets neighbouring chunks.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from privfit.engine.kernels.packing import ROWS_PER_TILE

LARGEST_CHUNK = 12288  # rows, unless there are too many
MOST_CHUNKS = 64
TASKS_PER_THREAD = 4  # several, so that others do not wait long for a delayed thread,
CHUNKS_PER_TASK = 4  # unless tasks were so short that handing them over took noticeable time
MOST_ROWS = 2**28  # about the largest number of rows of a share, which one loop adds up exactly (`grids.odd`)


def chunk_size(n_records: int, n_weights: int) -> int:
    """Return the number of rows of a chunk, which depends only on the shape.

    If there are few records, they are one chunk. Otherwise the number of chunks is a multiple of four, so
    that threads get equal shares.
    """
    most = max(1, min(MOST_CHUNKS, 2**24 // max(1, n_weights)))
    count = min(4 * -(-n_records // (4 * LARGEST_CHUNK)), most) if n_records > LARGEST_CHUNK else 1
    return ROWS_PER_TILE * max(1, -(-n_records // (count * ROWS_PER_TILE)))


def cut(rows: slice, height: int) -> Iterator[slice]:
    """Divide these rows into slices of at most this height."""
    for start in range(rows.start, rows.stop, height):
        yield slice(start, min(start + height, rows.stop))


def shares(
    chunks: Sequence[slice], n_threads: int, most: int = TASKS_PER_THREAD * MOST_CHUNKS
) -> list[Sequence[slice]]:
    """Group neighbouring chunks into equal shares, a few for each thread, with a limit on their number."""
    tasks = min(TASKS_PER_THREAD, max(1, len(chunks) // (CHUNKS_PER_TASK * n_threads)))
    rows = chunks[-1].stop - chunks[0].start if chunks else 0
    count = min(len(chunks), max(min(tasks * n_threads, most), -(-rows // MOST_ROWS)))
    borders = [k * len(chunks) // max(1, count) for k in range(count + 1)]
    return [chunks[first:last] for first, last in pairwise(borders)]
