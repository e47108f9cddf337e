"""Intervals on real tables: the agreement between halves of a table, and the effect on predictions.

`intervals.py --halves`: all dense development tables (PRIVFIT_DATA/tables) with at most 15 columns whose
halves are large enough for few refusals: reach >= 70 d^1.5 / lambda, see `intervals.py`. Columns that are
linear combinations of earlier columns and the intercept are left out, because the arrays have an indicator
for every level of a category. Each record is put at random into half A or B, each half is fitted at epsilon
4, and (w_A - w_B) / sqrt(S_A + S_B) should be standard normal for every effect that both halves answer.

`intervals.py --predictions`: training objective on the dense development tables with at most 128 columns, of
the default, of the default with the budget that `inference=True` leaves to the solver, of the corrected
weights, and of the model, which keeps the solver's weights where effects are refused. Linearly dependent
columns are left out here, too, and so are tables that are refused before a charge. Rows are kept in
interval_halves.csv and interval_predictions.csv; a run continues where the last one stopped.
"""

from __future__ import annotations

import csv
import datetime
import functools
import os
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from interval_rows import ENOUGH_REACH
from intervals import DELTA, SEED, commit
from scipy import optimize, special

from privfit import DPLogisticRegression
from privfit.accounting import Gaussian
from privfit.solvers.last_steps import SOLVER_SHARE

HALVES = Path(__file__).with_name("interval_halves.csv")
PREDICTIONS = Path(__file__).with_name("interval_predictions.csv")
HALVES_EPSILON, HALVES_COLUMNS = 4.0, 15
COINS, COINS_PER_BATCH = 200, 50
EPSILONS, MOST_COLUMNS, FITS = (0.5, 1.0, 4.0), 128, 3
HALVES_FIELDS = ("table", "n", "p", "batch", "version", "date", "coins")
HALVES_COUNTS = ("pairs", "within_95", "within_90", "naive_95")  # of each effect
HALVES_SUMS = ("sum", "sum_of_squares")  # of the standardised differences of each effect
PREDICTION_KEYS = ("table", "n", "p", "epsilon", "fit")
PREDICTORS = ("default", "solver", "corrected", "model")
PREDICTION_FIELDS = (*PREDICTION_KEYS, "version", "date", *PREDICTORS, "refused")


@functools.cache
def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(Path(os.environ["PRIVFIT_DATA"]) / "tables" / f"{name}.npz") as parts:
        return parts["X"], (parts["y"] > 0).astype(int)


def names(most_columns: int) -> list[str]:
    """Return the dense development tables with declared bounds, those with the most records first."""
    found = (Path(os.environ["PRIVFIT_DATA"]) / "tables").glob("*.npz")
    dense = [path.stem for path in found if not path.stem.endswith((".raw", ".sp"))]
    narrow = [name for name in dense if load(name)[0].shape[1] <= most_columns]
    return sorted(narrow, key=lambda name: -len(load(name)[1]))


def independent(X: np.ndarray) -> np.ndarray:
    """Return the columns that those before them and the intercept do not determine."""
    kept = np.ones((len(X), 1))
    for column in X.T.astype(np.float64):
        wider = np.column_stack([kept, column])
        kept = wider if np.linalg.matrix_rank(wider) > kept.shape[1] else kept
    return kept[:, 1:]


@functools.cache
def unredundant(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = load(name)
    return independent(X), y


def fitted(X: np.ndarray, y: np.ndarray, epsilon: float, seed: int, inference: bool) -> DPLogisticRegression:
    facts = {"classes": (0, 1), "n_records": len(y), "feature_bounds": (0.0, 1.0)}
    model = DPLogisticRegression(
        epsilon, DELTA, inference=inference, noise="seeded", random_state=seed, **facts
    )
    return model.fit(X, y)


def is_refused(X: np.ndarray, y: np.ndarray, epsilon: float) -> bool:
    """Return whether a fit is refused before a charge."""
    try:
        fitted(X, y, epsilon, 0, inference=True)
    except ValueError as error:
        if "too small for standard errors" in str(error):
            return True
        raise
    return False


def added(path: Path, fields: Iterable[str], row: dict[str, object]) -> None:
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(fields), lineterminator="\n")
        if file.tell() == 0:
            writer.writeheader()
        writer.writerow(row)


