"""Workers that die in the middle of a fit: the same model at the same price, or an end in one sentence."""

from __future__ import annotations

import logging
import os
import signal
import time

import numpy as np
import pytest

from privfit import DPLogisticRegression, Ledger
from privfit.engine.parallel import dask_parts
from privfit.engine.parts import PartsLost
from privfit.solvers import GradientDescent, ModernDPAGD

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.slow

N, P, ROWS = 900, 3, 100
SOLVERS = {"descent": GradientDescent(steps=6), "walk along lines": ModernDPAGD(iterations=4)}


@pytest.fixture
def client():
    """Three workers in this process, one of which can be taken away."""
    settings = {"n_workers": 3, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with (
        distributed.LocalCluster(**settings, silence_logs=logging.CRITICAL) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def kill_one(client):
    """Take the workers away that keep one of the parts, as their death does: all that they kept is gone.

    Dask may have copied a small part to an idle worker, so that there may be two of them.
    """

    async def remove(dask_scheduler):
        parts = [task for key, task in dask_scheduler.tasks.items() if str(key).startswith("make_part")]
        rarest = min(parts, key=lambda task: len(task.who_has))
        for address in [worker.address for worker in rarest.who_has]:
            await dask_scheduler.remove_worker(address=address, stimulus_id="killed", expected=False)

    client.run_on_scheduler(remove)


def records():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P))
    return X, (X @ np.ones(P) + rng.logistic(size=N) > 0.0).astype(int)


def made_of(rows):
    """Return a Dask array whose blocks a function of their number makes, whenever it is asked to."""
    blocks = [da.from_delayed(block, shape, dtype=float) for block, shape in rows]
    return da.concatenate(blocks)


def fit(solver, X, y, ledger, monkeypatch=None, die=None):
    """Fit, and call die() before the answer of this number."""
    if die is not None:
        when, kill = die
        original, rounds = dask_parts.gathered, []

        def gathered(client, futures):
            rounds.append(None)
            if len(rounds) == when:
                kill()
            return original(client, futures)

        monkeypatch.setattr(dask_parts, "gathered", gathered)
    settings = {"classes": (0, 1), "noise": "seeded", "random_state": 3, "solver": solver, "delta": 1e-6}
    return DPLogisticRegression(epsilon=1.0, ledger=ledger, **settings).fit(X, y)


def entries(ledger):
    return [(entry.what, entry.rho, entry.mechanism) for entry in ledger.entries]


@pytest.mark.parametrize("name", SOLVERS)
def test_a_fit_outlives_its_workers_and_pays_once(name, client, monkeypatch):
    """Wherever a worker dies, weights, entries of the ledger and looks are those of a fit without deaths."""
    X, y = records()
    undisturbed = Ledger(rho=1.0)
    expected = fit(SOLVERS[name], X, y, undisturbed)
    when = int(np.random.default_rng([7, len(name)]).integers(2, 7))
    ledger = Ledger(rho=1.0)
    lazy = da.from_array(X, chunks=(ROWS, P)), da.from_array(y, chunks=ROWS)
    die = when, lambda: kill_one(client)
    found = fit(SOLVERS[name], *lazy, ledger, monkeypatch, die)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert entries(ledger) == entries(undisturbed)
    assert len(client.scheduler_info(n_workers=-1)["workers"]) < 3, "no worker was killed"


@pytest.mark.parametrize("change", ["rows", "order"])
def test_rows_that_are_computed_again_otherwise_end_the_fit(change, client, monkeypatch, tmp_path):
    from dask.delayed import delayed

    X, y = records()

    def block(number):
        again = tmp_path / str(number)  # functions are pickled, files are not
        rows = X[number * ROWS : (number + 1) * ROWS].copy()
        if again.exists():
            rows = rows[::-1].copy() if change == "order" else rows + 1.0
        again.touch()
        return rows

    source = made_of([(delayed(block, pure=False)(k), (ROWS, P)) for k in range(N // ROWS)])
    ledger = Ledger(rho=1.0)
    die = 4, lambda: kill_one(client)
    with pytest.raises(PartsLost, match="not the same rows in the same order") as end:
        fit(SOLVERS["descent"], source, da.from_array(y, chunks=ROWS), ledger, monkeypatch, die)
    assert end.value.__context__ is None
    assert "released no model" in end.value.__notes__[0]
    assert 0.0 < ledger.spent < ledger.rho, "what was asked before and the question itself stay paid"


def test_without_any_worker_the_fit_ends(client, monkeypatch):
    X, y = records()
    ledger = Ledger(rho=1.0)

    async def remove_all(dask_scheduler):
        for address in list(dask_scheduler.workers):
            await dask_scheduler.remove_worker(address=address, stimulus_id="killed", expected=False)

    monkeypatch.setattr(dask_parts, "PATIENCE", 1)
    lazy = da.from_array(X, chunks=(ROWS, P)), da.from_array(y, chunks=ROWS)
    die = 4, lambda: client.run_on_scheduler(remove_all)
    with pytest.raises(PartsLost, match="could not compute them again") as end:
        fit(SOLVERS["descent"], *lazy, ledger, monkeypatch, die)
    assert end.value.__context__ is None
    assert 0.0 < ledger.spent < ledger.rho


def test_a_process_that_is_killed_is_replaced():
    """The same with processes, killed by the system without a word."""
    X, y = records()
    undisturbed, ledger = (Ledger(rho=1.0) for _ in range(2))
    expected = fit(SOLVERS["descent"], X, y, undisturbed)
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        pytest.MonkeyPatch.context() as patch,
        distributed.LocalCluster(**settings, silence_logs=logging.CRITICAL) as cluster,
        distributed.Client(cluster) as client,
    ):

        def kill():
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
            time.sleep(0.2)

        lazy = da.from_array(X, chunks=(ROWS, P)), da.from_array(y, chunks=ROWS)
        found = fit(SOLVERS["descent"], *lazy, ledger, patch, (4, kill))
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert entries(ledger) == entries(undisturbed)
