"""What an algorithm computes, in twelve digits: rows of two versions may stand together if these agree."""

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

RECORDS = 4_000  # of Adult, which is shipped with the package
RARE = 0.05  # columns with fewer ones are left out, because their optimal weights are hardly determined
BATCH = 1_000  # stands for the batches that a large table is worked on in
DECIMALS = 3  # of a coefficient; the last bits are the machine's
OBJECTIVE_DECIMALS = 6  # of the mean loss that a minimiser reaches, which all machines find to 1e-8
# Solvers decide by how far a budget reaches. On so few records these are worth what a small epsilon, a usual
# one and more than the largest are worth in the experiments.
EPSILONS = (0.1, 0.8, 20.0)
AMPLE = {"adaptive": 100.0}  # from where on a solver takes other ways on so small a table
FITS = (
    *(("adult", loss, epsilon) for loss in ("logistic", "hinge") for epsilon in EPSILONS),
    ("kddcup99", "logistic", 0.8),
)


@cache
def fingerprint(algorithm: str) -> str:
    """Fit a small table with fixed noise and hash the rounded coefficients, or of references the mean loss.

    A fit for each loss and budget, and one on batches if the algorithm takes large tables in batches.
    """
    X, y = _small_table()
    digest = hashlib.sha256()
    ample = (("adult", loss, AMPLE[algorithm]) for loss in ("logistic", "hinge") if algorithm in AMPLE)
    for dataset, loss, epsilon in (*FITS, *ample):
        cell = Cell("logistic", dataset, loss, algorithm, epsilon, None, 0, 0)
        if algorithm in REFERENCES and epsilon != EPSILONS[0]:
            continue  # they know no epsilon
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
            # The hinge has many minimisers, and which one is found hangs on a processor's last bits.
            result = [round(mean_loss(model, X, y, loss), OBJECTIVE_DECIMALS)]
        else:
            weights = np.append(model.coef_.ravel(), model.intercept_)
            # adding zero turns the zero with a minus into the other one
            result = (np.round(weights, DECIMALS) + 0.0).tolist()
        digest.update(repr(result).encode())
    return digest.hexdigest()[:12]


@cache
def _small_table() -> tuple[Any, Any]:
    adult = load("adult", encoding="paper", subset="train")
    X = adult.data[:RECORDS]
    common = np.asarray(X.mean(axis=0)).ravel() >= RARE
    return X[:, common], (adult.target[:RECORDS] == adult.classes[1]).astype(int)
