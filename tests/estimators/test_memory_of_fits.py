"""A fit on a file of 200 MB needs memory for its batches and its records, not for the table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

COLUMNS, ROWS, FILES = 100, 50_000, 10
FIT = """
import sys, threading, time, warnings
from privfit import DPLogisticRegression, Schema
from privfit.engine.problem import Problem
from privfit.schema import Label, Numeric

def anonymous():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon"))

peak = []
def watch():
    while True:
        peak.append(anonymous())
        time.sleep(0.01)

warnings.simplefilter("ignore")
schema = Schema([Numeric(f"x{j}", 0, 1) for j in range(100)], Label("y", [False, True]))
model = DPLogisticRegression(1.0, 1e-9, schema=schema, n_records=500_000, max_passes=20)
model.fit(sys.argv[2])  # a small table, so that all code is loaded and compiled
before = anonymous()
threading.Thread(target=watch, daemon=True).start()
model.fit(sys.argv[1])
print(max(peak) - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="anonymous memory is read from /proc")
def test_memory_is_a_part_of_the_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    (tmp_path / "table").mkdir()
    for number in range(FILES):
        X = rng.random((COLUMNS, ROWS), dtype=np.float32)
        columns = {f"x{j}": column for j, column in enumerate(X)} | {"y": X[0] + X[1] > 1}
        table = pa.table(columns)
        path = tmp_path / "table" / f"{number}.parquet"
        pq.write_table(table, path, compression="none", use_dictionary=False)
    pq.write_table(table.slice(0, 1000), tmp_path / "small.parquet")
    command = [sys.executable, "-c", FIT, str(tmp_path / "table"), str(tmp_path / "small.parquet")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    used = 1024 * int(ran.stdout)
    assert used < 4 * COLUMNS * ROWS * FILES  # 200 MB; in memory it would be twice that and more