def read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open(newline=""))) if path.exists() else []


def stamp() -> dict[str, str]:
    return {"version": commit(), "date": datetime.date.today().isoformat()}


# -- two halves of a table


def is_large(name: str) -> bool:
    """Return whether a half has the reach from which on few effects may be refused."""
    X, _ = unredundant(name)
    least = np.linalg.eigvalsh(np.corrcoef(X, rowvar=False))[0]
    rho = Gaussian.of(epsilon=HALVES_EPSILON, delta=DELTA).rho
    return len(X) / 2 * np.sqrt(2.0 * rho) >= ENOUGH_REACH * (X.shape[1] + 1) ** 1.5 / least


def difference(name: str, coin: int) -> np.ndarray:
    """Return the standardised difference of each effect, and the naive one; NaN where a half refuses."""
    X, y = unredundant(name)
    in_a = np.random.default_rng([SEED, coin]).random(len(y)) < 0.5
    models = [
        fitted(X[half], y[half], HALVES_EPSILON, 2 * coin + k, inference=True)
        for k, half in enumerate((in_a, ~in_a))
    ]
    effects = zip(*(model.inference_.effects for model in models), strict=True)
    return np.array(
        [
            (
                (a.estimate - b.estimate) / np.hypot(a.std_err, b.std_err),
                (a.estimate - b.estimate) / np.hypot(a.sampling, b.sampling),
            )
            for a, b in effects
        ]
    )


