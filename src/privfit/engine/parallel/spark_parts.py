"""Parts of a table in the Python workers of a Spark cluster (Q39 in docs/privacy.md).

Rows are encoded once, before anything is charged, and Spark keeps the encoded partitions. Each question is a
job, in which the workers answer for the parts that they keep in memory. If no worker has a part any more,
Spark's own copy of it is sent to one. If Spark has lost the copy, it encodes the source again, and
fingerprints show whether the rows have changed.

Only methods of DataFrames that Spark Connect has, too, are used: no RDDs, accumulators or driver context.
"""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from privfit.engine.parallel.spark_worker import ANSWERS, ENCODED, Ask, Encode, Forget, Pickled, Send, said_in
from privfit.engine.parallel.worker_parts import Answer, WorkerParts, lost
from privfit.engine.parts import Request

# Spark uses idle workers in turn. If there are two or three for each task, a second or third job reaches the
# workers that keep the parts, which is faster than sending the parts. Only the worker that was sent a part
# last keeps it. If every worker that was ever sent it kept it, each might keep the whole table after some
# time. And a question would still take two jobs, because a worker that was not asked the last question does
# not know the point of this one.
ROUNDS = 3
ATTEMPTS = 3  # how often to send parts that do not answer
NOT_KEPT = (
    "Spark did not keep the encoded rows of the DataFrame, and another pass might see other rows; write it "
    "to Parquet files, and give the DataFrame that spark.read.parquet returns."
)
MANY = 2**16  # so many rows that each task slot gets some


def on_workers(frame: Any, encode: Encode) -> SparkParts:
    """Return the parts of a DataFrame, at most one for each task slot.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The columns that the fit reads.
    encode : Encode
        Makes a part from the rows of a partition.

    Raises
    ------
    ValueError
        If Spark cannot compute, keep or encode the rows, or if there are none.
    """
    from pyspark import cloudpickle  # imported late: it is an extra

    places, problem = attempt(lambda: places_of(frame.sparkSession))
    if problem is not None:
        raise ValueError(f"Spark does not run jobs ({problem}); show the DataFrame by itself to see why.")
    encoded = frame.coalesce(places).mapInArrow(Pickled(cloudpickle.dumps(encode)), ENCODED)
    return SparkParts(encoded, encode.key)


def places_of(session: Any) -> int:
    """Return how many tasks Spark runs at the same time by default."""
    numbers = session.range(MANY).selectExpr("spark_partition_id() AS place").distinct()
    return int(numbers.count())


def attempt(job: Callable[[], Any]) -> tuple[Any, str | None]:
    """Return the result of a job, or in a word why it failed: Spark's messages may quote a cell."""
    try:
        return job(), None
    except Exception as error:  # Spark raises exceptions of its own classes
        return None, type(error).__name__


class SparkParts(WorkerParts):
    """Parts in the Python workers of a Spark cluster.

    Parameters
    ----------
    encoded : pyspark.sql.DataFrame
        The cells of the parts, which Spark persists as long as these parts are needed.
    key : bytes
        The secret key of the fingerprints.

    Raises
    ------
    ValueError
        If Spark cannot compute, keep or encode the rows, or if there are none.
    """

    def __init__(self, encoded: Any, key: bytes) -> None:
        self._encoded, self._key, self._fit = encoded.persist(), key, secrets.token_bytes(16)
        self._keepers: dict[int, bytes] = {}
        self._round = 0
        weakref.finalize(self, end, self._encoded, self._fit, self._keepers)
        # one job, because two jobs may see two different tables
        rows, problem = attempt(self._encoded.select("part", "fingerprint").distinct().collect)
        if problem is not None:
            raise ValueError(
                f"Spark could not encode the DataFrame ({problem}); show it by itself to see why, and "
                "install this version of privfit where Spark's Python workers run."
            )
        numbers = sorted(number for number, _ in rows)
        level, problem = attempt(lambda: self._encoded.storageLevel)
        if problem is not None or not (level.useMemory or level.useDisk) or numbers != [*range(len(numbers))]:
            raise ValueError(NOT_KEPT)
        self._read([[number] for number in numbers])
        if self._fingerprints != {number: bytes(stamp) for number, stamp in rows}:
            raise ValueError(NOT_KEPT)

    def _asked(self, request: Request | None, parts: Sequence[int]) -> dict[int, Answer]:
        """Ask workers about the parts that they keep, and send them the parts that no worker keeps."""
        found: dict[int, Answer] = {}
        problem: str | None = None
        for kind in [Ask] * (ROUNDS if self._keepers else 0) + [Send] * ATTEMPTS:
            missing = frozenset(parts) - found.keys()
            if not missing:
                break
            sent = kind is Send
            asked = ", ".join(map(str, sorted(missing)))
            rows = self._encoded.select("part", *["cells"] * sent)
            rows = rows.where(f"part IN ({asked})") if sent else rows
            self._round += 1
            function = kind(self._fit, self._round, request, missing, self._keepers, self._key)
            answers, problem = attempt(rows.mapInArrow(function, ANSWERS).collect)
            for number, (worker, said) in said_in(answers or ()).items():
                if number in missing:
                    found[number], self._keepers[number] = said, worker
        if len(found) < len(parts):
            raise lost(problem or "no answer")
        return found


def end(encoded: Any, fit: bytes, keepers: Mapping[int, bytes]) -> None:
    """Remove the rows of a fit from the workers and from Spark."""
    kept = set(keepers)
    with suppress(Exception):  # any exception, for example if Spark has been stopped
        for _ in range(ROUNDS if kept else 0):
            rows = encoded.select("part").mapInArrow(Forget(fit), ANSWERS).collect()
            kept -= {number for number, _ in rows}
            if not kept:
                break
    with suppress(Exception):
        encoded.unpersist()
