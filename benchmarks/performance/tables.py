"""The tables for measuring fits: Adult, and random tables of any size."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def adult() -> tuple[Any, Any]:
    """Return Adult as a CSR matrix, and its labels as 0 and 1."""
    from privfit.datasets import load_adult

    table = load_adult()
    return table.data, (table.target == table.schema.label.classes[1]).astype(int)


def dense(n: int, p: int) -> tuple[Any, Any]:
    """Return uniform columns in float32, of which up to ten explain the label."""
    rng = np.random.default_rng(0)
    X = rng.random((n, p), dtype=np.float32)
    informative = min(10, p)
    score = X[:, :informative].sum(axis=1) - informative / 2
    return X, (score + rng.normal(size=n) > 0).astype(int)


def sparse(n: int, p: int, density: float) -> tuple[Any, Any]:
    """Return a CSR matrix with the same number of entries in every row, and labels."""
    rng = np.random.default_rng(0)
    held = max(1, round(density * p))
    width = p // held  # each entry has its own range of columns, so that no column is drawn twice
    places = np.arange(held) * width + rng.integers(width, size=(n, held))
    entries = rng.random((n, held), dtype=np.float32)
    starts = np.arange(n + 1) * held
    X = sp.csr_matrix((entries.ravel(), places.ravel().astype(np.int32), starts), shape=(n, p))
    score = X @ np.where(np.arange(p) % 2, 1.0, -1.0)
    return X, (score + rng.normal(size=n) > 0).astype(int)


def classes(n: int, p: int, count: int) -> tuple[Any, Any]:
    """Return uniform columns in float32 and labels of so many classes."""
    X, _ = dense(n, p)
    rng = np.random.default_rng(1)
    scores = 8.0 * (X[:, :10] - 0.5) @ rng.normal(size=(10, count)) + rng.gumbel(size=(n, count))
    return X, scores.argmax(axis=1)
