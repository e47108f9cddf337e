"""Time saved on dense rows by reading from four places in turn, and by prefetching.

The engine's loops are compared with the same loops row after row, in one thread, tile by tile as in a
gradient. All take turns, and the best time of each is reported. The engine keeps this code as long as it
saves a tenth at 500,000 rows.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from privfit.engine.kernels.compiling import compiled
from privfit.engine.kernels.dense import begun, dense_combine, dense_predictions, padded
from privfit.engine.kernels.gradients import TILE_BYTES
from privfit.engine.kernels.lanes import LANES, alike, entries, fma, last_entries, read, total, write
from privfit.engine.kernels.limits import within_limits


@compiled()
def plain_predictions(X: Any, w: Any, offset: float, out: Any) -> None:
    """Write X.w + offset, one row after the other."""
    p = X.shape[1]
    full, rest = p - p % LANES, p % LANES
    for i in range(X.shape[0]):
        sums = alike(0.0)
        for j in range(0, full, LANES):
            sums = fma(entries(X, i, j), read(w, j), sums)
        if rest > 0:
            sums = fma(last_entries(X, i, full, rest), read(w, full), sums)
        out[i] = within_limits(total(sums) + offset)


@compiled()
def plain_combine(X: Any, coefficients: Any, sums: Any) -> None:
    """Add coefficient times row, one row after the other."""
    p = X.shape[1]
    full, rest = p - p % LANES, p % LANES
    for i in range(X.shape[0]):
        a = alike(coefficients[i])
        for j in range(0, full, LANES):
            write(sums, j, fma(a, entries(X, i, j), read(sums, j)))
        if rest > 0:
            write(sums, full, fma(a, last_entries(X, i, full, rest), read(sums, full)))


@compiled()
def plain_pass(X: Any, w: Any, height: int, out: Any, sums: Any) -> None:
    """Compute predictions, and use them as coefficients, tile by tile."""
    n = X.shape[0]
    for start in range(0, n, height):
        stop = min(start + height, n)
        plain_predictions(X[start:stop], w, 0.0, out[start:stop])
        plain_combine(X[start:stop], out[start:stop], sums)


@compiled()
def engine_pass(X: Any, w: Any, height: int, out: Any, sums: Any) -> None:
    """Do the same with the engine's loops."""
    n = X.shape[0]
    for start in range(0, n, height):
        stop = min(start + height, n)
        dense_predictions(X[start:stop], w, 0.0, out[start:stop])
        dense_combine(X[start:stop], out[start:stop], X[stop : min(stop + height, n)], sums)


def seconds(function: Callable[..., None], *arguments: Any) -> float:
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, fewer rounds")
    options = parser.parse_args()
    p = 120
    print(f"{'rows x 120':<28}{'plain, ms':>12}{'engine, ms':>12}{'saved':>8}")
    for dtype in (np.float32, np.float64):
        for n in (48_842, 50_000 if options.quick else 500_000):
            X = np.random.default_rng(0).random((n, p), dtype=dtype)
            w, out, sums = padded(np.full(p, 1e-3)), np.empty(n), begun(np.zeros(p + 1))
            arguments = X, w, max(16, TILE_BYTES // (p * X.itemsize)), out, sums
            best = [np.inf, np.inf]
            for _ in range(5 if options.quick else 30):
                for k, function in enumerate((plain_pass, engine_pass)):
                    best[k] = min(best[k], seconds(function, *arguments))
            plain, ours = best
            name = f"{n:,} {np.dtype(dtype).name}"
            print(f"{name:<28}{1e3 * plain:>12.2f}{1e3 * ours:>12.2f}{1 - ours / plain:>8.0%}", flush=True)


if __name__ == "__main__":
    main()
