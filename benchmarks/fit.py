"""Time of a whole fit, compared with scikit-learn's non-private fit and with (passes) x (one product X @ w).

A pass here is a step of the walk, which reads X once to compute margins and clipped gradients, or one of the
few questions about the features' geometry. Times are the best of several warm runs in one process, with
seeded noise and with secure noise, which users get. The first table compares the fit with LogisticRegression
(lbfgs, its default tolerance) on the same arrays, in turns. --million adds 4.9 million rows, which take 3 GB
and some minutes.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from privfit import DPLogisticRegression
from privfit.datasets import load_adult


def best(rounds: int, *functions: Any) -> list[float]:
    """Return the best time of each function; they take turns, so that they run under the same conditions."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, taken in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def report(name: str, X: Any, y: Any, rounds: int) -> None:
    settings = {"n_records": X.shape[0], "feature_bounds": (0.0, 1.0)}
    model = DPLogisticRegression(1.0, 1e-8, noise="seeded", random_state=0, **settings)
    released = DPLogisticRegression(1.0, 1e-8, **settings)
    model.fit(X, y)  # compiles
    released.fit(X, y)
    w = np.linspace(-1, 1, X.shape[1]).astype(X.dtype)
    (product,) = best(5 * rounds, lambda: X @ w)
    time.sleep(0.2)  # BLAS threads spin for a while after a product
    fit, secure = best(rounds, lambda: model.fit(X, y), lambda: released.fit(X, y))
    passes = model.n_iter_ + 9  # checks, norms twice, magnitudes, curves, moments twice, labels, curvature
    ratio = fit / (passes * product)
    print(
        f"{name:<32}{fit:>10.3f}{passes:>10}{1e3 * product:>14.2f}{ratio:>10.2f}",
        f"{secure:>11.3f}{secure / fit:>10.2f}",
        flush=True,
    )


def headline(name: str, X: Any, y: Any, rounds: int) -> None:
    """Print a private fit's time beside that of scikit-learn's fit without privacy."""
    settings = {"n_records": X.shape[0], "feature_bounds": (0.0, 1.0)}
    seeded = DPLogisticRegression(1.0, 1e-8, noise="seeded", random_state=0, **settings)
    secure = DPLogisticRegression(1.0, 1e-8, **settings)
    plain = LogisticRegression()
    secure.fit(X[:5000], y[:5000])  # compiles
    times = best(rounds, lambda: secure.fit(X, y), lambda: plain.fit(X, y), lambda: seeded.fit(X, y))
    private, public, with_seed = times
    losses = [log_loss(y[:500_000], model.predict_proba(X[:500_000])) for model in (secure, plain)]
    print(
        f"{name:<32}{private:>8.2f}{with_seed:>8.2f}{secure.n_iter_:>8}{public:>10.2f}",
        f"{plain.n_iter_[0]:>11}{private / public:>8.2f}{losses[0]:>12.4f}{losses[1]:>9.4f}",
        flush=True,
    )


def random_table(n: int) -> tuple[Any, Any]:
    """Return uniform columns in float32, of which ten explain the label."""
    rng = np.random.default_rng(0)
    X = rng.random((n, 120), dtype=np.float32)
    return X, (X[:, :10].sum(axis=1) + rng.normal(size=n) > 5).astype(int)


def compare(million: bool, rounds: int, n: int) -> None:
    """Print the first table."""
    columns = (("secure", 8), ("seeded", 8), ("passes", 8), ("sklearn", 10))
    columns += (("iterations", 12), ("ratio", 8), ("log loss", 12), ("sklearn", 9))
    print(" " * 32 + "".join(f"{column:>{width}}" for column, width in columns))
    adult = load_adult()
    y = (adult.target == adult.schema.label.classes[1]).astype(int)
    headline("Adult, CSR float32", adult.data, y, rounds)
    headline("Adult, dense float32", adult.data.toarray(), y, rounds)
    headline(f"random {n:,} x 120 float32", *random_table(n), max(2, rounds // 3))
    if million:
        headline("random 4,900,000 x 120 float32", *random_table(4_900_000), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the large matrix, fewer rounds")
    parser.add_argument("--million", action="store_true", help="4.9 million rows, too")
    parser.add_argument("--headline", action="store_true", help="only the comparison with scikit-learn")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rounds = 2 if options.quick else 10
    n = 50_000 if options.quick else 500_000
    compare(options.million, rounds, n)
    if options.headline:
        return
    columns = (
        ("seconds", 10),
        ("passes", 10),
        ("X @ w, ms", 14),
        ("ratio", 10),
        ("secure", 12),
        ("/ seeded", 10),
    )
    print(" " * 32 + "".join(f"{column:>{width}}" for column, width in columns))
    adult = load_adult()
    y = (adult.target == adult.schema.label.classes[1]).astype(int)
    report("Adult, CSR float32", adult.data, y, rounds)
    report("Adult, dense float32", adult.data.toarray(), y, rounds)
    report("Adult, dense float64", adult.data.toarray().astype(np.float64), y, rounds)
    report(f"random {n:,} x 120 float32", *random_table(n), max(2, rounds // 3))
    rng = np.random.default_rng(0)
    ones = rng.integers(10_000, size=(20_000, 60))
    rows = np.repeat(np.arange(20_000), 60)
    X = sp.csr_array((np.ones(ones.size, dtype=np.float32), (rows, ones.ravel())), shape=(20_000, 10_000))
    X.data[:] = 1.0  # the same column drawn twice in a row is one
    y = (X[:, :300].sum(axis=1) + rng.normal(size=20_000) > 2).astype(int)
    report("20,000 x 10,000, 60 ones a row", X, y, max(2, rounds // 3))


if __name__ == "__main__":
    main()
