"""Accuracy of the regressors on real tables, compared with other private ones and without privacy.

The tables of PRIVFIT_DATA/tables3 whose target is a number or a count; delta = 1e-6, 80/20 splits with fixed
seeds, the same for every learner. Scores are for held-out records: R^2 for means, and the explained share of
the Poisson deviance for counts and of the quantile loss for quantiles. The best constant has the score 0.

privfit gets the bounds of features and target that might be public knowledge and the number of records, or no
such facts ("raw"), or bounds that are 100 times as wide ("wide"). "adassp" is AdaSSP (Wang 2018) with bounds,
means and scales read off the data, which is not private: an oracle. "constant" is a mean, or a quantile,
bought with the whole budget within the declared bounds. `make rivals` installs other libraries; missing ones
are skipped. Each fit is a line in --results, and is not measured again. All lines of privfit in
regression.csv come from one commit and ten splits. Other libraries were measured on the first six of these
splits.
"""

import argparse
import csv
import functools
import math
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import rivals
from sklearn.linear_model import LinearRegression, PoissonRegressor, QuantileRegressor
from sklearn.metrics import d2_pinball_score, d2_tweedie_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from privfit import DPHuberRegressor, DPLinearRegression, DPPoissonRegressor, DPQuantileRegressor
from privfit.accounting import Gaussian

DELTA, SEED = 1e-6, 20261118
EPSILONS = (0.1, 1.0, 4.0)
NUMBERS = ("wages-islr", "computers", "cps1988", "vocabulary", "ames", "births-weight")
COUNTS = ("doctor-visits-aus", "hospital-days")
QUANTILES = {"median": 0.5, "upper decile": 0.9}
TASKS = ("mean", "counts", *QUANTILES)
FIELDS = ("task", "table", "learner", "epsilon", "split", "score", "seconds")


class Split(NamedTuple):
    """Training and held-out records of a table, with public bounds."""

    X: Any
    y: Any
    X_new: Any
    y_new: Any
    low: Any
    high: Any
    y_low: float
    y_high: float


@functools.cache
def load(name: str) -> dict[str, Any]:
    with np.load(Path(os.environ["PRIVFIT_DATA"]) / "tables3" / f"{name}.npz") as parts:
        return {key: parts[key] for key in ("X", "y", "low", "high", "y_low", "y_high")}


def split_of(name: str, number: int) -> Split:
    parts = load(name)
    X, y = parts["X"], parts["y"].astype(np.float64)
    order = np.random.default_rng([SEED, number]).permutation(len(y))
    train, new = np.split(order, [int(0.8 * len(y))])
    bounds = parts["low"], parts["high"], float(parts["y_low"]), float(parts["y_high"])
    return Split(X[train], y[train], X[new], y[new], *bounds)


def ours(task: str, **settings: Any) -> Any:
    if task == "counts":
        return DPPoissonRegressor(**settings)
    if task in QUANTILES:
        return DPQuantileRegressor(quantile=QUANTILES[task], **settings)
    return DPLinearRegression(**settings)


def declared(data: Split, times: float = 1.0) -> dict[str, Any]:
    """Return the bounds, `times` as far from 0 or, for those that do not contain it, from their middle."""

    def wider(low: Any, high: Any) -> tuple[Any, Any]:
        middle = np.where((low <= 0.0) & (high >= 0.0), 0.0, 0.5 * (low + high))
        return middle + times * (low - middle), middle + times * (high - middle)

    low, high = wider(np.asarray(data.y_low), np.asarray(data.y_high))
    return {"feature_bounds": wider(data.low, data.high), "target_bounds": (float(low), float(high))}


def fit_ours(task: str, data: Split, epsilon: float, seed: int, *, form: str) -> Any:
    if form == "raw":
        public = {}
    else:
        public = declared(data, 100.0 if form == "wide" else 1.0) | {"n_records": len(data.y)}
        if task == "counts":
            public["target_bounds"] = (max(public["target_bounds"][0], 0.0), public["target_bounds"][1])
    settings = {"epsilon": epsilon, "delta": DELTA, "noise": "seeded", "random_state": seed} | public
    if form == "statistics":
        settings["solver"] = "sufficient-statistics"
    model = DPHuberRegressor(**settings) if form == "huber" else ours(task, **settings)
    return model.fit(data.X, data.y).predict(data.X_new)


