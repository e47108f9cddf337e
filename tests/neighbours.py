"""Tables that differ by one hostile record, and settings under which every solver is run on them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from privfit import DPLinearSVC, DPLogisticRegression
from privfit.solvers import (
    DPAGD,
    SGDMA,
    SOLVERS,
    GradientDescent,
    ModernDPAGD,
    OutputPerturbation,
    PrivGene,
    SGDAdv,
)
from privfit.solvers.sufficient_statistics import SQUARED_LOSS

Table = tuple[np.ndarray, np.ndarray]

COLUMNS = 3
MODELS = {"logistic": DPLogisticRegression, "hinge": DPLinearSVC}
FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "dense": np.asarray,
    "csr": sparse.csr_matrix,
    "float32": np.float32,
}

# Private solvers of labels by name, with settings that make them quick; others run as they are.
QUICK = {
    "dpagd": DPAGD(splits=6),
    "dpagd-modern": ModernDPAGD(iterations=8),
    "gradient-descent": GradientDescent(steps=5),
    "privgene": PrivGene(population=12, parents=3),
    "sgd-ma": SGDMA(max_steps=8),
    "sgd-adv": SGDAdv(steps=6),
}
PRIVATE = {
    name: QUICK.get(name, solver())
    for name, solver in sorted(SOLVERS.items())
    if solver.private and SQUARED_LOSS not in solver.requires
}
VARIANTS = PRIVATE | {
    "dpagd, samples": DPAGD(splits=6, batch_size=20, selection="gumbel"),
    "dpagd, exponential": DPAGD(splits=6, selection="exponential"),
    "output-perturbation, few steps": OutputPerturbation(T=5, radius=1.0),
    "privgene, authors": PrivGene(variant="authors"),
}

AXES: dict[str, tuple[Any, ...]] = {
    "form": tuple(FORMS),
    "loss": tuple(MODELS),
    "fit_intercept": (True, False),
    "alpha": (0.0, 0.05),
    "n_records": (None, 60),
    "feature_bounds": (None, (-2.0, 2.0), (0.0, [1.0, 3.0, 1e6])),
    "epsilon": (0.5, 20.0),
}


def all_settings() -> list[dict[str, Any]]:
    """Return every combination of the settings."""
    return [dict(zip(AXES, values, strict=True)) for values in itertools.product(*AXES.values())]


def covering_settings(strength: int) -> list[dict[str, Any]]:
    """Return combinations of the settings among which every `strength` values of as many settings meet."""
    everything = all_settings()
    meetings = [
        set(itertools.combinations([(name, str(value)) for name, value in settings.items()], strength))
        for settings in everything
    ]
    chosen = []
    wanted = set().union(*meetings)
    while wanted:
        best = max(range(len(everything)), key=lambda k: len(wanted & meetings[k]))
        chosen.append(everything[best])
        wanted -= meetings[best]
    return chosen


def base_table() -> Table:
    """Return 60 records, half of them long and half short: one more decides where the median lies."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, COLUMNS))
    X *= (np.where(np.arange(60) % 2 == 0, 1.5, 0.2) / np.linalg.norm(X, axis=1))[:, None]
    X[np.abs(X) < 0.05] = 0.0
    return X, (X @ [2.0, -1.0, 0.5] + 0.3 * rng.logistic(size=60) > 0).astype(int)


def strange_tables() -> tuple[Table, Table]:
    """Return few long and many short records, which share nothing with the base but their columns."""
    rng = np.random.default_rng(4)
    return tuple(
        (size * rng.normal(size=(n, COLUMNS)) + shift, (rng.random(n) < 0.9).astype(int))
        for n, size, shift in ((23, 40.0, 7.0), (170, 0.01, 0.0))
    )


def hostile_records(X: np.ndarray, y: np.ndarray, dtype: type) -> dict[str, tuple[np.ndarray, int]]:
    """Return records that try to break what is said of any record."""
    limits = np.finfo(dtype)
    longest = int(np.argmax(np.linalg.norm(X, axis=1)))
    tiny = np.full(COLUMNS, limits.smallest_subnormal)
    return {
        "huge": (np.array([1.0, -1.0, 1.0]) * limits.max / 4.0, 1),
        "as large as can be": (np.full(COLUMNS, limits.max), 0),
        "subnormal": (tiny, 1),
        "square underflows": (np.full(COLUMNS, 1.5 * np.sqrt(float(limits.smallest_subnormal))), 0),
        "of many magnitudes": (np.array([float(limits.max) ** 0.5, tiny[0], -1.0]), 0),
        "zero": (np.zeros(COLUMNS), 1),
        "duplicate": (X[0], int(y[0])),
        "mislabelled": (3.0 * X[longest], 1 - int(y[longest])),
    }


def neighbours(dtype: type) -> dict[str, Table]:
    """Return the tables that differ from the base by one record, which comes last."""
    X, y = base_table()
    more = {
        f"with a record more, {kind}": (np.vstack([X, x]), np.append(y, label))
        for kind, (x, label) in hostile_records(X, y, dtype).items()
    }
    return more | {"with a record less": (X[:-1], y[:-1])}


def fitting(solver: Any, settings: dict[str, Any], table: Table) -> Callable[[], Any]:
    """Return the fit of one table under these settings, with secure noise and declared classes."""
    X, y = table
    public = {name: value for name, value in settings.items() if name not in ("form", "loss")}
    public = {"delta": 1e-3, "classes": (0, 1), "solver": solver} | public
    return lambda: MODELS[settings["loss"]](**public).fit(FORMS[settings["form"]](X), y)
