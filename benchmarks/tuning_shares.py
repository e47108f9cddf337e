"""How a search should divide its privacy budget: the share of the refit, the clip, and the held-out share.

On each dense development table with at most 40,000 records and 100 columns, four values of alpha and three
solvers are fitted as in a search, for each share of the refit. The choice by noisy differences of held-out
losses is then simulated 400 times for each clip and each share of held-out records, and the script prints how
much the log loss of the chosen model on the held-out fifth exceeds that of the untuned default at the same
total privacy budget, as means over tables and two splits. `None` stands for losses that are clipped one by
one, to their range, so that the noise grows with the root of the number of settings.

It takes about a quarter of an hour of processor time and keeps nothing.
"""

import os
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from privfit import DPLogisticRegression
from privfit.accounting import Gaussian
from privfit.tuning.results import LEVEL_SHARE

SEED, DELTA = 20261118, 1e-6
EPSILONS, SPLITS, REPEATS = (0.5, 4.0), 2, 400
REFITS, HELD_OUT = (0.0, 0.5, 0.7), (0.1, 0.2)
CLIPS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, None)  # in units of the log loss
LOWEST = 0.01  # probability, for scores
MOST_RECORDS, MOST_COLUMNS = 40_000, 100
GRIDS: dict[str, list[dict[str, Any]]] = {
    "alpha": [{"alpha": alpha} for alpha in (0.0, 0.001, 0.01, 0.1)],
    "solver": [{"solver": solver} for solver in ("adaptive", "newton", "gradient-descent")],
}


def losses(model: DPLogisticRegression, X: np.ndarray, y: np.ndarray, lowest: float) -> np.ndarray:
    return -np.log(np.clip(model.predict_proba(X)[np.arange(len(y)), y], lowest, 1.0))


def chances(found: np.ndarray, clip: float | None, mu: float) -> np.ndarray:
    """Return how often each setting is chosen, given the held-out losses of all."""
    count = found.shape[1]
    differences = found - found.mean(axis=1, keepdims=True)
    if clip is None:
        sensitivity = np.sqrt(count) * -np.log(LOWEST) / 2.0
    else:
        norms = np.linalg.norm(differences, axis=1, keepdims=True)
        differences = differences * np.minimum(1.0, clip / np.maximum(norms, 1e-12))
        sensitivity = clip * np.sqrt(1.0 + 2.0 * LEVEL_SHARE**2)
    noise = np.random.default_rng(5).normal(size=(REPEATS, count)) * sensitivity / mu
    chosen = np.argmin(differences.sum(axis=0) + noise, axis=1)
    return np.bincount(chosen, minlength=count) / REPEATS


def measure(X: np.ndarray, y: np.ndarray, split: int, excess: dict[tuple[Any, ...], list[float]]) -> None:
    """Fit a split of a table, and add what searches lose to the lists."""
    rng = np.random.default_rng([SEED, split])
    train, test = np.split(rng.permutation(len(y)), [int(0.8 * len(y))])
    coins = rng.random(len(train))
    held = coins < max(HELD_OUT)

    def fitted(setting: dict[str, Any], rho: float, rows: np.ndarray, seed: int) -> DPLogisticRegression:
        declared = len(train) if rows is train else int((1.0 - max(HELD_OUT)) * len(train))
        public = {"classes": (0, 1), "feature_bounds": (0.0, 1.0), "n_records": declared}
        return DPLogisticRegression(
            rho=rho, delta=DELTA, noise="seeded", random_state=SEED + seed, **public, **setting
        ).fit(X[rows], y[rows])

    def loss(model: DPLogisticRegression) -> float:
        return float(losses(model, X[test], y[test], 1e-9).mean())

    for epsilon in EPSILONS:
        rho = Gaussian.of(epsilon=epsilon, delta=DELTA).rho
        default = loss(fitted({}, rho, train, split))
        for name, grid in GRIDS.items():
            for refit in REFITS:
                share = rho * (1.0 - refit) / len(grid)
                models = [fitted(one, share, train[~held], split + 7 * i) for i, one in enumerate(grid)]
                scored = np.column_stack([losses(m, X[train[held]], y[train[held]], LOWEST) for m in models])
                if refit:
                    models = [fitted(one, rho * refit, train, split + 99) for one in grid]
                final = np.array([loss(model) for model in models])
                for clip in CLIPS:
                    for part in HELD_OUT:
                        found = chances(scored[coins[held] < part], clip, np.sqrt(2.0 * rho * (1.0 - refit)))
                        excess[name, epsilon, refit, part, clip].append(float(found @ final) - default)


def main() -> None:
    warnings.simplefilter("ignore")
    excess: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for path in sorted((Path(os.environ["PRIVFIT_DATA"]) / "tables").glob("*.npz")):
        if path.stem.endswith((".raw", ".sp")):
            continue
        with np.load(path) as parts:
            X, y = parts["X"], (parts["y"] > 0).astype(int)
        if len(y) <= MOST_RECORDS and X.shape[1] <= MOST_COLUMNS:
            for split in range(SPLITS):
                measure(X, y, split, excess)
            print(path.stem, flush=True)
    print(f"{'grid':<8}{'eps':>5}{'refit':>7}{'held':>6}" + "".join(f"{clip!s:>9}" for clip in CLIPS))
    for name, epsilon, refit, part in dict.fromkeys(key[:-1] for key in excess):
        means = [np.mean(excess[name, epsilon, refit, part, clip]) for clip in CLIPS]
        print(f"{name:<8}{epsilon:>5g}{refit:>7g}{part:>6g}" + "".join(f"{mean:>+9.4f}" for mean in means))


if __name__ == "__main__":
    main()