def symmetric_noise(rng: np.random.Generator, d: int, sigma: float) -> Any:
    """Return noise for a symmetric matrix: each number off the diagonal counts twice in its sensitivity."""
    upper = np.triu(rng.normal(0.0, sigma, (d, d)), 1) / math.sqrt(2.0)
    return upper + upper.T + np.diag(rng.normal(0.0, sigma, d))


def fit_adassp(task: str, data: Split, epsilon: float, seed: int) -> Any:
    """AdaSSP of Wang (2018), Algorithm 2, with a Gaussian budget and everything public read off the data."""
    rng = np.random.default_rng([SEED, seed])
    center, scale = data.X.mean(axis=0), data.X.std(axis=0)
    kept = scale > 1e-9

    def prepared(X: Any) -> Any:
        return np.column_stack([(X[:, kept] - center[kept]) / scale[kept], np.ones(len(X))])

    Z, Z_new = prepared(data.X), prepared(data.X_new)
    norms = np.linalg.norm(Z, axis=1)
    radius = float(np.quantile(norms, 0.95))
    Z = Z * np.minimum(1.0, radius / norms)[:, None]
    mean = data.y.mean()
    bound = float(np.quantile(np.abs(data.y - mean), 0.99))
    residuals = np.clip(data.y - mean, -bound, bound)
    d, mu = Z.shape[1], math.sqrt(2.0 * Gaussian.of(epsilon=epsilon, delta=DELTA).rho)
    share = mu / math.sqrt(3.0)  # three releases of an equal share
    moments, products = Z.T @ Z, Z.T @ residuals
    least = np.linalg.eigvalsh(moments)[0]
    noisy_least = max(least + radius**2 / share * (rng.normal() - 1.645), 0.0)
    # the paper's ridge is sqrt(d log(2 d^2 / .05)); the noise's largest eigenvalue, sqrt(2 d), is better
    ridge = max(0.0, 1.25 * radius**2 / share * math.sqrt(2.0 * d) - noisy_least)
    noisy = moments + symmetric_noise(rng, d, radius**2 / share) + ridge * np.eye(d)
    w = np.linalg.solve(noisy, products + rng.normal(0.0, radius * bound / share, d))
    return Z_new @ w + mean


def fit_constant(task: str, data: Split, epsilon: float, seed: int) -> Any:
    """Spend the whole budget on the mean within the declared bounds, or on a quantile by exact search."""
    rng = np.random.default_rng([SEED, seed])
    mu = math.sqrt(2.0 * Gaussian.of(epsilon=epsilon, delta=DELTA).rho)
    low, high = data.y_low, data.y_high
    if task not in QUANTILES:
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        noisy = np.sum(np.clip(data.y, low, high) - middle) + half / mu * rng.normal()
        return np.full(len(data.y_new), middle + noisy / len(data.y))
    a, b = low, high
    for _ in range(10):  # bisection, each time with a tenth of the budget
        middle = 0.5 * (a + b)
        below = np.sum(data.y <= middle) + math.sqrt(10.0) / mu * rng.normal()
        a, b = (middle, b) if below < QUANTILES[task] * len(data.y) else (a, middle)
    return np.full(len(data.y_new), 0.5 * (a + b))


def fit_nonprivate(task: str, data: Split, epsilon: float, seed: int) -> Any:
    models: dict[str, Callable[[], Any]] = {
        "mean": LinearRegression,
        "counts": lambda: PoissonRegressor(alpha=1e-6, max_iter=1000),
    }
    models |= {
        name: functools.partial(QuantileRegressor, quantile=q, alpha=1e-6, solver="highs")
        for name, q in QUANTILES.items()
    }
    model = make_pipeline(StandardScaler(), models[task]())
    return model.fit(data.X, data.y).predict(data.X_new)


def fit_rival(task: str, data: Split, epsilon: float, seed: int, *, learner: str) -> Any:
    job = rivals.Job(
        X_train=data.X,
        y_train=data.y,
        X_new=data.X_new,
        epsilon=epsilon,
        delta=DELTA,
        feature_bounds=(data.low, data.high),
        target_bounds=(data.y_low, data.y_high),
        seed=seed,
    )
    return rivals.fit(learner, job).predictions


