"""The effect of shrinking survey weights on bias and noise, in a simulated survey.

A population of 200,000 has a logistic model that is not quite linear. A sample of 4,000 is drawn with
probabilities that depend on a feature, on the label and on chance. Weights are one over these probabilities,
in units of their mean. In "even" the largest weight is 4 times the mean, in the others 25 times. In "even"
and "uneven", probabilities depend so much on the label that an unweighted model is wrong for the population.
In "hardly informative", weights are as uneven, but mostly by chance. The design, and so the largest weight
and the mean, are public. delta = 1e-6.

Each row of --csv is a design, an epsilon (0 stands for no privacy) and a shrinkage: the length of the mean
error of the coefficients over all samples (bias), the root of the mean squared distance from that mean, which
sampling and privacy noise cause (spread), the root of the mean squared error, and the mean excess of the
population's log loss over that of its own model, with its standard error.
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from privfit import DPLogisticRegression

SEED = 20261118
POPULATION, SAMPLE, DELTA = 200_000, 4_000, 1e-6
# the largest weight in units of the mean; the dependence of log weights on a feature and the label, and on
# chance
DESIGNS = {"even": (4.0, 0.6, 0.3), "uneven": (25.0, 1.4, 0.7), "hardly informative": (25.0, 0.15, 1.9)}
EPSILONS = (0.0, 0.5, 1.0, 4.0)
SHRINKAGES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
COLUMNS = ("design", "epsilon", "shrinkage", "bias", "spread", "rmse", "excess", "error")


def population(rng):
    X = rng.normal(size=(POPULATION, 4))
    margin = X @ [1.0, -0.7, 0.4, 0.0] + 0.5 * (X[:, 0] > 0.0) * X[:, 3] - 0.5
    return X, (margin + rng.logistic(size=POPULATION) > 0.0).astype(int)


def weights(X, y, design, rng):
    """Return the weights of the design: one over the probability of being drawn, of mean 1."""
    largest, informative, else_ = DESIGNS[design]
    by_record = X[:, 0] + 0.8 * X[:, 3] * (2 * y - 1)
    raw = np.exp(informative * by_record + else_ * rng.normal(size=len(y)))
    # of those who are drawn the mean weight is 1 / mean(1 / weight); cut, and scaled until it is 1
    scaled = raw * np.mean(1.0 / raw)
    for _ in range(50):
        scaled = np.minimum(scaled, largest)
        scaled *= np.mean(1.0 / scaled)
    return np.minimum(scaled, largest)


def fit(X, y, w, largest, epsilon, shrinkage, seed):
    if epsilon == 0.0:
        model = LogisticRegression(C=np.inf).fit(X, y, 1.0 + (1.0 - shrinkage) * (w - 1.0))
    else:
        settings = {"max_weight": largest, "mean_weight": 1.0, "weight_shrinkage": shrinkage}
        settings |= {"noise": "seeded", "random_state": seed, "classes": (0, 1)}
        model = DPLogisticRegression(epsilon, DELTA, **settings).fit(X, y, sample_weight=w)
    return np.append(model.coef_, model.intercept_)


def log_loss(X, y, coef):
    return float(np.mean(np.logaddexp(0.0, (1 - 2 * y) * (X @ coef[:-1] + coef[-1]))))


def measured(design, samples):
    """Yield the rows of a design; a sample is the same for every epsilon and shrinkage."""
    rng = np.random.default_rng(SEED)
    X, y = population(rng)
    largest, w = DESIGNS[design][0], weights(X, y, design, rng)
    true = np.append(*(lambda m: (m.coef_, m.intercept_))(LogisticRegression(C=np.inf).fit(X, y)))
    best = log_loss(X, y, true)
    drawn = [
        rng.choice(POPULATION, SAMPLE, replace=False, p=(1.0 / w) / np.sum(1.0 / w)) for _ in range(samples)
    ]
    for epsilon in EPSILONS:
        for shrinkage in SHRINKAGES:
            coefs = np.array(
                [
                    fit(X[rows], y[rows], w[rows], largest, epsilon, shrinkage, seed)
                    for seed, rows in enumerate(drawn)
                ]
            )
            errors = coefs - true
            bias = np.linalg.norm(errors.mean(axis=0))
            spread = np.sqrt(np.mean(np.sum((coefs - coefs.mean(axis=0)) ** 2, axis=1)))
            excess = np.array([log_loss(X, y, coef) - best for coef in coefs])
            yield (
                design,
                epsilon,
                shrinkage,
                *(f"{number:.4f}" for number in (bias, spread, np.hypot(bias, spread))),
                f"{excess.mean():.5f}",
                f"{excess.std(ddof=1) / len(excess) ** 0.5:.5f}",
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--csv", type=Path, default=Path("results/survey.csv"))
    parser.add_argument("--samples", type=int, default=40)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with options.csv.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for design in DESIGNS:
            for row in measured(design, options.samples):
                table.writerow(row)
                file.flush()
                print(*row, flush=True)


if __name__ == "__main__":
    main()
