"""What a whole fit costs: its time as a multiple of (passes over the data) x (one product X @ w).

A pass here is a step of the walk, which computes margins and clipped gradients in one visit to X, or one of
the few questions about the features' geometry. Warm, seeded noise, best of several, everything in one run.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np

from privfit import DPLogisticRegression
from privfit.datasets import load_adult


def best(function: Any, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def report(name: str, X: Any, y: Any, rounds: int) -> None:
    model = DPLogisticRegression(
        1.0, 1e-8, n_records=X.shape[0], feature_bounds=(0.0, 1.0), noise="seeded", random_state=0
    )
    model.fit(X, y)  # compiles
    w = np.linspace(-1, 1, X.shape[1]).astype(X.dtype)
    product = best(lambda: X @ w, 5 * rounds)
    time.sleep(0.2)  # BLAS threads spin for a while after a product
    fit = best(lambda: model.fit(X, y), rounds)
    passes = model.n_iter_ + 7  # checks, norms twice, magnitudes, curves, moments twice
    ratio = fit / (passes * product)
    print(f"{name:<32}{fit:>10.3f}{passes:>10}{1e3 * product:>14.2f}{ratio:>10.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the large matrix, fewer rounds")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rounds = 2 if options.quick else 10
    print(f"{'':<32}{'seconds':>10}{'passes':>10}{'X @ w, ms':>14}{'ratio':>10}")
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


if __name__ == "__main__":
    main()