FORMS = {
    "privfit": "declared",
    "privfit raw": "raw",
    "privfit wide": "wide",
    "privfit huber": "huber",
    "privfit statistics": "statistics",
}
LEARNERS: dict[str, Callable[..., Any]] = {
    **{name: functools.partial(fit_ours, form=form) for name, form in FORMS.items()},
    "adassp": fit_adassp,
    "constant": fit_constant,
    "nonprivate": fit_nonprivate,
    **{
        name: functools.partial(fit_rival, learner=name)
        for name in ("diffprivlib/linear", "interpret/regressor")
    },
}
# only for means, not for quantiles
OF_MEANS = ("privfit huber", "privfit statistics", "adassp", "diffprivlib/linear", "interpret/regressor")


def score(task: str, y: Any, predicted: Any) -> float:
    if task in QUANTILES:
        return float(d2_pinball_score(y, predicted, alpha=QUANTILES[task]))
    if task == "counts":
        positive = np.clip(predicted, 0.05 * max(y.mean(), 1e-9), 1e9)  # linear models predict negative means
        return float(d2_tweedie_score(y, positive, power=1))
    return float(r2_score(y, predicted))


def measured(path: Path) -> dict[tuple[str, ...], float]:
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {tuple(row[name] for name in FIELDS[:5]): float(row["score"]) for row in csv.DictReader(file)}


def measure(path: Path, options: argparse.Namespace) -> None:
    known = measured(path)
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if fresh:
            writer.writerow(FIELDS)
        for learner in options.learners:
            if "/" in learner and (reason := rivals.missing(learner)):
                print(f"skipped: {reason}")
                continue
            for task in options.tasks:
                if (learner in OF_MEANS and task in QUANTILES) or (
                    learner == "privfit huber" and task != "mean"
                ):
                    continue
                for name in set(options.tables) & set(COUNTS if task == "counts" else NUMBERS):
                    for epsilon in options.epsilons if learner != "nonprivate" else (math.inf,):
                        for number in range(options.splits):
                            key = (task, name, learner, f"{epsilon:g}", str(number))
                            if key in known:
                                continue
                            data, started = split_of(name, number), time.perf_counter()
                            try:
                                predicted = LEARNERS[learner](task, data, epsilon, number)
                            except rivals.RivalFailed as failure:
                                print(f"{name} {epsilon:g} {failure}", flush=True)
                                break
                            seconds = time.perf_counter() - started
                            found = score(task, data.y_new, predicted)
                            writer.writerow([*key, f"{found:.5f}", f"{seconds:.2f}"])
                            file.flush()


def summary(path: Path) -> None:
    """Print the mean score of every cell with its standard error, a column for each learner."""
    cells: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for (task, name, learner, epsilon, _), found in measured(path).items():
        cells.setdefault((task, name, epsilon), {}).setdefault(learner, []).append(found)
    learners = [name for name in LEARNERS if any(name in cell for cell in cells.values())]
    for task in TASKS:
        print(f"\n{task}")
        print(f"{'table':<18}{'eps':>5}" + "".join(f"{learner[-13:]:>15}" for learner in learners))
        for (of, name, epsilon), cell in sorted(cells.items()):
            if of != task or epsilon == "inf":
                continue
            cell = cell | {"nonprivate": cells.get((task, name, "inf"), {}).get("nonprivate", [])}
            shown = [
                f"{np.mean(found):>9.3f}±{np.std(found, ddof=1) / math.sqrt(len(found)):<5.3f}"
                if len(found := cell.get(learner, [])) > 1
                else f"{'':>15}"
                for learner in learners
            ]
            print(f"{name:<18}{epsilon:>5}" + "".join(shown))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=[*NUMBERS, *COUNTS])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--learners", nargs="+", choices=list(LEARNERS), default=list(LEARNERS))
    parser.add_argument("--results", type=Path, default=Path(__file__).with_suffix(".csv"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    measure(options.results, options)
    summary(options.results)


if __name__ == "__main__":
    main()
