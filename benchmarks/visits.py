"""The loss of accuracy if privacy is promised to people instead of rows, on a simulated table of visits.

People have 1 to 15 visits, by Zipf's law with a mean of 3. Half of the columns belong to the person and
repeat in all their visits; labels share an effect of the person. At most 5 visits of a person are used.
Models are tested on other people. Three promises with the same epsilon are compared. The first is about one
row. It uses all rows, and protects a person with 15 rows far less. The others are about all rows of a person:
either each person's sum of gradients is clipped, as in the default solver, or each row's gradient, with 5
times the noise. Writes the AUC of every run to a CSV file and prints means, and the mean loss beside the
promise about rows with its standard error. Tables and seeds are the same for all, so differences are paired.
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from privfit import DPLogisticRegression
from privfit.solvers import people as clips

MEAN, LARGEST, K = 3.0, 15, 5
COLUMNS, HELD_OUT = 16, 5000
EPSILONS = (0.1, 0.3, 1.0, 4.0)
METHODS = ("rows", "people", "people, rows clipped", "not private")
COEFFICIENTS = 0.5 * np.random.default_rng(99).normal(size=COLUMNS)

Table = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]


def number_of_visits(rng: np.random.Generator, people: int) -> NDArray[np.int64]:
    """Draw from Zipf's law up to LARGEST, with the exponent that gives the mean."""
    sizes = np.arange(1, LARGEST + 1)
    low, high = 0.0, 5.0
    for _ in range(60):
        exponent = (low + high) / 2
        shares = sizes**-exponent / np.sum(sizes**-exponent)
        low, high = (exponent, high) if shares @ sizes > MEAN else (low, exponent)
    return rng.choice(sizes, size=people, p=shares)


def visits(rng: np.random.Generator, people: int) -> Table:
    """Return features, labels and the person of each visit."""
    who = np.repeat(np.arange(people), number_of_visits(rng, people))
    own = rng.normal(size=(people, COLUMNS // 2))[who]
    X = np.hstack([own, rng.normal(size=(len(who), COLUMNS - COLUMNS // 2))])
    X[:, ::4] = X[:, ::4] > 0.8
    effect = 0.5 * rng.normal(size=people)[who]
    return X, (X @ COEFFICIENTS + effect + rng.logistic(size=len(who)) > 0.3).astype(int), who


def auc(method: str, epsilon: float, seed: int, train: Table, test: Table) -> float:
    settings = {"noise": "seeded", "random_state": seed}
    if method == "not private":
        settings["solver"] = "nonprivate"
    of_people = method.startswith("people")
    if of_people:
        settings["rows_per_person"] = K
    X, y, who = train
    most, clips.MOST_RECORDS = clips.MOST_RECORDS, 0 if method == "people, rows clipped" else 64
    try:
        model = DPLogisticRegression(epsilon, 1e-6, **settings).fit(X, y, groups=who if of_people else None)
    finally:
        clips.MOST_RECORDS = most
    return float(roc_auc_score(test[1], model.decision_function(test[0])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", nargs="+", type=int, default=[20_000, 2_000])
    parser.add_argument("--epsilon", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for people in options.people:
        for seed in range(options.seeds):
            rng = np.random.default_rng([people, seed])
            train, test = visits(rng, people), visits(rng, HELD_OUT)
            for epsilon in options.epsilon:
                for method in METHODS:
                    rows.append((people, epsilon, seed, method, auc(method, epsilon, seed, train, test)))
    with options.out.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("people", "epsilon", "seed", "method", "auc"))
        writer.writerows((*row[:-1], f"{row[-1]:.6f}") for row in rows)
    print("| people | epsilon | " + " | ".join(METHODS) + " |\n|" + "---|" * (len(METHODS) + 2))
    for people in options.people:
        for epsilon in options.epsilon:
            found = {
                method: np.array(
                    [row[-1] for row in rows if row[:2] == (people, epsilon) and row[3] == method]
                )
                for method in METHODS
            }
            cells = []
            for method, scores in found.items():
                gaps = found["rows"] - scores
                lost = f" (-{gaps.mean():.4f} ± {gaps.std(ddof=1) / len(gaps) ** 0.5:.4f})"
                cells.append(f"{scores.mean():.4f}" + lost * method.startswith("people"))
            print(f"| {people:,} | {epsilon:g} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
