"""What a whole fit costs: its time as a multiple of (passes over the data) x (one product X @ w).

A pass here is a step of the walk, which computes margins and clipped gradients in one visit to X, or one of
the few questions about the features' geometry. Warm, best of several, everything in one run; with seeded
noise, and beside it with secure noise, which is what users get.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from privfit import DPLogisticRegression
from privfit.datasets import load_adult


def best(rounds: int, *functions: Any) -> list[float]:
    """Return the best time of each function; they take turns, so that all meet the same machine."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, taken in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def report(name: str, X: Any, y: Any, rounds: int) -> None:
    settings = {"n_records": X.shape[0], "feature_bounds": (0.0, 1.0)}
    model = DPLogisticRegression(1.0, 1e-8, noise="seeded", random_state=0, **settings)
    released = DPLogisticRegression(1.0, 1e-8, **settings)
    model.fit(X, y)  # compiles
    released.fit(X, y)
    w = np.linspace(-1, 1, X.shape[1]).astype(X.dtype)
    (product,) = best(5 * rounds, lambda: X @ w)
    time.sleep(0.2)  # BLAS threads spin for a while after a product
    fit, secure = best(rounds, lambda: model.fit(X, y), lambda: released.fit(X, y))
    passes = model.n_iter_ + 8  # checks, norms twice, magnitudes, curves, moments twice, labels
    ratio = fit / (passes * product)
    print(
        f"{name:<32}{fit:>10.3f}{passes:>10}{1e3 * product:>14.2f}{ratio:>10.2f}",
        f"{secure:>11.3f}{secure / fit:>10.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the large matrix, fewer rounds")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rounds = 2 if options.quick else 10
    columns = (
        ("seconds", 10),
        ("passes", 10),
        ("X @ w, ms", 14),
        ("ratio", 10),
        ("secure", 12),
        ("/ seeded", 10),
    )
    print(" " * 32 + "".join(f"{column:>{width}}" for column, width in columns))
    adult = load_adult()
    y = (adult.target == adult.schema.label.classes[1]).astype(int)
    report("Adult, CSR float32", adult.data, y, rounds)
    report("Adult, dense float32", adult.data.toarray(), y, rounds)
    report("Adult, dense float64", adult.data.toarray().astype(np.float64), y, rounds)
    rng = np.random.default_rng(0)
    n = 50_000 if options.quick else 500_000
    X = rng.random((n, 120), dtype=np.float32)
    y = (X[:, :10].sum(axis=1) + rng.normal(size=n) > 5).astype(int)
    report(f"random {n:,} x 120 float32", X, y, max(2, rounds // 3))
    ones = rng.integers(10_000, size=(20_000, 60))
    rows = np.repeat(np.arange(20_000), 60)
    X = sp.csr_array((np.ones(ones.size, dtype=np.float32), (rows, ones.ravel())), shape=(20_000, 10_000))
    X.data[:] = 1.0  # the same column drawn twice in a row is one
    y = (X[:, :300].sum(axis=1) + rng.normal(size=20_000) > 2).astype(int)
    report("20,000 x 10,000, 60 ones a row", X, y, max(2, rounds // 3))


if __name__ == "__main__":
    main()
