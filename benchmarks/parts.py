"""What a fit on a Dask cluster costs beside the same fit in one place, by the number of partitions.

Run on a quiet machine:

    python benchmarks/parts.py
    python benchmarks/parts.py --rows 100000 --columns 40 --partitions 10 100

The cluster is one worker process with one thread for each core of this machine, so that both fits have the
same cores. The table is in the workers' memory before the clock starts, as it is in one place. `reading` is
what the workers take to put their blocks together and to compute fingerprints; `question` is what a fit takes
for each answer; `overhead` compares all of it with the fit in one place. The models are compared bit by bit.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time

import numpy as np

from privfit import DPLogisticRegression
from privfit.engine.parallel import dask_parts


def block(first: int, last: int, columns: int) -> np.ndarray:
    """Return some rows of the table, whatever the partition: features, and the label last."""
    rows = []
    for tile in range(first // 500, -(-last // 500)):
        rng = np.random.default_rng([7, tile])
        X = rng.random((500, columns + 1))
        X[:, -1] = X[:, :columns].sum(axis=1) / columns + 0.1 * rng.standard_normal(500) > 0.5
        rows.append(X)
    start = first // 500 * 500
    return np.concatenate(rows)[first - start : last - start]


def model() -> DPLogisticRegression:
    return DPLogisticRegression(
        epsilon=1.0, classes=(0, 1), feature_bounds=(0.0, 1.0), noise="seeded", random_state=3
    )


def best(fit, repetitions: int):
    """Return the last model and the least time."""
    seconds = []
    for _ in range(repetitions):
        began = time.perf_counter()
        fitted = fit()
        seconds.append(time.perf_counter() - began)
    return fitted, min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--columns", type=int, default=120)
    parser.add_argument("--partitions", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--repetitions", type=int, default=2)
    options = parser.parse_args()

    import dask.array as da
    import distributed

    table = block(0, options.rows, options.columns)
    X, y = np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(int)
    del table
    local, seconds = best(lambda: model().fit(X, y), options.repetitions + 1)  # the first one compiles
    print(f"{options.rows} x {options.columns} in one place: {seconds:.2f} s, {local.n_iter_} steps")
    print("partitions  seconds  overhead  reading  answers  ms an answer  same bits")

    answers: list[float] = []
    gathered = dask_parts.gathered

    def timed(client, futures):
        began = time.perf_counter()
        found = gathered(client, futures)
        answers.append(time.perf_counter() - began)
        return found

    dask_parts.gathered = timed
    cores = len(os.sched_getaffinity(0))
    cluster = {"n_workers": cores, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    with distributed.LocalCluster(**cluster) as made, distributed.Client(made) as client:
        for count in options.partitions:
            cuts = np.linspace(0, options.rows, count + 1).astype(int)
            blocks = [
                da.from_delayed(
                    distributed_block(int(a), int(b), options.columns), (b - a, options.columns + 1), float
                )
                for a, b in itertools.pairwise(cuts)
            ]
            lazy = client.persist(da.concatenate(blocks))
            distributed.wait(lazy)
            features, labels = lazy[:, :-1], lazy[:, -1].astype(int)
            for _ in range(options.repetitions):  # the first one compiles, or reads what was compiled
                answers.clear()
                fitted, took = best(lambda X=features, y=labels: model().fit(X, y), 1)
            same = np.array_equal(fitted.coef_, local.coef_)
            each = 1e3 * float(np.median(answers[1:]))
            print(
                f"{count:10d} {took:8.2f} {took / seconds:9.2f} {answers[0]:8.2f} {len(answers) - 1:8d} "
                f"{each:13.1f}  {same}",
                flush=True,
            )
            del lazy, features, labels


def distributed_block(first: int, last: int, columns: int):
    from dask.delayed import delayed

    return delayed(block)(first, last, columns)


if __name__ == "__main__":
    main()
