"""Time saved because threads spin for a moment before they sleep: a fit with and without it, in turns.

Run it on an idle machine: `python benchmarks/handover.py`.
"""

import time
import warnings

import numpy as np

from privfit import DPLogisticRegression
from privfit.datasets import load_adult
from privfit.engine.parallel import threads

ROUNDS = 12


def main() -> None:
    warnings.simplefilter("ignore")  # the scales of columns are declared
    adult = load_adult(split="train")
    tables = {"Adult, CSR": adult.data, "Adult, dense float32": adult.data.toarray().astype(np.float32)}
    watching, sleeping = (threads.LOOKS, threads.GRACE), (0, 0)
    print(f"{'':<24}{'watching, s':>14}{'sleeping, s':>14}{'ratio':>8}")
    for name, X in tables.items():
        best = {watching: np.inf, sleeping: np.inf}
        for _ in range(ROUNDS):
            for setting in best:
                threads.LOOKS, threads.GRACE = setting
                model = DPLogisticRegression(
                    1.0,
                    classes=("<=50K", ">50K"),
                    feature_bounds=(0, 1),
                    n_records=X.shape[0],
                    noise="seeded",
                    random_state=0,
                )
                started = time.perf_counter()
                model.fit(X, adult.target)
                best[setting] = min(best[setting], time.perf_counter() - started)
        ratio = best[sleeping] / best[watching]
        print(f"{name:<24}{best[watching]:>14.3f}{best[sleeping]:>14.3f}{ratio:>8.2f}")


if __name__ == "__main__":
    main()
