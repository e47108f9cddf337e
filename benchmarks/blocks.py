"""How fast tables are trained on that are larger than memory, and how much memory that takes.

    python benchmarks/blocks.py --gigabytes 2 20 --directory /scratch
    python benchmarks/blocks.py --csv 3000000

A directory of Parquet files of random numbers is generated, trained on, and deleted. The table below is
printed for each size; disk is needed for twice the size. Memory is the peak of the anonymous memory of the
process: pages of mapped files belong to the page cache. The goals are 2 GB of it for any size; taking the
table at 70% of the speed of pyarrow's own scan of the same columns; and a pass over the encoded table at 70%
of the speed of a plain read of as many bytes. With --csv a file of so many rows is trained on by `privfit
train` and by pandas.read_csv with scikit-learn, each in a process of its own.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq

from privfit import DPLogisticRegression, Schema
from privfit.engine.problem import Problem
from privfit.losses import get_loss
from privfit.schema import Categorical, Label, Numeric
from privfit.schema.taken import taken

COLUMNS = 200  # of a row, of four bytes each
ROWS = 100_000  # of a file

SKLEARN = """
import sys, pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
table = pd.read_csv(sys.argv[1])
X, y = table.drop(columns="y"), table["y"]
words = X.select_dtypes(exclude="number").columns
encoder = make_column_transformer((OneHotEncoder(dtype="float32"), words), remainder=MinMaxScaler())
make_pipeline(encoder, LogisticRegression(C=1e4)).fit(X, y)
"""


class Peak:
    """The largest anonymous memory of a process while the context lasts, in bytes."""

    def __init__(self, process: str = "self") -> None:
        self.status, self.bytes, self._ended = Path(f"/proc/{process}/status"), 0, False

    def __enter__(self) -> "Peak":
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_error: Any) -> None:
        self._ended = True

    def _watch(self) -> None:
        while not self._ended and self.status.exists():
            lines = self.status.read_text().splitlines()
            anonymous = next((line.split()[1] for line in lines if line.startswith("RssAnon")), "0")
            self.bytes = max(self.bytes, 1024 * int(anonymous))
            time.sleep(0.02)


def best_time(work: Callable[[], Any], times: int = 3) -> float:
    def once() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return min(once() for _ in range(times))


def write_parquet(directory: Path, size: float) -> int:
    """Write files of this size in bytes together, and return the number of rows."""
    rng = np.random.default_rng(0)
    n_files = max(1, round(size / (4 * COLUMNS * ROWS)))
    for number in range(n_files):
        X = rng.random((COLUMNS, ROWS), dtype=np.float32)
        y = X[:20].sum(axis=0) + rng.logistic(size=ROWS) > 10
        columns = {f"x{j}": column for j, column in enumerate(X)} | {"y": y}
        pq.write_table(
            pa.table(columns), directory / f"{number:05}.parquet", compression="none", use_dictionary=False
        )
    return n_files * ROWS


def scan(directory: Path) -> None:
    for batch in pyarrow.dataset.dataset(directory, format="parquet").to_batches():
        assert batch.num_columns == COLUMNS + 1


def plain_read(X: np.ndarray) -> None:
    """Copy every byte of the mapped array once, through a small buffer."""
    flat, buffer = X.reshape(-1), np.empty(2**18, X.dtype)
    for start in range(0, len(flat), len(buffer)):
        part = flat[start : start + len(buffer)]
        np.copyto(buffer[: len(part)], part)


def of_parquet(place: Path, gigabytes: float) -> None:
    directory = place / "table"
    directory.mkdir()
    n = write_parquet(directory, gigabytes * 1e9)
    size = 4.0 * COLUMNS * n
    schema = Schema([Numeric(f"x{j}", 0, 1) for j in range(COLUMNS)], Label("y", [False, True]))
    scanned = best_time(lambda: scan(directory), 2)
    with Peak() as peak:
        start = time.perf_counter()
        table = taken(directory, schema)
        encoded = time.perf_counter() - start
        start = time.perf_counter()
        model = DPLogisticRegression(1.0, 1e-9, schema=schema, n_records=n, max_passes=20).fit(table)
        fitted = time.perf_counter() - start
    y = np.asarray(table["y"].combine_chunks().to_numpy(zero_copy_only=False))
    problem = Problem.of(table.features, np.where(y, 1.0, -1.0), get_loss("logistic"))
    _ = problem.table.reciprocals
    w = np.zeros(COLUMNS + 1)
    one_pass, read = (
        best_time(work) for work in (lambda: problem.gradient_at(w, 1.0), lambda: plain_read(table.features))
    )
    print(f"{gigabytes:g} GB, {n:,} rows of {COLUMNS} columns; load {os.getloadavg()[0]:.1f}")
    print(f"  peak anonymous memory   {peak.bytes / 1e9:6.2f} GB")
    print(f"  pyarrow's scan          {size / scanned / 1e9:6.2f} GB/s")
    print(f"  taking and encoding     {size / encoded / 1e9:6.2f} GB/s   {scanned / encoded:.2f} of the scan")
    print(f"  plain read, one thread  {size / read / 1e9:6.2f} GB/s")
    print(f"  one pass                {size / one_pass / 1e9:6.2f} GB/s   {read / one_pass:.2f} of the read")
    print(f"  fit of {model.n_iter_} steps         {fitted:6.1f} s", flush=True)


def write_csv(path: Path, n: int) -> Schema:
    """Write a table of words and numbers, and return its schema."""
    words = [f"category-{k:02}" for k in range(12)]
    facts = [Categorical(f"c{j}", words) for j in range(12)] + [Numeric(f"x{j}", 0, 100) for j in range(14)]
    rng, writer = np.random.default_rng(0), None
    for start in range(0, n, ROWS):
        rows = min(ROWS, n - start)
        table = {f"c{j}": rng.choice(words, rows) for j in range(12)}
        table |= {f"x{j}": rng.normal(50, 15, rows).clip(0, 100).round(9) for j in range(14)}
        score = sum(table[f"x{j}"] - 50 for j in range(5)) + 30 * rng.logistic(size=rows)
        batch = pa.table(table | {"y": np.where(score > 0, "yes", "no")})
        writer = writer or pyarrow.csv.CSVWriter(path, batch.schema)
        writer.write_table(batch)
    assert writer is not None
    writer.close()
    return Schema(facts, Label("y", ["no", "yes"]))


def of_csv(place: Path, n: int) -> None:
    path, schema_file = place / "people.csv", place / "schema.toml"
    schema_file.write_text(write_csv(path, n).to_toml())
    train = ["-m", "privfit", "train", str(path), "--schema", str(schema_file), "--delta", "1e-9"]
    commands = {
        "pandas and scikit-learn": [sys.executable, "-c", SKLEARN, str(path)],
        "privfit train": [sys.executable, *train, "--out", str(place / "model.json")],
    }
    print(f"CSV of {n:,} rows, {path.stat().st_size / 1e9:.2f} GB; load {os.getloadavg()[0]:.1f}")
    for name, command in commands.items():
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with Peak(str(process.pid)) as peak:
            code = process.wait()
        after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(
            f"  {name:24} {seconds:6.1f} s, {processor:6.1f} s of the processor, "
            f"{peak.bytes / 1e9:.2f} GB{'' if code == 0 else ', FAILED'}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gigabytes", type=float, nargs="*", default=[])
    parser.add_argument("--csv", type=int, metavar="ROWS")
    parser.add_argument("--directory", default=tempfile.gettempdir(), help="where files go")
    options = parser.parse_args()
    os.environ["PRIVFIT_CACHE_DIRECTORY"] = options.directory
    for gigabytes in options.gigabytes:
        free = shutil.disk_usage(options.directory).free
        if free < 2.5e9 * gigabytes:
            sys.exit(f"{options.directory} has {free / 1e9:.0f} GB left; {2.5 * gigabytes:g} GB are needed.")
        with tempfile.TemporaryDirectory(dir=options.directory) as place:
            of_parquet(Path(place), gigabytes)
    if options.csv:
        with tempfile.TemporaryDirectory(dir=options.directory) as place:
            of_csv(Path(place), options.csv)


if __name__ == "__main__":
    main()
