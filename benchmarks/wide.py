"""Private selection against noisy gradients on wide tables: `frank-wolfe` beside `adaptive`.

The tables are sparse, with 30 ones in each row, and 5 or 20 further columns that are 1 in 30% of the rows and
decide the label. If they exist, the wide development tables of PRIVFIT_DATA/tables are used, too. delta =
1e-6, 80/20 splits with fixed seeds. The script prints the held-out loss with its standard error, the
accuracy, and the two amounts on which the solvers' noise depends: n sqrt(2 rho) over sqrt(p), and over log(2
p).
"""

import argparse
import math
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from tables import DELTA, LOSSES, MODELS, SEED, load

from privfit.accounting import Concentrated

ONES = 30  # uninformative ones in a row
SOLVERS = ("adaptive", "frank-wolfe", "majority")
SYNTHETIC = {
    f"{n}x{p}, {k} informative": (n, p, k) for n, p in ((5_000, 20_000), (20_000, 100_000)) for k in (5, 20)
}
REAL = ("reuters-earn", "tweets-source", "food-reviews", "grants", "mnist5k-ge5", "digits-odd", "splice")


def sparse_table(n: int, p: int, informative: int) -> tuple[Any, Any]:
    rng = np.random.default_rng([SEED, n, p, informative])
    signal = rng.random((n, informative)) < 0.3
    others = rng.integers(p - informative, size=(n, ONES))
    entries = np.ones(n * ONES), others.ravel(), np.arange(0, n * ONES + 1, ONES)
    rest = sp.csr_matrix(entries, shape=(n, p - informative))
    rest.sum_duplicates()
    rest.data[:] = 1.0
    X = sp.hstack([sp.csr_matrix(signal.astype(float)), rest], format="csr")
    weights = np.resize([1.0, -1.0], informative) * 6.0 / math.sqrt(informative)
    scores = signal @ weights
    return X, (scores - scores.mean() + rng.logistic(size=n) > 0.0).astype(int)


def measure(solver: str, X: Any, y: Any, loss: str, epsilon: float, split: int) -> tuple[float, float]:
    """Return held-out loss and accuracy."""
    train, test = np.split(np.random.default_rng([SEED, split]).permutation(len(y)), [int(0.8 * len(y))])
    model = MODELS[loss](
        epsilon,
        DELTA,
        solver=solver,
        classes=(0, 1),
        noise="seeded",
        random_state=SEED + split,
        feature_bounds=(0.0, 1.0),
        n_records=len(train),
    ).fit(X[train], y[train])
    margins = np.where(y[test] == 1, 1, -1) * model.decision_function(X[test])
    return float(LOSSES[loss](margins).mean()), float(model.score(X[test], y[test]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=None)
    parser.add_argument("--loss", nargs="+", default=["logistic"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.4, 1.0, 4.0])
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    here = (Path(os.environ.get("PRIVFIT_DATA", ".")) / "tables").is_dir()
    started = time.perf_counter()
    for name in options.tables or (*SYNTHETIC, *(REAL if here else ())):
        X, y = sparse_table(*SYNTHETIC[name]) if name in SYNTHETIC else load(name)
        n, p = int(0.8 * len(y)), X.shape[1]
        for loss in options.loss:
            for epsilon in options.epsilons:
                reach = n * math.sqrt(2.0 * Concentrated.of(epsilon=epsilon, delta=DELTA).rho)
                cells = []
                for solver in SOLVERS:
                    runs = [measure(solver, X, y, loss, epsilon, split) for split in range(options.splits)]
                    (lost, right), error = np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1)[0]
                    cells.append(f"{lost:.3f} ± {error / math.sqrt(options.splits):.3f} ({right:.3f})")
                ratios = f"{reach / math.sqrt(p):.1f} | {reach / math.log(2 * p):.0f}"
                print(f"| {name} | {loss} | {epsilon:g} | {ratios} | {' | '.join(cells)} |", flush=True)
    print(f"({time.perf_counter() - started:.0f} s)")


if __name__ == "__main__":
    main()
