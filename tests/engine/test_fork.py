"""A process that is forked while other threads fit can fit, too, and ends."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from privfit import DPLogisticRegression
from privfit.solvers.gradient_descent import GradientDescent

FORKS, SECONDS = 16, 30


def table(n: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).random((n, 40))
    return X, (X[:, 0] > 0.5).astype(int)


def fit(X: np.ndarray, y: np.ndarray) -> None:
    # One step, so that most of the time goes to what an engine computes once for its records.
    solver = GradientDescent(steps=1)
    DPLogisticRegression(solver=solver, n_records=len(y), noise="seeded", random_state=0).fit(X, y)


def fit_in_child(X: np.ndarray, y: np.ndarray) -> int:
    """Fork, fit in the child, and return its exit status; a child that hangs is ended by its own alarm."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(SECONDS)
            fit(X, y)
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_during_fits_can_fit() -> None:
    large, small = table(100_000), table(100)
    fit(*small)  # compiled by now
    stop = threading.Event()

    def fit_until_told() -> None:
        while not stop.is_set():
            fit(*large)

    threads = [threading.Thread(target=fit_until_told) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for k in range(FORKS):
            time.sleep(0.01 + 0.003 * k)  # somewhere else in a fit every time
            assert fit_in_child(*small) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
