"""One thread in workers of joblib and Dask, all cores elsewhere; the number of threads changes no bit."""

import joblib
import numpy as np
import pytest

from privfit import DPLogisticRegression, metrics
from privfit.engine.parallel import threads
from privfit.preprocessing import PrivateBounds
from privfit.solvers import GradientDescent
from privfit.surroundings.workers import in_worker

pytestmark = pytest.mark.filterwarnings("ignore::privfit.solvers.BudgetWarning")

X = np.random.default_rng(0).normal(size=(30_000, 3))  # more than one chunk of rows
Y = (X[:, 0] > 0).astype(int)


def used(work):
    """Return the numbers of threads that each call of the engine may use, where this runs."""
    seen, original, before = set(), threads.run, vars(threads.config)["NUMBA_NUM_THREADS"]

    def noticed(tasks):
        seen.add(threads.n_threads())
        original(tasks)

    threads.run, vars(threads.config)["NUMBA_NUM_THREADS"] = noticed, 3
    try:
        work()
    finally:
        threads.run, vars(threads.config)["NUMBA_NUM_THREADS"] = original, before
    return seen


def fit():
    settings = {"classes": (0, 1), "feature_bounds": (-4.0, 4.0), "n_records": len(X)}
    return DPLogisticRegression(
        solver=GradientDescent(steps=2), noise="seeded", random_state=1, **settings
    ).fit(X, Y)


def in_a_fit():
    return used(fit)


def in_a_worker_process(_):
    """Look alone, because threads of one process share what is patched."""
    return in_a_fit()


@pytest.mark.parametrize("backend", ["loky", pytest.param("multiprocessing", marks=pytest.mark.slow)])
def test_processes_of_joblib_use_one_thread(backend):
    found = joblib.Parallel(n_jobs=2, backend=backend)(map(joblib.delayed(in_a_worker_process), range(2)))
    assert found == [{1}, {1}]


def test_threads_of_joblib_use_one_thread():
    found = joblib.Parallel(n_jobs=2, backend="threading")(joblib.delayed(in_worker)() for _ in range(2))
    assert found == [True, True]


def test_tasks_of_dask_use_one_thread():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert client.submit(in_a_fit).result() == {1}
        assert not in_worker(), "the process of a worker is not the worker's thread"


@pytest.mark.filterwarnings("ignore::privfit.PrivacyLeakWarning")
def test_others_use_all_threads():
    assert in_a_fit() == {3}
    assert joblib.Parallel(n_jobs=1)([joblib.delayed(in_a_fit)()]) == [{3}]
    with joblib.parallel_backend("threading", n_jobs=2):
        assert in_a_fit() == {3}


@pytest.mark.filterwarnings("ignore::privfit.PrivacyLeakWarning")
def test_scores_and_bounds_of_workers_use_one_thread(monkeypatch):
    model = fit()
    monkeypatch.setattr("privfit.surroundings.workers.in_worker", lambda: True)
    assert used(lambda: metrics.evaluate(model, X, Y, rho=0.01)) == {1}
    assert used(lambda: PrivateBounds(epsilon=1.0).fit(X)) == {1}


def test_threads_change_no_bit(monkeypatch):
    alone = fit()
    monkeypatch.setitem(vars(threads.config), "NUMBA_NUM_THREADS", 5)
    np.testing.assert_array_equal(fit().coef_, alone.coef_)
