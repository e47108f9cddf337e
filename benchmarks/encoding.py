"""Measure the time to encode a raw table by a schema: `python benchmarks/encoding.py [records]`."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

from privfit.schema import Boolean, Categorical, Date, Integer, Label, Numeric, Ordinal, Schema, encode

WORDS, LEVELS = [f"category {k}" for k in range(10)], ["low", "middle", "high"]
SCHEMA = Schema(
    [
        *(Numeric(f"number {j}", -5, 5) for j in range(3)),
        *(Integer(f"integer {j}", 0, 99) for j in range(3)),
        *(Categorical(f"word {j}", WORDS) for j in range(4)),
        *(Ordinal(f"level {j}", LEVELS) for j in range(2)),
        *(Date(f"day {j}", "1950-01-01", "2010-01-01") for j in range(2)),
        Boolean("truth"),
    ],
    Label("y", [0, 1]),
)


def table(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    makers = {
        "number": lambda: rng.normal(size=n),
        "integer": lambda: rng.integers(0, 100, n),
        "word": lambda: np.array(WORDS)[rng.integers(0, len(WORDS), n)],
        "level": lambda: np.array(LEVELS)[rng.integers(0, len(LEVELS), n)],
        "day": lambda: np.datetime64("1950-01-01") + rng.integers(0, 20_000, n),
        "truth": lambda: rng.random(n) < 0.5,
    }
    return pd.DataFrame({fact.name: makers[fact.name.split()[0]]() for fact in SCHEMA.features})


def main(n: int) -> None:
    frame = table(n)
    polars = pl.from_pandas(frame)
    with tempfile.TemporaryDirectory() as folder:
        csv, parquet = Path(folder) / "table.csv", Path(folder) / "table.parquet"
        polars.write_csv(csv)
        polars.write_parquet(parquet)
        tables = {"pandas": frame, "polars": polars, "arrow": polars.to_arrow()}
        tables |= {"parquet": parquet, "csv": csv}
        expected = encode(frame[:1000], SCHEMA)
        for name, raw in tables.items():
            start = time.perf_counter()
            encoded = encode(raw, SCHEMA)
            print(f"{name:8} {time.perf_counter() - start:6.2f} s", flush=True)
            if (encoded[:1000] != expected).nnz:
                raise SystemExit(f"{name} is encoded in another way")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
