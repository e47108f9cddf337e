"""Tables that are larger than memory: time and memory of encoding them and of reading them again.

Directories of Parquet files of random numbers, and a CSV file of words and numbers, are generated, trained on
and deleted; a disk with room for twice their size is needed, PRIVFIT_CACHE_DIRECTORY or the system's
directory for temporary files.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq

from performance.measuring import Peak, best
from privfit import DPLogisticRegression, Schema
from privfit.engine.problem import Problem
from privfit.losses import get_loss
from privfit.mapped import cache_directory
from privfit.schema import Categorical, Label, Numeric
from privfit.schema.taken import taken

COLUMNS = 200  # number of columns, of four bytes each
ROWS = 100_000  # number of rows of a file
CSV_ROWS = 3_000_000  # about a gigabyte

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


def in_new_directory(size: float, measure: Callable[[Path], dict[str, float]]) -> dict[str, float]:
    """Measure something in a directory that is deleted afterwards, if the disk has room."""
    free = shutil.disk_usage(cache_directory()).free
    if free < 2.5 * size:
        sys.exit(f"{cache_directory()} has {free / 1e9:.0f} GB left; {2.5 * size / 1e9:g} GB are needed.")
    with tempfile.TemporaryDirectory(dir=cache_directory()) as place:
        return measure(Path(place))


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
    """Let pyarrow read all columns."""
    for batch in pyarrow.dataset.dataset(directory, format="parquet").to_batches():
        assert batch.num_columns == COLUMNS + 1


def plain_read(X: np.ndarray) -> None:
    """Copy every byte of a mapped array once, through a small buffer, in one thread."""
    flat, buffer = X.reshape(-1), np.empty(2**18, X.dtype)
    for start in range(0, len(flat), len(buffer)):
        part = flat[start : start + len(buffer)]
        np.copyto(buffer[: len(part)], part)


def measured_scan(directory: Path) -> dict[str, float]:
    (seconds,) = best(2, lambda: scan(directory))
    return {"scan": seconds}


def measured_fit(directory: Path) -> dict[str, float]:
    schema = Schema([Numeric(f"x{j}", 0, 1) for j in range(COLUMNS)], Label("y", [False, True]))
    files = sorted(directory.iterdir())
    n, size = ROWS * len(files), 4.0 * COLUMNS * ROWS * len(files) / 1e9
    DPLogisticRegression(1.0, 1e-9, schema=schema, n_records=ROWS, max_passes=20).fit(files[0])  # compiles
    pa.default_memory_pool().release_unused()
    with Peak() as peak:
        start = time.perf_counter()
        table = taken(directory, schema)
        encoded = time.perf_counter() - start
        start = time.perf_counter()
        DPLogisticRegression(1.0, 1e-9, schema=schema, n_records=n, max_passes=20).fit(table)
        fitted = time.perf_counter() - start
    y = np.asarray(table["y"].combine_chunks().to_numpy(zero_copy_only=False))
    problem = Problem.of(table.features, np.where(y, 1.0, -1.0), get_loss("logistic"))
    w = np.zeros(COLUMNS + 1)
    problem.gradient_at(w, 1.0)  # computes norms
    rounds = 3 if size < 10 else 1
    one_pass, read = best(rounds, lambda: problem.gradient_at(w, 1.0), lambda: plain_read(table.features))
    return {
        "memory, GB": peak.bytes / 1e9,
        "taking, GB/s": size / encoded,
        "plain read, GB/s": size / read,
        "one pass, GB/s": size / one_pass,
        "fit of 20 passes, s": fitted,
    }


PARTS = {"scan": measured_scan, "fit": measured_fit}


def in_new_process(part: str, directory: Path) -> dict[str, float]:
    """Run a part of the measurement in a new process, and return its result.

    A scan leaves a gigabyte of anonymous memory to its process, which would count as that of the fit.
    """
    command = [sys.executable, "-m", "performance.blocks", part, str(directory)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def of_parquet(directory: Path, gigabytes: float) -> dict[str, float]:
    n = write_parquet(directory, gigabytes * 1e9)
    seconds = in_new_process("scan", directory)["scan"]
    found = in_new_process("fit", directory)
    return {"memory, GB": found["memory, GB"], "pyarrow's scan, GB/s": 4e-9 * COLUMNS * n / seconds} | found


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


def of_csv(directory: Path, n: int) -> dict[str, float]:
    """Return time and memory of `privfit train` and of pandas with scikit-learn, each in a new process."""
    path, schema_file = directory / "people.csv", directory / "schema.toml"
    schema_file.write_text(write_csv(path, n).to_toml())
    train = ["-m", "privfit", "train", str(path), "--schema", str(schema_file), "--delta", "1e-9"]
    commands = {
        "scikit-learn": [sys.executable, "-c", SKLEARN, str(path)],
        "privfit": [sys.executable, *train, "--out", str(directory / "model.json")],
    }
    found = {"file, GB": path.stat().st_size / 1e9}
    for name, command in commands.items():
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with Peak(str(process.pid)) as peak:
            if process.wait():
                sys.exit(f"{name} could not train on the CSV file.")
        found |= {f"{name}, s": time.perf_counter() - start, f"{name}, GB": peak.bytes / 1e9}
    return found


CASES = {
    "Parquet, 2 GB": lambda: in_new_directory(2e9, lambda place: of_parquet(place, 2.0)),
    "Parquet, 20 GB": lambda: in_new_directory(20e9, lambda place: of_parquet(place, 20.0)),
    "CSV, 3 million rows": lambda: in_new_directory(1e9, lambda place: of_csv(place, CSV_ROWS)),
}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(PARTS[sys.argv[1]](Path(sys.argv[2]))))
