"""Accuracy of the default solver on real tables of many kinds, compared with other private solvers.

The development tables of PRIVFIT_DATA/tables; delta = 1e-6, paired 80/20 splits with fixed seeds. NAME.npz
holds features in [0, 1]; these bounds and n are declared. NAME.sp.npz holds the same as parts of a CSR
matrix. NAME.raw.npz holds features in their own units, without declared bounds. Prints the mean training
objective of every cell, the cells in which the default loses to the best of the others, and the summary that
the default is judged by. Results of the others are kept in --cache, so that `--only adaptive` compares a
variant within minutes. `--csv FILE --beside CACHE` runs nothing: for each split it writes the result of the
default in --cache, and that of another version of the code in CACHE. `tables.csv` was written in this way.
Some tables were set aside by a hash of their names before the new version was written, and used once, when it
was finished.
"""

import argparse
import csv
import functools
import hashlib
import json
import os
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import utility
from scipy import stats

from privfit import DPLinearSVC, DPLogisticRegression
from privfit.accounting import Concentrated
from privfit.losses import get_loss
from privfit.solvers import Facts, get_solver, require

DELTA, SEED = 1e-6, 20261116
EPSILONS = (0.1, 0.4, 1.0, 4.0)
DEFAULT = "adaptive"
OTHERS = ("gradient-descent", "objective-perturbation", "dpagd-modern", "frank-wolfe", "newton")
PAPERS = ("adult", "bank", "ipums-br")  # tables of the paper, if --tables names them
MODELS = {"logistic": DPLogisticRegression, "hinge": DPLinearSVC}
LOSSES = {"logistic": lambda m: np.logaddexp(0, -m), "hinge": lambda m: np.maximum(1 - m, 0)}
MEANT = 0.003  # smaller differences are not reliable, because many variants were compared on these tables
FALSE_ALARMS = 0.05  # of all cells together, after Holm's correction
ASIDE = 10  # tables on which no choice of the third round was made
ENOUGH_REACH = 450.0  # n sqrt(2 rho) from which on declaring bounds must not matter

Cell = tuple[str, str, float]  # table, loss, epsilon


def names() -> list[str]:
    files = (Path(os.environ["PRIVFIT_DATA"]) / "tables").glob("*.npz")
    return sorted(file.name.removesuffix(".npz").removesuffix(".sp") for file in files)


def set_aside() -> set[str]:
    """Return the tables that a hash of their names sets aside, independently of their content."""
    tables = {name.removesuffix(".raw") for name in names()}
    order = sorted(tables, key=lambda name: hashlib.sha256(f"third round: {name}".encode()).hexdigest())
    return set(order[:ASIDE])


@functools.cache  # reading the text of the large ones takes longer than fitting them
def load(name: str) -> tuple[Any, Any]:
    if name in PAPERS:
        return utility.load(name)
    directory = Path(os.environ["PRIVFIT_DATA"]) / "tables"
    path = directory / f"{name}.npz"
    with np.load(path if path.exists() else directory / f"{name}.sp.npz") as parts:
        if path.exists():
            return parts["X"], (parts["y"] > 0).astype(int)
        csr = sp.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
        return csr, (parts["y"] > 0).astype(int)


def able(solver: str, cell: Cell) -> bool:
    """Return whether a solver takes a table of so many columns."""
    try:
        facts = Facts(get_loss(cell[1]), True, DELTA, n_features=load(cell[0])[0].shape[1])
        require(get_solver(solver), facts)
    except ValueError:
        return False
    return True


def measure(
    solver: str, name: str, loss: str, epsilon: float, split: int, permuted: bool
) -> tuple[float, ...]:
    """Return training objective and held-out accuracy of a fit, and the objective of the best constant."""
    warnings.simplefilter("ignore")
    X, y = load(name)
    rng = np.random.default_rng([SEED, split])
    order = rng.permutation(len(y))
    train, test = np.split(order, [int(0.8 * len(y))])
    if permuted:
        y = rng.permutation(y)
    public = {} if name.endswith(".raw") else {"feature_bounds": (0.0, 1.0), "n_records": len(train)}
    model = MODELS[loss](
        epsilon, DELTA, solver=solver, classes=(0, 1), noise="seeded", random_state=SEED + split, **public
    ).fit(X[train], y[train])
    margins = np.where(y[train] == 1, 1, -1) * model.decision_function(X[train])
    share = y[train].mean()
    constant = (
        -share * np.log(share) - (1 - share) * np.log1p(-share)
        if loss == "logistic"
        else 2 * min(share, 1 - share)
    )
    return float(LOSSES[loss](margins).mean()), float(model.score(X[test], y[test])), float(constant)


