"""Time of an iteration of DP-AGD, compared with two matrix-vector products and with a textbook version.

An iteration is one clipped gradient sum, one direction, the losses at 21 steps along it, and the move. The
products are X @ v and X.T @ u in the matrix's own precision, with BLAS on its default threads (SciPy's
products for CSR). The textbook version computes every record's gradient, clips it, and then evaluates each of
the 21 candidates separately. All take turns, and the best time of each is reported.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from privfit.engine.problem import Problem
from privfit.losses import LOSSES

COUNT, SPACING, CLIP = 20, 0.1, 1.0
TEXTBOOK_ROWS = 100_000
TURNS = 4

NUMPY_LOSSES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "logistic": (lambda m: np.logaddexp(0, -m), lambda m: -1 / (1 + np.exp(m))),
    "hinge": (lambda m: np.maximum(1 - m, 0), lambda m: -1.0 * (m < 1)),
}


def engine_iteration(engine: Problem) -> Callable[[], None]:
    point = engine.at(np.zeros(engine.n_weights))

    def iterate() -> None:
        nonlocal point
        line = point.along(point.gradient_sum(CLIP) / engine.n_records)
        sums = line.loss_sums(SPACING, COUNT, CLIP)
        point = line.move(SPACING * int(np.argmin(sums)))

    return iterate


def two_products(X: Any) -> Callable[[], None]:
    v = np.linspace(-1, 1, X.shape[1]).astype(X.dtype)
    u = np.linspace(-1, 1, X.shape[0]).astype(X.dtype)

    def multiply() -> None:
        X @ v
        X.T @ u

    return multiply


def textbook_iteration(X: Any, y: Any, loss: str) -> Callable[[], None]:
    value, derivative = NUMPY_LOSSES[loss]
    w = np.zeros(X.shape[1], X.dtype)
    y = y.astype(X.dtype)

    def iterate() -> None:
        nonlocal w
        coefficients = (y * derivative(y * (X @ w)))[:, None]
        if sp.issparse(X):
            gradients = X.multiply(coefficients).tocsr()
            norms = np.sqrt(gradients.multiply(gradients).sum(axis=1))
            total = np.asarray(gradients.multiply(CLIP / np.maximum(norms, CLIP)).sum(axis=0)).ravel()
        else:
            gradients = coefficients * X
            norms = np.linalg.norm(gradients, axis=1, keepdims=True)
            total = (gradients * (CLIP / np.maximum(norms, CLIP))).sum(axis=0)
        direction = (total / X.shape[0]).astype(X.dtype)
        candidates = [w - X.dtype.type(k * SPACING) * direction for k in range(COUNT + 1)]
        sums = [np.minimum(value(y * (X @ c)), CLIP).sum() for c in candidates]
        w = candidates[int(np.argmin(sums))]

    return iterate


def fastest(functions: list[Callable[[], None]], rounds: int) -> list[float]:
    """Return each function's best time; they take turns, so other load on the machine affects all of them."""
    best = [float("inf")] * len(functions)
    for _ in range(TURNS):
        for i, function in enumerate(functions):
            time.sleep(0.2)  # BLAS threads spin for a while after a product and would slow the next function
            # after a pause, clocks and threads need a while to reach their full speed
            warm = time.perf_counter() + 0.1
            while time.perf_counter() < warm:
                function()
            for _ in range(-(-rounds // TURNS)):
                start = time.perf_counter()
                function()
                best[i] = min(best[i], time.perf_counter() - start)
    return best


def report(name: str, X: Any, y: Any, loss: str, rounds: int) -> tuple[float, float]:
    n = X.shape[0]
    ours, products = fastest([engine_iteration(Problem.of(X, y, LOSSES[loss])), two_products(X)], rounds)
    slice_rows = min(n, TEXTBOOK_ROWS)
    book = fastest([textbook_iteration(X[:slice_rows], y[:slice_rows], loss)], max(2, rounds // 10))[0]
    book *= n / slice_rows
    scaled = f" (from {slice_rows:,} rows)" if slice_rows < n else ""
    print(f"{name:<32}{ours:>12.5f}{ours / products:>18.2f}{book / ours:>20.1f}{scaled}", flush=True)
    return ours, products


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, and a tenth of the large matrix")
    parser.add_argument("--loss", choices=sorted(NUMPY_LOSSES), default="logistic")
    options = parser.parse_args()
    rounds = 10 if options.quick else 60

    from privfit.datasets import load_adult

    adult = load_adult()
    y = np.where(adult.target == adult.target[0], -1.0, 1.0)
    print(f"{options.loss} loss, {COUNT + 1} candidate steps; seconds per iteration, best of {rounds}")
    print(f"{'':<32}{'seconds':>12}{'x two products':>18}{'textbook is slower':>20}")
    print(f"{'Adult ' + 'x'.join(map(str, adult.data.shape))}")
    single = report("  dense float32", adult.data.toarray(), y, options.loss, rounds)
    double = report("  dense float64", adult.data.toarray().astype(np.float64), y, options.loss, rounds)
    sparse = report("  CSR float32", adult.data, y, options.loss, rounds)
    for what, f32, f64, csr in zip(("iteration", "two products"), single, double, sparse, strict=True):
        print(f"  {what}: CSR is {f32 / csr:.2f} times as fast as dense float32, {f64 / csr:.2f} as float64")

    rng = np.random.default_rng(0)
    n = 50_000 if options.quick else 500_000
    X = rng.standard_normal((n, 120), dtype=np.float32)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    print(f"random {n:,} x 120")
    report("  dense float32", X, y, options.loss, rounds)


if __name__ == "__main__":
    main()
