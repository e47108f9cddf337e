"""privfit beside other libraries on real tables of two classes: held-out accuracy and Brier score.

The dense development tables of PRIVFIT_DATA/tables, all features declared to be in [0, 1]; delta = 1e-6, of
which diffprivlib uses nothing; 80/20 splits with fixed seeds, the same for every library. The Brier score is
the mean squared error of the probabilities: .25 for a coin, 1 for sure and always wrong. `make rivals` sets
the other libraries up; what is not there is skipped, and the reason is printed.
"""

import argparse
import time
import warnings

import numpy as np
import rivals
import scipy.sparse as sp
import tables

from privfit import DPLogisticRegression

LEARNERS = ("diffprivlib/logistic", "interpret/classifier", "opacus/logistic")
OURS = "privfit"


def split_of(name: str, split: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    X, y = tables.load(name)
    order = np.random.default_rng([tables.SEED, split]).permutation(len(y))
    train, test = np.split(order, [int(0.8 * len(y))])
    return X[train], y[train], X[test], y[test]


def positive_probabilities(learner: str, name: str, epsilon: float, split: int) -> tuple[np.ndarray, float]:
    """Return the probabilities of class 1 on the held-out rows, and the seconds of the fit."""
    X_train, y_train, X_new, _ = split_of(name, split)
    if learner != OURS:
        job = rivals.Job(
            X_train=X_train,
            y_train=y_train,
            X_new=X_new,
            epsilon=epsilon,
            delta=tables.DELTA,
            feature_bounds=(0.0, 1.0),
            n_classes=2,
            seed=tables.SEED + split,
        )
        answer = rivals.fit(learner, job)
        return answer.probabilities[:, 1], answer.seconds
    warnings.simplefilter("ignore")
    started = time.perf_counter()
    model = DPLogisticRegression(
        epsilon,
        tables.DELTA,
        classes=(0, 1),
        feature_bounds=(0.0, 1.0),
        n_records=len(y_train),
        noise="seeded",
        random_state=tables.SEED + split,
    ).fit(X_train, y_train)
    return model.predict_proba(X_new)[:, 1], time.perf_counter() - started


def dense_tables() -> list[str]:
    declared = [name for name in tables.names() if not name.endswith(".raw")]
    return [name for name in declared if not sp.issparse(tables.load(name)[0])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=None)
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(tables.EPSILONS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS))
    options = parser.parse_args()
    compared = [OURS]
    for learner in options.learners:
        if reason := rivals.missing(learner):
            print(f"skipped: {reason}")
        else:
            compared.append(learner)
    print(f"{'table':<16}{'eps':>5} {'learner':<24}{'accuracy':>9}{'majority':>9}{'Brier':>8}{'seconds':>9}")
    for name in options.tables or dense_tables():
        for epsilon in options.epsilons:
            for learner in compared:
                rows = []
                try:
                    for split in range(options.splits):
                        positive, seconds = positive_probabilities(learner, name, epsilon, split)
                        y = split_of(name, split)[3]
                        right = np.mean((positive > 0.5) == y)
                        brier = np.mean((positive - y) ** 2)
                        rows.append((right, max(y.mean(), 1.0 - y.mean()), brier, seconds))
                except rivals.RivalFailed as failure:
                    print(f"{name:<16}{epsilon:>5} {failure}", flush=True)
                    continue
                accuracy, majority, brier, seconds = np.mean(rows, axis=0)
                print(
                    f"{name:<16}{epsilon:>5} {learner:<24}{accuracy:>9.4f}{majority:>9.4f}{brier:>8.4f}"
                    f"{seconds:>9.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
