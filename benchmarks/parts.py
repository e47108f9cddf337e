"""Time of a fit on a Dask cluster, compared with the same fit in one place, by the number of partitions.

Run it on an idle machine:

    python benchmarks/parts.py
    python benchmarks/parts.py --rows 100000 --columns 40 --partitions 10 100 --no-csv

The cluster has as many threads as this machine has cores, so that both fits have the same cores: worker
processes with one thread each, or one process with all threads. The table is in the workers' memory before
the clock starts, as it is in one place. `reading` is the time until the workers have joined their blocks and
computed fingerprints. `ms_an_answer` is the median time until the driver gets an answer. `overhead` compares
the whole fit with the fit in one place. Fits in one place and on the cluster take turns, and the least time
of each counts. The models are compared bit by bit. The result goes to parts.csv.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import time
from pathlib import Path

import numpy as np

from privfit import DPLogisticRegression
from privfit.engine.parallel import dask_parts

FILE = Path(__file__).with_suffix(".csv")
ROWS_DRAWN = 500  # rows that are drawn together, whatever the partitions


def block(first: int, last: int, columns: int) -> np.ndarray:
    """Return some rows of the table, whatever the partition: features, and the label last."""
    rows = []
    for draw in range(first // ROWS_DRAWN, -(-last // ROWS_DRAWN)):
        rng = np.random.default_rng([7, draw])
        X = rng.random((ROWS_DRAWN, columns + 1))
        X[:, -1] = X[:, :columns].sum(axis=1) / columns + 0.1 * rng.standard_normal(ROWS_DRAWN) > 0.5
        rows.append(X)
    start = first // ROWS_DRAWN * ROWS_DRAWN
    return np.concatenate(rows)[first - start : last - start]


def features(table: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(table[:, :-1])


def labels(table: np.ndarray) -> np.ndarray:
    return table[:, -1].astype(int)


def fit(X, y) -> DPLogisticRegression:
    settings = {"classes": (0, 1), "feature_bounds": (0.0, 1.0), "noise": "seeded", "random_state": 3}
    return DPLogisticRegression(epsilon=1.0, **settings).fit(X, y)


class Stopwatch:
    """The times that the driver waits: first for the reading, then for each answer."""

    def __init__(self) -> None:
        self.laps: list[float] = []
        self._asked = dask_parts.DaskParts._asked

    def asked(self, parts, *arguments):
        """Ask a question like `DaskParts`, and record the time."""
        began = time.perf_counter()
        found = self._asked(parts, *arguments)
        self.laps.append(time.perf_counter() - began)
        return found


def in_partitions(client, rows: int, columns: int, count: int):
    """Return features and labels in this many partitions, in the workers' memory."""
    import dask.array as da
    import distributed
    from dask.delayed import delayed

    ends = np.linspace(0, rows, count + 1).astype(int).tolist()
    blocks = [
        da.from_delayed(delayed(block)(a, b, columns), (b - a, columns + 1), float)
        for a, b in itertools.pairwise(ends)
    ]
    table = da.concatenate(blocks)
    lazy = client.persist(
        [
            table.map_blocks(features, chunks=(table.chunks[0], (columns,)), dtype=float),
            table.map_blocks(labels, drop_axis=1, dtype=int),
        ]
    )
    distributed.wait(lazy)
    return lazy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--columns", type=int, default=120)
    parser.add_argument("--partitions", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--no-csv", action="store_true")
    options = parser.parse_args()

    import distributed

    table = block(0, options.rows, options.columns)
    X, y = features(table), labels(table)
    del table
    fit(X, y)  # compiles, or reads what was compiled
    cores = len(os.sched_getaffinity(0))
    clusters = {f"{cores} workers x 1 thread": (cores, 1), f"1 worker x {cores} threads": (1, cores)}
    watch = Stopwatch()
    dask_parts.DaskParts._asked = lambda parts, *arguments: watch.asked(parts, *arguments)
    found = []
    for name, (workers, threads) in clusters.items():
        settings = {"n_workers": workers, "threads_per_worker": threads, "dashboard_address": None}
        with (
            distributed.LocalCluster(**settings, memory_limit=0) as cluster,
            distributed.Client(cluster) as client,
        ):
            for count in options.partitions:
                lazy = in_partitions(client, options.rows, options.columns, count)
                fit(*lazy)  # compiles, or reads what was compiled
                times, best = [], None
                for _ in range(options.repetitions):
                    began = time.perf_counter()
                    local = fit(X, y)
                    times.append(time.perf_counter() - began)
                    watch.laps.clear()
                    began = time.perf_counter()
                    model = fit(*lazy)
                    seconds = time.perf_counter() - began
                    if best is None or seconds < best["seconds"]:
                        best = {
                            "seconds": seconds,
                            "reading": watch.laps[0],
                            "answers": len(watch.laps) - 1,
                            "ms_an_answer": 1e3 * float(np.median(watch.laps[1:])),
                        }
                same = np.array_equal(local.coef_, model.coef_)
                row = {
                    "cluster": name,
                    "partitions": count,
                    "rows": options.rows,
                    "columns": options.columns,
                    "local_seconds": min(times),
                    **best,
                    "overhead": best["seconds"] / min(times),
                    "same_bits": same,
                }
                found.append({k: f"{v:.3g}" if isinstance(v, float) else v for k, v in row.items()})
                print(found[-1], flush=True)
                del lazy
    if not options.no_csv:
        with FILE.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(found)


if __name__ == "__main__":
    main()
