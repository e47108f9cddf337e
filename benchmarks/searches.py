"""Time and additional memory of a search, compared with a single fit.

Run it on an idle machine:

    python benchmarks/searches.py
    python benchmarks/searches.py --rows 500000 --settings 8

Three tables of the same size: an array of numbers, a raw frame with a schema that encodes to a sparse matrix,
and a CSR matrix. Memory is the growth of the process's peak during the search. Each case runs in a separate
process, because the peak of a process never falls.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
from scipy import sparse

from privfit import DPLogisticRegression, DPSearchCV, Schema
from privfit.schema import Categorical, Label, Numeric

CASES = ("array", "raw frame", "sparse")
LEVELS = [f"level {k}" for k in range(20)]


def table(case: str, rows: int):
    """Return X, y, the declared facts, and the bytes of X."""
    rng = np.random.default_rng(0)
    y = rng.random(rows) < 0.4
    declared = {"classes": (False, True), "n_records": rows}
    if case == "array":
        X = rng.random((rows, 40))
        return X, y, declared | {"feature_bounds": (0.0, 1.0)}, X.nbytes
    codes = [rng.integers(0, len(LEVELS), rows) for _ in range(10)]
    if case == "sparse":
        places = np.stack(codes, axis=1) + len(LEVELS) * np.arange(10)
        starts = np.arange(rows + 1) * 10
        X = sparse.csr_matrix((np.ones(10 * rows), places.ravel(), starts))
        return X, y, declared, X.data.nbytes + X.indices.nbytes
    frame = pd.DataFrame({f"k{j}": pd.Categorical.from_codes(c, LEVELS) for j, c in enumerate(codes)})
    frame["age"], frame["ill"] = rng.random(rows), y
    columns = [Categorical(f"k{j}", LEVELS) for j in range(10)]
    schema = Schema([*columns, Numeric("age", 0, 1)], Label("ill", [False, True]), records=rows)
    return frame, None, {"schema": schema}, int(frame.memory_usage(deep=True).sum())


def peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(case: str, rows: int, settings: int) -> dict[str, float]:
    warnings.simplefilter("ignore")
    X, y, declared, size = table(case, rows)
    model = DPLogisticRegression(max_passes=20, **declared)
    grid = {"alpha": [0.001 * k for k in range(settings)]}
    small = table(case, 2000)
    DPSearchCV(DPLogisticRegression(**{**declared, **small[2]}), grid, 4.0).fit(*small[:2])  # which compiles
    began = time.perf_counter()
    model.fit(X, y)
    fit, before = time.perf_counter() - began, peak()
    began = time.perf_counter()
    DPSearchCV(DPLogisticRegression(max_passes=20, **declared), grid, 4.0).fit(X, y)
    seconds = time.perf_counter() - began
    return {"fit": fit, "search": seconds, "size": size / 1e6, "memory": (peak() - before) / 1e6}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--settings", type=int, default=6)
    parser.add_argument("--case", choices=CASES)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(options.case, options.rows, options.settings)))
        return
    print(f"{options.rows} records, {options.settings} settings and a refit")
    print("table       MB    a fit, s  the search, s  MB more than a fit at its peak")
    for case in CASES:
        command = [sys.executable, __file__, "--case", case]
        command += ["--rows", str(options.rows), "--settings", str(options.settings)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        size, fit, search, memory = (found[name] for name in ("size", "fit", "search", "memory"))
        print(f"{case:10} {size:5.0f} {fit:9.2f} {search:13.2f} {memory:10.0f}")


if __name__ == "__main__":
    main()
