"""Several classes: the multinomial default compared with one-vs-rest, other libraries and no privacy.

The development tables of PRIVFIT_DATA/tables3 that have classes, with their bounds declared, the tables of
`ample_tables.py`, which have so many records that noise should hardly matter, and MNIST's pixels
(PRIVFIT_DATA/mnist, its own training and test images). delta = 1e-6, for MNIST 1e-5; 80/20 splits with fixed
seeds, the same for every learner. Without privacy it is scikit-learn's logistic regression with its defaults,
on standardised columns. One-vs-rest fits a binary model for each class with an equal share of the budget (its
shares of rho add up to that of epsilon) and predicts the class with the largest probability. `make rivals`
installs the other libraries. Every result is a row of --csv, and existing rows are not run again, unless
--again removes the rows of --learners on --tables first. After a change of privfit, use `--again --learners
privfit "privfit svm" one-vs-rest`.

The script prints the mean accuracy of every cell, and the difference between the default and the best other
private learner with its standard error over the splits. If the budget is large for this number of weights, it
also prints whether the default is within .02 of the model without privacy.
"""

import argparse
import csv
import functools
import gzip
import math
import os
import time
import warnings
from pathlib import Path

import ample_tables
import numpy as np
import rivals
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from privfit import DPLinearSVC, DPLogisticRegression
from privfit.accounting import Gaussian

SEED = 20261118
EPSILONS = (0.5, 1.0, 4.0)
TABLES = ("chile-vote", "contraceptive", "optdigits", "segment")
MANY_RECORDS = tuple(ample_tables.MADE)
PIXELS = "mnist"
OURS, WITHOUT_PRIVACY = "privfit", "without privacy"
RIVALS = ("diffprivlib/logistic", "opacus/softmax")
LEARNERS = (OURS, "privfit svm", "one-vs-rest", *RIVALS, WITHOUT_PRIVACY)
COLUMNS = ("table", "learner", "epsilon", "split", "accuracy", "seconds")
BELOW_THE_BEST = 0.005  # the allowed difference, in addition to two standard errors
NEAR_WITHOUT_PRIVACY, AMPLE = 0.02, 200.0  # where n sqrt(2 rho) exceeds 200 sqrt(columns x classes)

Part = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@functools.cache
def load(name: str) -> dict[str, np.ndarray]:
    if name in MANY_RECORDS:
        return ample_tables.made(name)
    with np.load(Path(os.environ["PRIVFIT_DATA"]) / "tables3" / f"{name}.npz", allow_pickle=False) as parts:
        return {key: parts[key] for key in ("X", "y", "low", "high")}


@functools.cache
def pixels(part: str) -> tuple[np.ndarray, np.ndarray]:
    folder = Path(os.environ["PRIVFIT_DATA"]) / "mnist"
    images, labels = (
        np.frombuffer(gzip.decompress((folder / f"{part}-{what}-ubyte.gz").read_bytes()), np.uint8)
        for what in ("images-idx3", "labels-idx1")
    )
    return images[16:].reshape(-1, 784).astype(np.float32) / 255.0, labels[8:].astype(int)


@functools.cache
def split_of(name: str, split: int) -> Part:
    """Return training features and classes, and those held out."""
    if name == PIXELS:
        return *pixels("train"), *pixels("t10k")
    X, y = load(name)["X"], np.unique(load(name)["y"], return_inverse=True)[1]
    order = np.random.default_rng([SEED, split]).permutation(len(y))
    train, test = np.split(order, [int(0.8 * len(y))])
    return X[train], y[train], X[test], y[test]


def bounds_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    return (np.zeros(784), np.ones(784)) if name == PIXELS else (load(name)["low"], load(name)["high"])


def delta_of(name: str) -> float:
    return 1e-5 if name == PIXELS else 1e-6


def predicted(learner: str, name: str, epsilon: float, split: int) -> np.ndarray:
    """Return the classes that a learner predicts for the held-out rows."""
    X, y, new, _ = split_of(name, split)
    classes, delta, seed = int(y.max()) + 1, delta_of(name), SEED + split
    settings = {"feature_bounds": bounds_of(name), "noise": "seeded", "random_state": seed}
    if learner in RIVALS:
        job = rivals.Job(
            X_train=X,
            y_train=y,
            X_new=new,
            epsilon=epsilon,
            delta=delta,
            feature_bounds=bounds_of(name),
            n_classes=classes,
            seed=seed,
        )
        return rivals.fit(learner, job, timeout=3600.0).predictions
    if learner == "one-vs-rest":
        share = Gaussian.of(epsilon=epsilon, delta=delta).rho / classes
        scores = []
        for k in range(classes):
            settings["random_state"] = np.random.default_rng([seed, k])
            model = DPLogisticRegression(rho=share, delta=delta, **settings)
            scores.append(model.fit(X, y == k).predict_proba(new)[:, 1])
        return np.argmax(scores, axis=0)
    model = DPLinearSVC if learner == "privfit svm" else DPLogisticRegression
    if learner == WITHOUT_PRIVACY:
        plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        return plain.fit(X, y).predict(new)
    return model(epsilon, delta, classes=range(classes), **settings).fit(X, y).predict(new)


