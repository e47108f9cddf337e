"""Compare the forecasts of `privfit.plan` with results on real tables of the same shape.

The development tables of PRIVFIT_DATA/tables (two labels) and PRIVFIT_DATA/tables3 (several classes and
numbers), one 80/20 split and fixed seeds. The forecast gets the facts that a custodian could know or guess:
the numbers of people and columns, the shares of the classes, and the AUC, or the R², that the same model
reaches without privacy, with scikit-learn's default regularisation. A hash of their names divides the tables
into two halves. The population of `privfit.planning` was chosen on the first half, and the second half was
used only afterwards.

Rows are added to --out when they are measured, and existing rows are not measured again. Prints a Markdown
table, and the mean error of the forecasts on both halves.
"""

import argparse
import csv
import hashlib
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import tables

import privfit
from privfit import DPLinearRegression, DPLogisticRegression, plan
from privfit.planning.targets import Classes, Numbers

EPSILONS, DELTA, SEED, RUNS = (0.1, 0.4, 1.0, 4.0), 1e-6, 20261116, 3
FIELDS = ("table", "half", "kind", "n", "columns", "assumed", "epsilon", "forecast", "real", "version")
WIDEST = 1_000  # columns: wider tables take minutes each


def half_of(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2


def load(name: str) -> tuple[Any, Any, str]:
    """Return features in [0, 1], targets and their kind."""
    if name in tables.names():
        return *tables.load(name), "labels"
    with np.load(Path(os.environ["PRIVFIT_DATA"]) / "tables3" / f"{name}.npz", allow_pickle=True) as parts:
        low, high = parts["low"].astype(float), parts["high"].astype(float)
        X = np.clip((parts["X"] - low) / np.maximum(high - low, 1e-12), 0.0, 1.0).astype(np.float32)
        kind, y = str(parts["kind"]), parts["y"]
        if "class" in kind:
            return X, np.unique(y, return_inverse=True)[1], "classes"
        bounds = float(parts["y_low"]), float(parts["y_high"])
        return X, np.clip(y.astype(float), *bounds), "counts" if "count" in kind else "numbers"


def names() -> list[str]:
    binary = [name for name in tables.names() if not name.endswith(".raw")]
    others = sorted(path.stem for path in (Path(os.environ["PRIVFIT_DATA"]) / "tables3").glob("*.npz"))
    return [*binary, *others]


def measure(name: str) -> list[dict[str, Any]]:
    """Return a row for each epsilon."""
    X, y, kind = load(name)
    if kind == "counts" or X.shape[1] > WIDEST:
        return []
    order = np.random.default_rng([SEED, 0]).permutation(len(y))
    train, test = np.split(order, [int(0.8 * len(y))])
    public: dict[str, Any] = {"n_records": len(train), "feature_bounds": (0.0, 1.0), "delta": DELTA}
    target: Any
    if kind == "numbers":
        estimator, score, target = DPLinearRegression, "r2", Numbers(0.5)
        public["target_bounds"] = float(y.min()), float(y.max())
    else:
        estimator, score = DPLogisticRegression, "accuracy"
        shares = np.bincount(y[train]) / len(train)
        target = Classes(tuple(shares.tolist()), 0.8)
        public["classes"] = tuple(range(len(shares)))
    exact = estimator(solver="nonprivate", alpha=1.0 / len(train), **public).fit(X[train], y[train])
    assumed = target.quality(exact, X[test], y[test])
    if kind == "numbers":
        told: dict[str, Any] = {"r2": min(max(assumed, 0.01), 0.999)}
    else:
        told = {"auc": min(max(assumed, 0.51), 0.9995), "classes": target.shares}
    forecasts = plan(len(train), X.shape[1], epsilons=EPSILONS, delta=DELTA, runs=RUNS, **told).forecasts
    rows = []
    for forecast in forecasts:
        got = [
            target.scores_of(
                estimator(forecast.epsilon, noise="seeded", random_state=SEED + run, **public).fit(
                    X[train], y[train]
                ),
                X[test],
                y[test],
            )[score]
            for run in range(RUNS)
        ]
        values = (
            *(name, half_of(name), kind, len(train), X.shape[1], round(assumed, 4), forecast.epsilon),
            *(round(forecast.score, 4), round(float(np.mean(got)), 4), privfit.__version__),
        )
        rows.append(dict(zip(FIELDS, values, strict=True)))
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    epsilons = " | ".join(f"eps {e:g}" for e in EPSILONS)
    print(f"| table | people x columns | kind | AUC or R² | {epsilons} |")
    print("|---|---|---|---|" + "---|" * len(EPSILONS))
    for name in dict.fromkeys(row["table"] for row in rows):
        own = [row for row in rows if row["table"] == name]
        cells = [f"{float(row['forecast']):.3f} / {float(row['real']):.3f}" for row in own]
        first = own[0]
        size = f"{int(first['n']):,} x {int(first['columns']):,}"
        print(f"| {name} | {size} | {first['kind']} | {float(first['assumed']):.3f} | {' | '.join(cells)} |")
    print(f"\n| real less forecast | tables | {epsilons} |")
    print("|---|---|" + "---|" * len(EPSILONS))
    groups = {
        "two labels, first half": lambda row: row["kind"] == "labels" and int(row["half"]) == 0,
        "two labels, second half": lambda row: row["kind"] == "labels" and int(row["half"]) == 1,
        "several classes": lambda row: row["kind"] == "classes",
        "numbers": lambda row: row["kind"] == "numbers",
    }
    for title, belongs in groups.items():
        misses = np.array([float(row["real"]) - float(row["forecast"]) for row in rows if belongs(row)])
        if len(misses):
            columns = misses.reshape(-1, len(EPSILONS)).T
            cells = [f"{column.mean():+.3f} ({np.abs(column).mean():.3f})" for column in columns]
            print(f"| {title} | {len(columns[0])} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("planning.csv"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = list(csv.DictReader(arguments.out.open())) if arguments.out.exists() else []
    for name in arguments.tables or names():
        if name in {row["table"] for row in rows}:
            continue
        made = measure(name)
        rows.extend(made)
        with arguments.out.open("a", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            if file.tell() == 0:
                writer.writeheader()
            writer.writerows(made)
    show(rows)


if __name__ == "__main__":
    main()
