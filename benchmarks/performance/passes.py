"""Time of one pass over a table, compared with reading its bytes once and with two matrix products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from performance import tables
from performance.measuring import best
from privfit.engine.problem import Problem
from privfit.losses import get_loss

CLIP = 1.0


def gradient_pass(X: Any, y: Any) -> Callable[[], Any]:
    """Return a clipped gradient sum of the logistic loss, as a step of the default solver takes it."""
    problem = Problem.of(X, np.where(y == 1, 1.0, -1.0), get_loss("logistic"))
    w = np.linspace(-0.1, 0.1, problem.n_weights)
    problem.gradient_at(w, CLIP)  # compiles, and computes norms
    return lambda: problem.gradient_at(w, CLIP)


def reading(X: Any) -> Callable[[], Any]:
    """Return a dot product of all bytes with themselves, as float64, which BLAS computes on all cores."""
    flat = (X.data if sp.issparse(X) else X.reshape(-1)).view(np.uint8)
    numbers = flat[: len(flat) - len(flat) % 8].view(np.float64)
    return lambda: numbers.dot(numbers)


def products(X: Any) -> Callable[[], Any]:
    """Return X @ v and X.T @ u in the precision of X, by BLAS or SciPy."""
    v, u = (np.linspace(-1, 1, size).astype(X.dtype) for size in X.shape[::-1])
    return lambda: (X @ v, X.T @ u)


def one_pass(X: Any, y: Any, rounds: int) -> dict[str, float]:
    seconds = best(rounds, gradient_pass(X, y), reading(X), products(X))
    size = X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes
    names = ("one pass, ms", "one read, ms", "two products, ms")
    found = {name: 1e3 * each for name, each in zip(names, seconds, strict=True)}
    return found | {"table, MB": size / 1e6}


def of_dense(n: int, precision: Any) -> dict[str, float]:
    X, y = tables.dense(n, 120)
    return one_pass(X.astype(precision, copy=False), y, 6)


CASES = {
    "500,000 x 120, float32": lambda: of_dense(500_000, np.float32),
    "500,000 x 120, float64": lambda: of_dense(500_000, np.float64),
    "4,900,000 x 120, float32": lambda: of_dense(4_900_000, np.float32),
    "Adult, sparse": lambda: one_pass(*tables.adult(), 10),
    "200,000 x 10,000, 60 entries a row": lambda: one_pass(*tables.sparse(200_000, 10_000, 0.006), 6),
}
