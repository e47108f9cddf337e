"""Time of the very first fit, which compiles: in a new process with an empty cache of machine code."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

FIT = """
import sys, time, warnings
import numpy as np, scipy.sparse as sp
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.random((2000, 8))
name, form, target, solver = sys.argv[1:5]
y, declared = {
    "two": (X[:, 0] > 0.5, {"classes": (False, True)}),
    "three": (np.digitize(X[:, 0], [0.3, 0.6]), {"classes": (0, 1, 2)}),
    "number": (X[:, 0], {"target_bounds": (0.0, 1.0)}),
    "count": (rng.poisson(3 * X[:, 0]), {"target_bounds": (0.0, 10.0)}),
}[target]
start = time.perf_counter()
import privfit
model = getattr(privfit, name)(n_records=2000, feature_bounds=(0.0, 1.0), solver=solver, **declared)
model.fit(sp.csr_matrix(X) if form == "sparse" else X.astype(form), y)
print(time.perf_counter() - start)
"""

# model, form of the table, targets, solver
KINDS = {
    "logistic regression": ("DPLogisticRegression", "float32", "two", "adaptive"),
    "logistic regression, float64": ("DPLogisticRegression", "float64", "two", "adaptive"),
    "logistic regression, sparse": ("DPLogisticRegression", "sparse", "two", "adaptive"),
    "SVM": ("DPLinearSVC", "float32", "two", "adaptive"),
    "three classes": ("DPLogisticRegression", "float32", "three", "adaptive"),
    "three classes, sparse": ("DPLogisticRegression", "sparse", "three", "adaptive"),
    "linear regression": ("DPLinearRegression", "float32", "number", "adaptive"),
    "Huber regression": ("DPHuberRegressor", "float32", "number", "adaptive"),
    "quantile regression": ("DPQuantileRegressor", "float32", "number", "adaptive"),
    "Poisson regression": ("DPPoissonRegressor", "float32", "count", "adaptive"),
    "logistic regression, newton": ("DPLogisticRegression", "float32", "two", "newton"),
    "logistic regression, dpagd": ("DPLogisticRegression", "float32", "two", "dpagd"),
}


def seconds(kind: tuple[str, ...], cache: str) -> float:
    """Return the time of importing and fitting in a new process with this cache of machine code."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", FIT, *kind]
    return float(subprocess.run(command, env=environment, text=True, capture_output=True, check=True).stdout)


def of_kind(kind: tuple[str, ...]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as cache:
        return {"first fit, s": seconds(kind, cache), "next process, s": seconds(kind, cache)}


CASES = {name: lambda kind=kind: of_kind(kind) for name, kind in KINDS.items()}
