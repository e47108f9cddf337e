"""The number of passes of the default solver on large tables, and the objective that it reaches.

Simulated tables of 300,000 rows, and KDDCup99 (10%) from PRIVFIT_DATA; delta = 1e-6, seeded noise, n and
bounds declared, training objective. The default is compared with the same walk without curvature, which takes
300 to 600 passes, and with the optimum without privacy.

With --max-passes, real tables instead (Adult, Bank, and development tables of PRIVFIT_DATA/tables): the mean
training objective of five fits with and without the limit. Rows are added to --out when they are measured,
and existing rows are not measured again. Delete a table's rows to measure it again.
"""

import argparse
import csv
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tables

import privfit
from privfit import DPLinearSVC, DPLogisticRegression
from privfit.datasets import load
from privfit.solvers import curvature

N = 300_000
MODELS = {"logistic": DPLogisticRegression, "hinge": DPLinearSVC}
LOSSES = {"logistic": lambda m: np.logaddexp(0, -m), "hinge": lambda m: np.maximum(1 - m, 0)}


def labelled(X: Any, margins: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    return X.astype(np.float32), (margins + rng.logistic(size=len(X)) > 0).astype(int)


def uniform(rng: np.random.Generator) -> tuple[Any, Any]:
    X = rng.random((N, 50))
    return labelled(X, (X - 0.5) @ rng.normal(size=50) * 4, rng)


def permuted(rng: np.random.Generator) -> tuple[Any, Any]:
    return rng.random((N, 50), dtype=np.float32), (rng.random(N) < 0.3).astype(int)


def three_factors(rng: np.random.Generator) -> tuple[Any, Any]:
    factors = rng.normal(size=(N, 3)) @ rng.normal(size=(3, 50))
    X = 1 / (1 + np.exp(-factors - 0.5 * rng.normal(size=(N, 50))))
    return labelled(X, (X - 0.5) @ rng.normal(size=50) * 13, rng)


def ill_conditioned(rng: np.random.Generator) -> tuple[Any, Any]:
    """Return a table whose second moments have a condition number of 1e4."""
    bases = [np.linalg.qr(rng.normal(size=(120, 120)))[0] for _ in range(2)]
    Z = rng.normal(size=(N, 120)) @ ((bases[0] * np.logspace(0, -2, 120)) @ bases[1])
    Z /= Z.std(axis=0)
    margins = Z @ rng.normal(size=120)
    return labelled(np.clip(Z / 8 + 0.5, 0, 1), 3 * margins / margins.std(), rng)


def one_hot(rng: np.random.Generator) -> tuple[Any, Any]:
    X = np.zeros((N, 120))
    for k in range(10):
        X[np.arange(N), 12 * k + rng.choice(12, N, p=rng.dirichlet(np.full(12, 0.5)))] = 1.0
    return labelled(X, X @ rng.normal(size=120) * 1.5, rng)


def nearly_separable(rng: np.random.Generator) -> tuple[Any, Any]:
    X = rng.random((N, 50))
    X[:, 25:] = X[:, 25:] < 0.1
    margins = (X - 0.5) @ rng.normal(size=50)
    return labelled(X, 60 * (margins - np.median(margins)), rng)


def kddcup99(rng: np.random.Generator) -> tuple[Any, Any]:
    table = load("kddcup99")
    return table.data, (table.target == table.schema.label.classes[1]).astype(int)


TABLES: dict[str, Callable[[np.random.Generator], tuple[Any, Any]]] = {
    "uniform": uniform,
    "permuted labels": permuted,
    "three factors": three_factors,
    "condition 1e4": ill_conditioned,
    "one-hot": one_hot,
    "nearly separable": nearly_separable,
    "KDDCup99": kddcup99,
}


def fitted(X: Any, y: Any, loss: str, epsilon: float, solver: str) -> str:
    model = MODELS[loss](
        epsilon,
        1e-6,
        solver=solver,
        classes=(0, 1),
        n_records=len(y),
        feature_bounds=(0.0, 1.0),
        noise="seeded",
        random_state=0,
    ).fit(X, y)
    objective = LOSSES[loss](np.where(y == 1, 1, -1) * model.decision_function(X)).mean()
    return f"{objective:.5f} ({model.n_iter_})" if solver == "adaptive" else f"{objective:.5f}"


LIMITED = ("adult", "bank", "card-late", "doctor-visits", "wa-churn", "optdigits-odd", "spambase")
FIELDS = (
    "table",
    "n",
    "columns",
    "loss",
    "epsilon",
    "reach",
    "max_passes",
    "usual",
    "steps",
    "limited",
    "version",
)
FITS = 5


def compare(out: Path, names: list[str], losses: list[str], epsilons: list[float], max_passes: int) -> None:
    """Compare objectives with and without a limit of passes, and print them all."""
    rows = list(csv.DictReader(out.open())) if out.exists() else []
    made = {(row["table"], row["loss"], float(row["epsilon"]), int(row["max_passes"])) for row in rows}
    for name in names:
        X, y = tables.load(name)
        for loss in losses:
            for epsilon in epsilons:
                if (name, loss, epsilon, max_passes) in made:
                    continue
                found: dict[int | None, list[float]] = {None: [], max_passes: []}
                for limit, objectives in found.items():
                    for seed in range(FITS):
                        model = MODELS[loss](
                            epsilon,
                            1e-6,
                            classes=(0, 1),
                            n_records=len(y),
                            feature_bounds=(0.0, 1.0),
                            max_passes=limit,
                            noise="seeded",
                            random_state=seed,
                        ).fit(X, y)
                        margins = np.where(y == 1, 1, -1) * model.decision_function(X)
                        objectives.append(float(LOSSES[loss](margins).mean()))
                    if limit is None:
                        steps = model.n_iter_
                reach = len(y) * np.sqrt(2.0 * model.privacy_.rho)
                usual, limited = (round(float(np.mean(found[limit])), 5) for limit in (None, max_passes))
                values = name, *X.shape, loss, epsilon, round(reach), max_passes, usual, steps, limited
                rows.append(dict(zip(FIELDS, (*values, privfit.__version__), strict=True)))
                with out.open("a", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                    if file.tell() == 0:
                        writer.writeheader()
                    writer.writerow(rows[-1])
    print(
        "| table | records x columns | loss | epsilon | reach | usual (steps) | with the limit | difference |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for row in sorted(rows, key=lambda row: -float(row["reach"])):
        usual, limited = float(row["usual"]), float(row["limited"])
        size = f"{int(row['n']):,} x {row['columns']}"
        told = f"{usual:.4f} ({row['steps']}) | {limited:.4f} | {limited - usual:+.4f}"
        public = f"{size} | {row['loss']} | {float(row['epsilon']):g} | {int(row['reach']):,}"
        print(f"| {row['table']} | {public} | {told} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--loss", nargs="+", default=list(MODELS))
    parser.add_argument("--epsilon", nargs="+", type=float, default=[0.2, 1.0, 8.0])
    parser.add_argument("--max-passes", type=int)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("passes.csv"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.max_passes is not None:
        names = options.tables or list(LIMITED)
        return compare(options.out, names, options.loss, options.epsilon, options.max_passes)
    limit = curvature.MOST_WEIGHTS
    print("| table | loss | epsilon | default (steps) | without curvature (steps) | non-private |")
    print("|---|---|---|---|---|---|")
    for name in options.tables or TABLES:
        X, y = TABLES[name](np.random.default_rng(20261116))
        for loss in options.loss:
            optimum = fitted(X, y, loss, 1.0, "nonprivate") if loss == "logistic" else ""
            for epsilon in options.epsilon:
                cells = []
                for curvature.MOST_WEIGHTS in (limit, 0):
                    cells.append(fitted(X, y, loss, epsilon, "adaptive"))
                print(f"| {name} | {loss} | {epsilon} | " + " | ".join(cells), f"| {optimum} |", flush=True)


if __name__ == "__main__":
    main()