def read(path: Path) -> dict[tuple[str, str, float, int], float]:
    if not path.exists():
        return {}
    with path.open() as file:
        return {
            (row["table"], row["learner"], float(row["epsilon"]), int(row["split"])): float(row["accuracy"])
            for row in csv.DictReader(file)
        }


def forget(tables: list[str], learners: list[str], path: Path) -> None:
    """Remove the rows of these learners on these tables."""
    with path.open() as file:
        head, *rows = csv.reader(file)
    kept = [row for row in rows if not (row[0] in tables and row[1] in learners)]
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *kept])


def run(cells: list[tuple[str, str, float, int]], path: Path) -> None:
    """Run the cells that have no row yet, and add a row for each."""
    known, is_new = read(path), not path.exists()
    with path.open("a", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        if is_new:
            rows.writerow(COLUMNS)
        for cell in dict.fromkeys(cells):
            if cell in known:
                continue
            name, learner, epsilon, split = cell
            started = time.perf_counter()
            try:
                found = predicted(learner, name, epsilon, split)
            except rivals.RivalFailed as failure:
                print(f"{name} {epsilon:g}: {failure}", flush=True)
                continue
            seconds = time.perf_counter() - started
            accuracy = float(np.mean(found == split_of(name, split)[3]))
            rows.writerow([name, learner, f"{epsilon:g}", split, f"{accuracy:.4f}", f"{seconds:.2f}"])
            file.flush()


def summarise(known: dict[tuple[str, str, float, int], float]) -> None:
    """Print the means of every cell, and the difference between the default and the best of the others."""
    learners = [one for one in LEARNERS if any(learner == one for _, learner, _, _ in known)]
    print(f"{'table':<15}{'eps':>5}  " + "".join(f"{one:>22}" for one in learners) + f"{'lead':>16}")
    for name in (*TABLES, *MANY_RECORDS, PIXELS):
        for epsilon in sorted({cell[2] for cell in known if cell[0] == name} - {math.inf}):
            found = {
                one: {
                    split: accuracy
                    for (table, learner, at, split), accuracy in known.items()
                    if (table, learner) == (name, one) and at in (epsilon, math.inf)
                }
                for one in learners
            }
            means = {one: np.mean(list(each.values())) for one, each in found.items() if each}
            others = [one for one in means if one not in (OURS, WITHOUT_PRIVACY, "privfit svm")]
            line = f"{name:<15}{epsilon:>5g}  " + "".join(
                f"{means[one]:>22.4f}" if one in means else f"{'-':>22}" for one in learners
            )
            if OURS in means and others:
                best = max(others, key=lambda one: means[one])
                common = sorted(found[OURS].keys() & found[best].keys())
                leads = [found[OURS][split] - found[best][split] for split in common]
                error = np.std(leads, ddof=1) / math.sqrt(len(leads)) if len(leads) > 1 else 0.0
                lead = float(np.mean(leads))
                line += f"{lead:>+9.4f} ±{error:.4f}"
                line += "  BELOW" if lead < -BELOW_THE_BEST - 2.0 * error else ""
            if OURS in means and WITHOUT_PRIVACY in means:
                X, y, _, _ = split_of(name, 0)
                reach = len(y) * math.sqrt(2.0 * Gaussian.of(epsilon=epsilon, delta=delta_of(name)).rho)
                ample = reach > AMPLE * math.sqrt(X.shape[1] * (y.max() + 1))
                far = means[WITHOUT_PRIVACY] - means[OURS] > NEAR_WITHOUT_PRIVACY
                line += ("  FAR" if far else "  near") if ample else ""
            print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=[*TABLES, *MANY_RECORDS])
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--csv", type=Path, default=Path(__file__).with_suffix(".csv"))
    parser.add_argument("--again", action="store_true", help="measure these learners and tables anew")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    learners = []
    for learner in options.learners:
        if learner in RIVALS and (reason := rivals.missing(learner)):
            print(f"skipped: {reason}")
        else:
            learners.append(learner)
    if options.again and options.csv.exists():
        forget(options.tables, learners, options.csv)
    cells = [
        (name, learner, math.inf if learner == WITHOUT_PRIVACY else epsilon, split)
        for name in options.tables
        for epsilon in options.epsilons
        for split in range(1 if name == PIXELS else options.splits)
        for learner in learners
    ]
    run(cells, options.csv)
    summarise(read(options.csv))


if __name__ == "__main__":
    main()