class Results:
    """The results of every solver in every cell, one row for each split; kept in a file if one is given."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.rows: dict[str, list[float]] = json.loads(path.read_text()) if path and path.exists() else {}

    @staticmethod
    def key(solver: str, cell: Cell, split: int, permuted: bool) -> str:
        """Return the name of a fit in the file."""
        return "/".join(map(str, (solver, *cell, split, "permuted" if permuted else "real")))

    def fill(self, tasks: list[tuple[str, Cell, int, bool]], jobs: int) -> None:
        """Run these fits, and keep their results."""
        with ProcessPoolExecutor(jobs) as pool:
            found = [pool.submit(measure, s, *cell, split, permuted) for s, cell, split, permuted in tasks]
            for task, result in zip(tasks, found, strict=True):
                self.rows[self.key(*task)] = list(result.result())
        if self.path:
            self.path.write_text(json.dumps(self.rows))

    def known(self, cell: Cell, splits: int) -> list[str]:
        """Return the other solvers that were run in this cell."""
        keys = {s: [self.key(s, cell, k, False) for k in range(splits)] for s in OTHERS}
        return [s for s in OTHERS if all(key in self.rows for key in keys[s])]

    def of(self, solver: str, cell: Cell, splits: int, permuted: bool, which: int = 0) -> Any:
        """Return the objectives of a cell's splits, or with `which` accuracies or constants' objectives."""
        return np.array([self.rows[self.key(solver, cell, k, permuted)][which] for k in range(splits)])


def write_csv(results: Results, other: Results, path: Path) -> None:
    """Write the default's rows for all splits that both versions have, with the paired differences."""
    cells: dict[tuple[str, ...], list[tuple[list[float], list[float]]]] = {}
    for key in sorted(set(results.rows) & set(other.rows)):
        solver, name, loss, epsilon, _, labels = key.split("/")
        if solver == DEFAULT:
            cells.setdefault((name, loss, labels, epsilon), []).append((results.rows[key], other.rows[key]))
    aside = set_aside()
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            [
                "table",
                "set_aside",
                "loss",
                "labels",
                "epsilon",
                "splits",
                "constant",
                "objective",
                "accuracy",
                "other_objective",
                "other_accuracy",
                "difference",
                "standard_error",
            ]
        )
        for (name, loss, labels, epsilon), rows in sorted(cells.items()):
            own, others = (np.array([row[k] for row in rows]) for k in (0, 1))
            gaps = others[:, 0] - own[:, 0]
            error = gaps.std(ddof=1) / len(gaps) ** 0.5 if len(gaps) > 1 else float("nan")
            numbers = [own[:, 2].mean(), *own[:, :2].mean(axis=0), *others[:, :2].mean(axis=0)]
            shown = [f"{number:.5f}" for number in (*numbers, gaps.mean(), error)]
            kept = "yes" if name.removesuffix(".raw") in aside else "no"
            writer.writerow([name, kept, loss, labels, epsilon, len(rows), *shown])