def compare_halves() -> None:
    for batch in range(COINS // COINS_PER_BATCH):
        for name in filter(is_large, names(HALVES_COLUMNS)):
            if any((row["table"], int(row["batch"])) == (name, batch) for row in read(HALVES)):
                continue
            coins = range(batch * COINS_PER_BATCH, (batch + 1) * COINS_PER_BATCH)
            z, naive = np.moveaxis(np.array([difference(name, coin) for coin in coins]), -1, 0)
            n, p = unredundant(name)[0].shape
            counts = {"pairs": np.isfinite(z)} | {
                field: np.abs(each) <= special.ndtri((1.0 + level) / 2.0)
                for field, each, level in (
                    ("within_95", z, 0.95),
                    ("within_90", z, 0.90),
                    ("naive_95", naive, 0.95),
                )
            }
            row = {"table": name, "n": n, "p": p, "batch": batch, **stamp(), "coins": len(coins)}
            row |= {field: " ".join(map(str, each.sum(axis=0))) for field, each in counts.items()}
            for field, power in (("sum", 1), ("sum_of_squares", 2)):
                row[field] = " ".join(f"{each:.3f}" for each in np.nansum(z**power, axis=0))
            added(HALVES, (*HALVES_FIELDS, *HALVES_COUNTS, *HALVES_SUMS), row)
    print(*halves_table(), sep="\n")


def halves_table() -> Iterator[str]:
    """Yield the lines of a Markdown table with a row for each table."""
    yield "| table | records x columns | coins | answered | mean | sd | 95% | 90% | naive 95% |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, found in halves_found().items():
        pairs = found["pairs"].sum()
        mean = found["sum"].sum() / pairs
        sd = np.sqrt(found["sum_of_squares"].sum() / pairs - mean**2)
        shares = " | ".join(f"{found[field].sum() / pairs:.3f}" for field in HALVES_COUNTS[1:])
        answered = pairs / (found["coins"] * len(found["pairs"]))
        size = f"{found['n']:,} x {found['p']}"
        yield f"| {name} | {size} | {found['coins']} | {answered:.0%} | {mean:.3f} | {sd:.3f} | {shares} |"


def halves_found() -> dict[str, dict]:
    """Add up the batches of each table."""
    found: dict[str, dict] = {}
    for row in read(HALVES):
        numbers = {field: np.array(row[field].split(), float) for field in (*HALVES_COUNTS, *HALVES_SUMS)}
        numbers["coins"] = int(row["coins"])
        known = found.setdefault(row["table"], {"n": int(row["n"]), "p": int(row["p"])})
        for field, each in numbers.items():
            known[field] = known.get(field, 0) + each
    return found


# -- what intervals cost the predictions


def objective(scores: np.ndarray, y: np.ndarray) -> float:
    return float(np.logaddexp(0.0, -np.where(y == 1, 1.0, -1.0) * scores).mean())


@functools.cache
def solvers_epsilon(epsilon: float) -> float:
    """Return the epsilon of a fit that has as much to spend as the solver has in a fit with intervals."""

    def gap(smaller: float) -> float:
        return Gaussian.of(epsilon=smaller, delta=DELTA).rho - SOLVER_SHARE * whole

    whole = Gaussian.of(epsilon=epsilon, delta=DELTA).rho
    return float(optimize.brentq(gap, 0.1 * epsilon, epsilon))


def compare_predictions() -> None:
    made = {tuple(row[key] for key in PREDICTION_KEYS) for row in read(PREDICTIONS)}
    for fit in range(FITS):
        for name in names(MOST_COLUMNS):
            X, y = unredundant(name)
            for epsilon in EPSILONS:
                key = (name, *map(str, X.shape), f"{epsilon:g}", str(fit))
                if key in made or is_refused(X, y, epsilon):
                    continue
                model = fitted(X, y, epsilon, fit, inference=True)
                found = model.inference_
                refused = np.mean([effect.refused is not None for effect in found.effects])
                less = solvers_epsilon(epsilon)
                scores = (
                    fitted(X, y, epsilon, fit, inference=False).decision_function(X),
                    fitted(X, y, less, fit, inference=False).decision_function(X),
                    X @ found.corrected[:-1] + found.corrected[-1],
                    model.decision_function(X),
                )
                row = dict(zip(PREDICTION_KEYS, key, strict=True)) | stamp() | {"refused": f"{refused:.3f}"}
                objectives = (f"{objective(each, y):.5f}" for each in scores)
                row |= dict(zip(PREDICTORS, objectives, strict=True))
                added(PREDICTIONS, PREDICTION_FIELDS, row)
    print(*predictions_table(), "", sep="\n")
    print("| table | records x columns | ε | default | solver | corrected | model | refused |")
    print("|---|---|---|---|---|---|---|---|")
    cells: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in read(PREDICTIONS):
        cells.setdefault(tuple(row[key] for key in PREDICTION_KEYS[:-1]), []).append(row)
    for (name, n, p, epsilon), rows in sorted(
        cells.items(), key=lambda each: (float(each[0][3]), -int(each[0][1]))
    ):
        means = {field: np.mean([float(row[field]) for row in rows]) for field in (*PREDICTORS, "refused")}
        told = " | ".join(f"{means[field]:.4f}" for field in PREDICTORS)
        print(f"| {name} | {int(n):,} x {p} | {epsilon} | {told} | {means['refused']:.0%} |")


def predictions_table() -> Iterator[str]:
    """Yield the lines of a Markdown table: what the solver's smaller budget costs, over tables and fits."""
    yield "| ε | tables | fits | mean | median | largest | refused before a charge |"
    yield "|---|---|---|---|---|---|---|"
    found = read(PREDICTIONS)
    tables = {row["table"] for row in found}
    for epsilon in EPSILONS:
        rows = [row for row in found if float(row["epsilon"]) == epsilon]
        costs = {(row["table"], row["fit"]): float(row["solver"]) - float(row["default"]) for row in rows}
        worst = max(costs, key=lambda key: costs[key])
        here = {row["table"] for row in rows}
        values = list(costs.values())
        told = f"{np.mean(values):.4f} | {np.median(values):.4f} | {costs[worst]:.3f} ({worst[0]})"
        left_out = ", ".join(sorted(tables - here))
        yield f"| {epsilon:g} | {len(here)} | {len(rows)} | {told} | {left_out} |"


def main(*, halves: bool) -> None:
    warnings.simplefilter("ignore")
    compare_halves() if halves else compare_predictions()
