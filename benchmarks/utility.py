"""Accuracy of the solvers: training objective and held-out accuracy, on folds and seeds fixed beforehand.

Adult (LIBSVM's encoding), Bank Marketing and IPUMS-BR as the DP-AGD paper encodes them, from the directory
named by PRIVFIT_DATA; 2 of 5 folds x 5 runs, delta = 1e-8, labels, bounds and n declared public as in the
paper. Columns are rescaled to [0, 1] by their extremes, which the paper takes as public. Prints Markdown
tables and writes them to --out.
"""

import argparse
import gzip
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from privfit import DPLinearSVC, DPLogisticRegression

EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
MODELS = {"logistic": DPLogisticRegression, "hinge": DPLinearSVC}
LOSSES = {"logistic": lambda m: np.logaddexp(0, -m), "hinge": lambda m: np.maximum(1 - m, 0)}
FOLDS, RUNS, SEED = 2, 5, 20180823  # --seed gives other folds and noise

# Results of the first prototype, with exact Gaussian accounting, on other folds.
BARS = {
    ("logistic", "adult"): (0.3502, 0.3398, 0.3327, 0.3276, 0.3254, 0.3246),
    ("logistic", "bank"): (0.3242, 0.2997, 0.2682, 0.2550, 0.2533, 0.2528),
    ("logistic", "ipums-br"): (0.4964, 0.4812, 0.4706, 0.4663, 0.4650, 0.4650),
    ("hinge", "adult"): (0.3792, 0.3664, 0.3601, 0.3557, 0.3538, 0.3539),
    ("hinge", "bank"): (0.2392, 0.2265, 0.2259, 0.2226, 0.2208, 0.2192),
    ("hinge", "ipums-br"): (0.5651, 0.5434, 0.5337, 0.5294, 0.5284, 0.5290),
}
TOLERANCE = (0.003, 0.003, 0.0015, 0.0015, 0.0015, 0.0015)


def load(name: str) -> tuple[Any, Any]:
    directory = Path(os.environ["PRIVFIT_DATA"])
    if name == "adult":
        parts = [load_svmlight_file(str(directory / f), n_features=123) for f in ("a9a.gz", "a9a.t.gz")]
        X = sp.vstack([X for X, _ in parts]).toarray()
        y = np.concatenate([y for _, y in parts])
    else:
        with gzip.open(directory / {"bank": "BANK.dat.gz", "ipums-br": "IPUMS-BR.dat.gz"}[name]) as file:
            table = np.loadtxt(file)
        X, y = table[:, :-1], table[:, -1]
    low, high = X.min(axis=0), X.max(axis=0)
    return ((X - low) / np.where(high > low, high - low, 1.0)).astype(np.float32), (y == y.max()).astype(int)


def folds(n: int, seed: int) -> list[tuple[Any, Any]]:
    parts = np.array_split(np.random.default_rng(seed).permutation(n), 5)
    return [(np.concatenate(parts[:k] + parts[k + 1 :]), parts[k]) for k in range(FOLDS)]


def measure(
    X: Any, y: Any, loss: str, solver: str, epsilon: float, seed: int
) -> tuple[list[float], list[float]]:
    objectives, accuracies = [], []
    for k, (train, test) in enumerate(folds(len(y), seed)):
        for run in range(RUNS if solver not in ("nonprivate", "majority") else 1):
            model = MODELS[loss](
                epsilon,
                1e-8,
                solver=solver,
                classes=(0, 1),
                n_records=len(train),
                feature_bounds=(0.0, 1.0),
                noise="seeded",
                random_state=seed + 100 * k + run,
            ).fit(X[train], y[train])
            margins = np.where(y[train] == 1, 1, -1) * model.decision_function(X[train])
            objectives.append(float(LOSSES[loss](margins).mean()))
            accuracies.append(model.score(X[test], y[test]))
    return objectives, accuracies


def row(label: str, cells: list[list[float]]) -> str:
    shown = (f"{np.mean(c):.4f} ± {np.std(c, ddof=1) / len(c) ** 0.5:.4f}" for c in cells)
    return f"| {label} | " + " | ".join(shown) + " |"


def compare(loss: str, name: str, solvers: list[str], seed: int) -> list[str]:
    X, y = load(name)
    lines: dict[str, list[str]] = {"objective": [], "accuracy": []}
    for solver in solvers:
        started = time.perf_counter()
        results = [measure(X, y, loss, solver, epsilon, seed) for epsilon in EPSILONS]
        objectives, accuracies = ([r[i] for r in results] for i in (0, 1))
        lines["objective"].append(row(solver, objectives))
        lines["accuracy"].append(row(solver, accuracies))
        if solver == "adaptive":
            means = [float(np.mean(o)) for o in objectives]
            limits = [bar + t for bar, t in zip(BARS[loss, name], TOLERANCE, strict=True)]
            missed = [e for e, m, limit in zip(EPSILONS, means, limits, strict=True) if m > limit]
            rises = [e for e, a, b in zip(EPSILONS[1:], means, means[1:], strict=False) if b > a]
            verdict = f"bar missed at {missed or 'no epsilon'}, objective rises at {rises or 'none'}"
            print(f"{loss}, {name}: {verdict} ({time.perf_counter() - started:.0f} s)", flush=True)
    head = "| " + " | ".join(["", *map(str, EPSILONS)]) + " |\n|" + "---|" * (len(EPSILONS) + 1)
    return [
        line
        for kind, rows in lines.items()
        for line in (f"**{loss}, {name}, {kind}** (mean ± standard error)\n", head, *rows, "")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--solvers", nargs="+", default=["adaptive", "dpagd-modern", "dpagd"])
    parser.add_argument("--data", nargs="+", default=["adult", "bank", "ipums-br"])
    parser.add_argument("--loss", nargs="+", default=list(MODELS))
    parser.add_argument("--seed", type=int, default=SEED, help="of folds and noise")
    parser.add_argument("--out", type=Path, help="file to write the tables to")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = [
        line
        for loss in options.loss
        for name in options.data
        for line in compare(loss, name, options.solvers, options.seed)
    ]
    print("\n".join(tables))
    if options.out:
        options.out.write_text("\n".join(tables) + "\n")


if __name__ == "__main__":
    main()