def holm(p_values: list[float]) -> list[float]:
    """Return Holm's adjusted p-values."""
    order = np.argsort(p_values)
    scaled = np.asarray(p_values)[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted.tolist()


def losses(
    results: Results, cells: list[Cell], splits: int
) -> Iterator[tuple[Cell, str, float, float, float]]:
    """Yield each cell, the best other solver, how far behind the default is, and its p-values."""
    behind = []
    for cell in cells:
        best = min(
            results.known(cell, splits), key=lambda other: results.of(other, cell, splits, False).mean()
        )
        difference = results.of(DEFAULT, cell, splits, False) - results.of(best, cell, splits, False)
        p = float(stats.ttest_1samp(difference, 0.0, alternative="greater").pvalue)
        behind.append((cell, best, float(difference.mean()), p))
    for row, adjusted in zip(behind, holm([p for *_, p in behind]), strict=True):
        yield *row, adjusted


def compare(results: Results, cells: list[Cell], splits: int) -> None:
    print(
        f"{'table':<16}{'loss':<10}{'eps':>4} "
        + "".join(f"{s[:9]:>10}" for s in (DEFAULT, *OTHERS))
        + "   accuracy"
    )
    for cell in cells:
        known = [DEFAULT, *results.known(cell, splits)]
        means = {s: [results.of(s, cell, splits, False, k).mean() for k in (0, 1)] for s in known}
        shown = "".join(f"{means[s][0]:>10.4f}" if s in known else f"{'-':>10}" for s in (DEFAULT, *OTHERS))
        accuracy = " ".join(f"{means[s][1]:.3f}" if s in known else "-" for s in (DEFAULT, *OTHERS))
        print(f"{cell[0]:<16}{cell[1]:<10}{cell[2]:>4} {shown}   {accuracy}")
    rows = [row for row in losses(results, cells, splits) if row[2] > MEANT]
    print("\nbehind the best other solver by more than .003 (* after Holm's correction):")
    for cell, best, difference, p, adjusted in sorted(rows, key=lambda row: -row[2]):
        star = "*" if adjusted < FALSE_ALARMS else ""
        print(f"{cell[0]:<16}{cell[1]:<10}{cell[2]:>4}  {best:<24}{difference:+.4f}  p = {p:.4f} {star}")
    certain = [row for row in rows if row[4] < FALSE_ALARMS]
    bare = [row for row in rows if row[3] < FALSE_ALARMS]
    share, largest = len(certain) / len(cells), max((row[2] for row in rows), default=0.0)
    print(
        f"\nlosses after Holm's correction: {len(certain)} of {len(cells)} ({share:.1%}; bar 8%), without it "
        f"{len(bare)}, of means alone {len(rows)}; the largest {largest:.4f} (bar .02)"
    )


def judge_majority(results: Results, cells: list[Cell], splits: int, permuted: bool) -> None:
    rows = []
    for cell in cells:
        excess = results.of(DEFAULT, cell, splits, permuted) - results.of(DEFAULT, cell, splits, permuted, 2)
        rows.append((float(excess.mean()), cell))
    worst = ", ".join(
        f"{cell[0]} {cell[1]} {cell[2]}: {excess:+.4f}" for excess, cell in sorted(rows)[:-6:-1]
    )
    which = "permuted labels" if permuted else "the labels themselves"
    print(f"above the best constant, on {which} (bar .02): {worst}")


def judge_undeclared(results: Results, splits: int) -> None:
    for raw in (name for name in names() if name.endswith(".raw")):
        n = int(0.8 * load(raw)[0].shape[0])
        for epsilon in EPSILONS:
            reach = n * (2.0 * Concentrated.of(epsilon=epsilon, delta=DELTA).rho) ** 0.5
            for loss in MODELS:
                undeclared, declared = (
                    results.of(DEFAULT, (name, loss, epsilon), splits, False).mean()
                    for name in (raw, raw.removesuffix(".raw"))
                )
                bar = "bar .02" if reach > ENOUGH_REACH else "no bar"
                print(
                    f"{raw:<18}{loss:<10}{epsilon:>4} reach {reach:6.0f}: undeclared {undeclared:.4f}, "
                    f"declared {declared:.4f} ({undeclared - declared:+.4f}, {bar})"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", nargs="+", default=[DEFAULT, *OTHERS], help="solvers to run; others from --cache"
    )
    parser.add_argument("--tables", nargs="+", default=None)
    parser.add_argument("--loss", nargs="+", default=list(MODELS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--permuted", action="store_true", help="only the default, on permuted labels")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cache", type=Path, help="JSON file with what was reached before")
    parser.add_argument("--csv", type=Path, help="write what --cache and --beside hold, and stop")
    parser.add_argument("--beside", type=Path, help="what another state of the code reached: its --cache")
    options = parser.parse_args()
    if options.csv:
        write_csv(Results(options.cache), Results(options.beside), options.csv)
        return
    started = time.perf_counter()
    tables = options.tables or names()
    cells = [(t, loss, epsilon) for t in tables for loss in options.loss for epsilon in EPSILONS]
    declared = [cell for cell in cells if not cell[0].endswith(".raw")]
    results = Results(options.cache)
    results.fill(
        [
            (solver, cell, split, options.permuted)
            for solver in ([DEFAULT] if options.permuted else options.only)
            for cell in (cells if solver == DEFAULT and not options.permuted else declared)
            if able(solver, cell)
            for split in range(options.splits)
        ],
        options.jobs,
    )
    if not options.permuted:
        compare(results, declared, options.splits)
    judge_majority(results, declared, options.splits, options.permuted)
    if not options.permuted and not options.tables and set(options.loss) == set(MODELS):
        judge_undeclared(results, options.splits)
    print(f"({time.perf_counter() - started:.0f} s)")


if __name__ == "__main__":
    main()
