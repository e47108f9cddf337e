"""How the rows are cut for the threads: into chunks, and neighbouring chunks into spans.

Sums that are not exact are added up by chunks, which depend on the shape of X only, so that they do not
depend on the number of threads. Work is handed out by spans.
"""

from functools import lru_cache
from typing import NamedTuple

from privfit.engine.packing import PIECE

LARGEST_CHUNK = 12288  # rows, unless there are too many
LONGEST_SPAN = 2**16  # rows, whose margins stay in the second cache


class Span(NamedTuple):
    """Neighbouring chunks, for one thread."""

    number: int
    chunks: range
    rows: slice


def chunk_size(n_records: int, n_weights: int) -> int:
    """Return how many rows make a chunk, which depends on the shape only: sums do not depend on the threads.

    Few records make one chunk. Otherwise there are four or a multiple, so that threads get equal shares.
    """
    most = max(1, min(64, 2**24 // max(1, n_weights)))
    count = min(4 * -(-n_records // (4 * LARGEST_CHUNK)), most) if n_records > LARGEST_CHUNK else 1
    return PIECE * max(1, -(-n_records // (count * PIECE)))


@lru_cache(maxsize=64)
def spans(n_records: int, chunk_size: int, n_threads: int) -> tuple[Span, ...]:
    """Group chunks so that every thread gets as many rows as the others, within a chunk."""
    n_chunks = -(-n_records // chunk_size)
    longest = max(1, LONGEST_SPAN // chunk_size)
    count = min(n_threads * -(-n_chunks // (n_threads * longest)), n_chunks)
    borders = [k * n_chunks // count for k in range(count)] + [n_chunks]
    return tuple(
        Span(
            k,
            range(*borders[k : k + 2]),
            slice(borders[k] * chunk_size, min(borders[k + 1] * chunk_size, n_records)),
        )
        for k in range(count)
    )
