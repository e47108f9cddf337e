"""Accuracy of the solvers on synthetic tables, each from a fixed seed, on which nothing was tuned.

Logistic regression with the public estimator. A fifth of the records is held out, and delta is 1e-8. Labels,
n and the bounds (0, 1) are declared public, and every feature is between these bounds. The script prints one
Markdown table: training objective and held-out accuracy, mean ± standard error over runs.
"""

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from privfit import DPLogisticRegression

EPSILONS, TINY_EPSILONS = (0.05, 0.2, 0.8), (0.05, 0.2, 0.4, 0.8)
SOLVERS = ("adaptive", "dpagd-modern", "dpagd", "majority", "nonprivate")
RUNS, SEED, N = 4, 20180823, 20_000


def labels(rng: np.random.Generator, score: Any, noise: float = 1.0) -> Any:
    return (score + noise * rng.logistic(size=len(score)) > 0).astype(int)


def linear(rng: np.random.Generator, X: Any, spread: float) -> tuple[Any, Any]:
    """Label X by a random direction whose score has the given standard deviation."""
    score = X @ rng.normal(size=X.shape[1])
    return X, labels(rng, (score - score.mean()) * (spread / score.std()))


def one_hot(rng: np.random.Generator) -> tuple[Any, Any]:
    """Return 50 categorical columns of 10 unequally frequent levels: p = 500, 50 of them 1 in a record."""
    n, columns, levels = 50_000, 50, 10
    drawn = [rng.choice(levels, n, p=rng.dirichlet(np.ones(levels))) for _ in range(columns)]
    ones = (np.arange(columns) * levels + np.column_stack(drawn)).ravel()
    X = sp.csr_matrix((np.ones(n * columns), ones, np.arange(n + 1) * columns), shape=(n, columns * levels))
    return linear(rng, X, 3.0)


def tiny(n: int) -> Callable[[np.random.Generator], tuple[Any, Any]]:
    """Return a table with n records for training."""
    return lambda rng: linear(rng, rng.random((n * 5 // 4, 10)), 3.0)


def separable(rng: np.random.Generator) -> tuple[Any, Any]:
    X = rng.random((N, 20))
    score = (X - 0.5) @ rng.normal(size=20)
    return X, (score > 0).astype(int)


def heavy_tailed(rng: np.random.Generator) -> tuple[Any, Any]:
    """Student's t with 2 degrees of freedom: the largest value of a column is far above typical values."""
    X = np.abs(rng.standard_t(2, (N, 20)))
    y = labels(rng, (np.minimum(X, 5.0) - 1.2) @ rng.normal(size=20))
    return X / X.max(axis=0), y


def badly_scaled(rng: np.random.Generator) -> tuple[Any, Any]:
    """Bounds a thousand times too wide for some columns, which matter as much as the others."""
    X = rng.random((N, 20))
    _, y = linear(rng, X, 2.0)
    return X * 10.0 ** -rng.integers(0, 4, 20), y


def rare(rng: np.random.Generator) -> tuple[Any, Any]:
    """1% positives, most of them predictable."""
    X = rng.random((N, 20))
    score = X @ rng.normal(size=20)
    return X, labels(rng, 8.0 * (score - np.quantile(score, 0.99)) / score.std())


def noise(rng: np.random.Generator) -> tuple[Any, Any]:
    """Labels that do not depend on the features; 60% are negative."""
    return rng.random((N, 50)), (rng.random(N) < 0.4).astype(int)


def duplicated(rng: np.random.Generator) -> tuple[Any, Any]:
    X, y = linear(rng, rng.random((N, 5)), 2.0)
    return np.repeat(X, 10, axis=1), y


FAMILIES: dict[str, Callable[[np.random.Generator], tuple[Any, Any]]] = {
    "one-hot p=500": one_hot,
    "tiny n=500": tiny(500),
    "tiny n=1000": tiny(1000),
    "tiny n=3000": tiny(3000),
    "separable": separable,
    "heavy-tailed": heavy_tailed,
    "badly scaled": badly_scaled,
    "1% positives": rare,
    "pure noise": noise,
    "duplicated columns": duplicated,
}


def split(name: str) -> tuple[Any, Any, Any, Any]:
    """Return the family's training features and labels, then the held-out ones."""
    rng = np.random.default_rng([SEED, list(FAMILIES).index(name)])
    X, y = FAMILIES[name](rng)
    train, test = np.split(rng.permutation(len(y)), [len(y) * 4 // 5])
    return X[train], y[train], X[test], y[test]


def measure(data: tuple[Any, Any, Any, Any], solver: str, epsilon: float, runs: int) -> str:
    X, y, X_test, y_test = data
    objectives, accuracies = [], []
    for run in range(runs if solver not in ("majority", "nonprivate") else 1):
        model = DPLogisticRegression(
            epsilon,
            1e-8,
            solver=solver,
            classes=(0, 1),
            n_records=len(y),
            feature_bounds=(0.0, 1.0),
            noise="seeded",
            random_state=SEED + run,
        ).fit(X, y)
        margins = np.where(y == 1, 1, -1) * model.decision_function(X)
        objectives.append(float(np.logaddexp(0, -margins).mean()))
        accuracies.append(float(model.score(X_test, y_test)))
    return f"{shown(objectives, 4)} | {shown(accuracies, 3)}"


def shown(values: list[float], digits: int) -> str:
    mean = f"{np.mean(values):.{digits}f}"
    if len(values) == 1:
        return mean
    return f"{mean} ± {np.std(values, ddof=1) / len(values) ** 0.5:.{digits}f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS), choices=SOLVERS)
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| family | epsilon | solver | objective | held-out accuracy |\n|---|---|---|---|---|")
    for name in options.families:
        data = split(name)
        for solver in options.solvers:
            private = solver not in ("majority", "nonprivate")
            for epsilon in (TINY_EPSILONS if name.startswith("tiny") else EPSILONS) if private else (1.0,):
                cells = measure(data, solver, epsilon, options.runs)
                print(f"| {name} | {epsilon if private else '-'} | {solver} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
