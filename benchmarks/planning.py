"""What `privfit.plan` forecasts for tables of the shape of real ones, beside what the real ones gave.

The development tables of PRIVFIT_DATA/tables, one 80/20 split and fixed seeds. The forecast is told what a
custodian could know or guess: the numbers of people and columns, the share of positives, and the AUC that the
same model reaches without privacy. Prints a Markdown table.
"""

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from tables import load, names

from privfit import DPLogisticRegression, plan

EPSILONS, DELTA, SEED = (0.1, 0.4, 1.0, 4.0), 1e-6, 20261116


def real(X: Any, y: Any, train: Any, test: Any, runs: int) -> tuple[float, float, list[list[float]]]:
    """Return the AUC and accuracy without privacy, and the accuracies with it, by epsilon and run."""
    public = {"classes": (0, 1), "n_records": len(train), "feature_bounds": (0.0, 1.0), "delta": DELTA}
    exact = DPLogisticRegression(solver="nonprivate", **public).fit(X[train], y[train])
    accuracies = [
        [
            DPLogisticRegression(epsilon, noise="seeded", random_state=SEED + run, **public)
            .fit(X[train], y[train])
            .score(X[test], y[test])
            for run in range(runs)
        ]
        for epsilon in EPSILONS
    ]
    auc = roc_auc_score(y[test], exact.decision_function(X[test]))
    return float(auc), exact.score(X[test], y[test]), accuracies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tables", nargs="*")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "| table | people x columns | positive | AUC | " + " | ".join(f"eps {e:g}" for e in EPSILONS) + " |"
    )
    print("|---|---|---|---|" + "---|" * len(EPSILONS))
    misses = []
    for name in arguments.tables or names():
        if name.endswith(".raw"):
            continue
        X, y = load(name)
        order = np.random.default_rng([SEED, 0]).permutation(len(y))
        train, test = np.split(order, [int(0.8 * len(y))])
        auc, _, reached = real(X, y, train, test, arguments.runs)
        share = float(y[train].mean())
        forecast = plan(
            len(train),
            X.shape[1],
            epsilons=EPSILONS,
            delta=DELTA,
            positives=share,
            auc=min(max(auc, 0.51), 0.999),
            runs=arguments.runs,
        )
        cells = []
        for row, got in zip(forecast.forecasts, reached, strict=True):
            cells.append(f"{row.accuracy:.3f} / {np.mean(got):.3f}")
            misses.append(np.mean(got) - row.accuracy)
        print(
            f"| {name} | {len(train):,} x {X.shape[1]:,} | {share:.0%} | {auc:.3f} | "
            + " | ".join(cells)
            + " |",
            flush=True,
        )
    table = np.reshape(misses, (-1, len(EPSILONS)))
    for epsilon, column in zip(EPSILONS, table.T, strict=True):
        print(
            f"\nepsilon {epsilon:g}: the tables gave {column.mean():+.3f} against the forecast on average, "
            f"{np.abs(column).mean():.3f} to either side, at worst {column[np.abs(column).argmax()]:+.3f}."
        )


if __name__ == "__main__":
    main()
