"""Time of a private fit with secure noise, compared with scikit-learn and other private fits, in one run."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import rivals
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from performance import tables
from performance.measuring import best
from privfit import DPLogisticRegression

EPSILON, DELTA = 1.0, 1e-8
RIVALS = {"diffprivlib": "diffprivlib/logistic", "Opacus": "opacus/logistic"}
SCORED = 500_000  # the largest number of rows on which both models' losses are computed


def model(n: int, **settings: Any) -> DPLogisticRegression:
    """Return the default model with secure noise and declared public facts."""
    return DPLogisticRegression(EPSILON, DELTA, n_records=n, feature_bounds=(0.0, 1.0), **settings)


def beside_sklearn(X: Any, y: Any, rounds: int, *, with_rivals: bool = False) -> dict[str, float]:
    """Return seconds, steps and losses of privfit and scikit-learn."""
    private, plain = model(X.shape[0]), LogisticRegression()
    model(5000).fit(X[:5000], y[:5000])  # compiles
    ours, theirs = best(rounds, lambda: private.fit(X, y), lambda: plain.fit(X, y))
    losses = [log_loss(y[:SCORED], each.predict_proba(X[:SCORED])) for each in (private, plain)]
    found = {
        "privfit, s": ours,
        "scikit-learn, s": theirs,
        "privfit, steps": private.n_iter_,
        "scikit-learn, iterations": int(np.max(plain.n_iter_)),
        "privfit, log loss": losses[0],
        "scikit-learn, log loss": losses[1],
    }
    return found | (_of_rivals(X, y) if with_rivals else {})


def _of_rivals(X: Any, y: Any) -> dict[str, float]:
    """Return seconds and losses of other private fits, if their libraries are installed."""
    found = {}
    job = rivals.Job(
        X_train=X,
        y_train=y,
        X_new=X[:SCORED],
        epsilon=EPSILON,
        delta=DELTA,
        feature_bounds=(0.0, 1.0),
        n_classes=2,
        row_norm=float(np.sqrt(X.shape[1])),
    )
    for name, learner in RIVALS.items():
        if reason := rivals.missing(learner):
            print(f"{name} is skipped: {reason}", file=sys.stderr, flush=True)
            continue
        answer = rivals.fit(learner, job, timeout=400.0)
        found[f"{name}, s"] = answer.seconds
        found[f"{name}, log loss"] = log_loss(y[:SCORED], answer.probabilities)
    return found


def of_adult(sparse: bool) -> dict[str, float]:
    X, y = tables.adult()
    return beside_sklearn(X if sparse else X.toarray(), y, 10, with_rivals=not sparse)


def of_random(n: int, rounds: int) -> dict[str, float]:
    return beside_sklearn(*tables.dense(n, 120), rounds, with_rivals=n <= 500_000)


CASES = {
    "Adult, sparse": lambda: of_adult(True),
    "Adult, dense": lambda: of_adult(False),
    "500,000 x 120": lambda: of_random(500_000, 4),
    "4,900,000 x 120": lambda: of_random(4_900_000, 3),
}


def secure_noise(X: Any, y: Any, rounds: int) -> dict[str, float]:
    """Return the time of secure noise and of seeded noise."""
    secure, seeded = model(X.shape[0]), model(X.shape[0], noise="seeded", random_state=0)
    secure.fit(X, y)
    seeded.fit(X, y)
    time.sleep(0.2)
    with_secure, with_seed = best(rounds, lambda: secure.fit(X, y), lambda: seeded.fit(X, y))
    return {"secure, s": with_secure, "seeded, s": with_seed}


NOISE_CASES = {
    "Adult, sparse": lambda: secure_noise(*tables.adult(), 10),
    "500,000 x 120": lambda: secure_noise(*tables.dense(500_000, 120), 4),
    "20,000 x 10,000, 60 entries a row": lambda: secure_noise(*tables.sparse(20_000, 10_000, 0.006), 3),
}
