"""Fingerprints of algorithms: rows of two versions may be mixed if their fingerprints are equal."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from privfit.datasets import load
from privfit.experiments.designs import REFERENCES, Cell, stream
from privfit.experiments.fit import estimator_of, mean_loss, solver_of

RECORDS = 4_000  # number of records of Adult, which is part of the package
RARE = 0.05  # columns with a smaller share of ones are left out: their optimal weights are hardly determined
BATCH = 1_000  # batch size, in place of the size for large tables
DECIMALS = 3  # decimals of a coefficient; further ones depend on the machine
OBJECTIVE_DECIMALS = 6  # decimals of the mean loss that a minimiser reaches, which machines agree on to 1e-8
# Solvers decide by the reach of a budget. On so few records, these epsilons have the reach of a small
# epsilon, of a usual one, and of more than the largest one in the experiments.
EPSILONS = (0.1, 0.8, 20.0)
# further epsilons, at which a solver uses other steps on such a small table
LARGE_EPSILONS = {"adaptive": (100.0,)}
FITS = (
    *(("adult", loss, epsilon) for loss in ("logistic", "hinge") for epsilon in EPSILONS),
    ("kddcup99", "logistic", 0.8),
)


@cache
def fingerprint(algorithm: str) -> str:
    """Fit a small table with fixed noise; hash the rounded coefficients, or the mean loss of references.

    There is a fit for each loss and budget, and one on batches if the algorithm uses batches on large tables.
    """
    X, y = _small_table()
    digest = hashlib.sha256()
    large = LARGE_EPSILONS.get(algorithm, ())
    further = (("adult", loss, epsilon) for loss in ("logistic", "hinge") for epsilon in large)
    for dataset, loss, epsilon in (*FITS, *further):
        cell = Cell("logistic", dataset, loss, algorithm, epsilon, None, 0, 0)
        if algorithm in REFERENCES and epsilon != EPSILONS[0]:
            continue  # they do not depend on epsilon
        solver: Any = solver_of(cell)
        if dataset == "kddcup99":
            if solver == solver_of(cell._replace(dataset="adult")):
                continue
            solver = replace(solver, batch_size=BATCH)
        model = estimator_of(cell, solver, len(y), stream(0, "fingerprint", loss))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        if algorithm in REFERENCES:
            # the hinge has many minimisers, and a processor's last bits decide which one is found
            result = [round(mean_loss(model, X, y, loss), OBJECTIVE_DECIMALS)]
        else:
            weights = np.append(model.coef_.ravel(), model.intercept_)
            # adding zero turns -0.0 into 0.0
            result = (np.round(weights, DECIMALS) + 0.0).tolist()
        digest.update(repr(result).encode())
    return digest.hexdigest()[:12]


@cache
def _small_table() -> tuple[Any, Any]:
    adult = load("adult", encoding="paper", subset="train")
    X = adult.data[:RECORDS]
    common = np.asarray(X.mean(axis=0)).ravel() >= RARE
    return X[:, common], (adult.target[:RECORDS] == adult.classes[1]).astype(int)
