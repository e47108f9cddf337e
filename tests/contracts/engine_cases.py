"""The cases that an engine's contract runs over, and the same sums written out in plain Python.

Losses are found by being there, and the oracle calls their own functions from Python. What a loss's functions
compute is the business of tests/test_losses.py.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from on_disk import on_disk
from one_output import LOSSES

from privfit.engine.problem import Problem
from privfit.losses import Loss

Layout = Callable[[np.ndarray], Any]

LAYOUTS: dict[str, Layout] = {
    "dense_c_f64": lambda X: np.ascontiguousarray(X),
    "dense_c_f32": lambda X: np.ascontiguousarray(X, dtype=np.float32),
    "dense_f_f64": lambda X: np.asfortranarray(X),
    "dense_f_f32": lambda X: np.asfortranarray(X, dtype=np.float32),
    "csr_f64": lambda X: sp.csr_array(X),
    "csr_f32": lambda X: sp.csr_matrix(X.astype(np.float32)),
    "mapped_f32": lambda X: on_disk(X.astype(np.float32)),
    "mapped_csr_f32": lambda X: on_disk(sp.csr_matrix(X.astype(np.float32))),
}
# An engine is added to the contract by naming it here.
ENGINES: dict[str, Callable[..., Problem]] = {"local": Problem.of}


def tier(layout: str, loss: str) -> tuple[pytest.MarkDecorator, ...]:
    """Return no mark for each layout with one loss and each loss in one layout, and `slow` for other pairs.

    Every pair takes its time to compile.
    """
    return () if layout == "dense_c_f64" or loss in ("logistic", "softmax_3") else (pytest.mark.slow,)


class Oracle:
    """The same sums with every per-record gradient written out."""

    def __init__(self, X: Any, y: np.ndarray, loss: Loss, intercept: bool) -> None:
        X = np.asarray(X.todense() if sp.issparse(X) else X, dtype=np.float64)
        self.X = np.column_stack([X, np.ones(len(X))]) if intercept else X
        self.y = y
        self.value, self.derivative = (
            np.vectorize(function, otypes=[float]) for function in (loss.value, loss.derivative)
        )

    def gradient_sum(
        self, w: np.ndarray, clip: float = inf, predictions: np.ndarray | None = None
    ) -> np.ndarray:
        predictions = self.X @ w if predictions is None else predictions
        gradients = self.derivative(predictions, self.y)[:, None] * self.X
        norms = np.linalg.norm(gradients, axis=1)
        too_long = norms > clip
        gradients[too_long] *= (clip / norms[too_long])[:, None]
        return gradients.sum(axis=0)

    def loss_sum(self, w: np.ndarray, clip: float = inf) -> float:
        return float(np.minimum(self.value(self.X @ w, self.y), clip).sum())

    def curvatures(self, w: np.ndarray) -> np.ndarray:
        predictions = self.X @ w
        return self.derivative(predictions + 0.5, self.y) - self.derivative(predictions - 0.5, self.y)


def moments(
    Z: np.ndarray, folds: np.ndarray, radius: float, curve_radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """The sums of shrunken rows and of their curves, written out."""
    curves = Z * (Z - folds)
    norms, curved = (np.maximum(np.linalg.norm(rows, axis=1), 1e-300) for rows in (Z, curves))
    f = np.minimum(1, np.minimum(radius / norms, curve_radius / curved))[:, None]
    return (f * Z).sum(axis=0), (f * curves).sum(axis=0)


def products(Z: np.ndarray, curvatures: Any, radius: float) -> np.ndarray:
    """The sum of outer products of rows weighted by curvature, each clipped to a norm, written out."""
    rows = np.sqrt(np.broadcast_to(curvatures, len(Z)))[:, None] * Z
    rows = rows * np.minimum(1, radius / np.maximum(np.linalg.norm(rows, axis=1), 1e-300))[:, None]
    return rows.T @ rows


class Case:
    """An engine, a layout of the features, a loss, and whether there is an intercept."""

    def __init__(self, engine: str, layout: str, loss: str, intercept: bool) -> None:
        self.build, self.layout, self.loss = ENGINES[engine], LAYOUTS[layout], LOSSES[loss]
        self.intercept = intercept

    def make(self, X: np.ndarray, positive: np.ndarray) -> tuple[Problem, Oracle]:
        """Return both; positive records get the loss's largest target, others its least."""
        y = np.where(positive, max(self.loss.targets.typical), min(self.loss.targets.typical))
        data = self.layout(X)
        oracle = Oracle(data, y, self.loss, self.intercept)
        return self.build(data, y, self.loss, intercept=self.intercept), oracle


class ViewCase(Case):
    """Tables whose columns need a transformation, and the matrix that it should give written out."""

    center = np.array([0.0, 1.0, -0.3, 2000.0, 5.0, 1e6, 1e-9, 0.2, 0.0, -40.0, 0.1, 0.0, 3.0])
    scale = np.array([1.0, 0.5, 2.0, 1.0, 0.0, 1e-6, 1e8, 0.1, 3.0, 0.3, 0.7, 0.0, 0.25])
    bias = 0.4

    def records(self, n: int = 203) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(n)
        Z = rng.standard_normal((n, 13)) * (rng.random((n, 13)) < 0.7)
        X = self.center + Z / np.where(self.scale > 0, self.scale, 1e-3)
        X[rng.random((n, 13)) < 0.3] = 0  # absent in a sparse matrix
        return X, rng.random(n) < 0.4

    def make(self, X: np.ndarray, positive: np.ndarray) -> tuple[Problem, Oracle]:
        engine, oracle = super().make(X, positive)
        oracle.X[:, :13] = self.scale * (oracle.X[:, :13] - self.center)
        oracle.X[:, 13] = self.bias
        return engine.transformed(self.center, self.scale, self.bias), oracle


def values(**own: list[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Say which values a test of the contract takes beside its case."""

    def told(test: Callable[..., None]) -> Callable[..., None]:
        vars(test)["own_values"] = own
        return test

    return told


def records(n: int = 203, p: int = 13) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.5)
    return X, rng.random(n) < 0.4


def weights(engine: Problem, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(engine.n_weights)
