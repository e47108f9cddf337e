"""Workers that die in the middle of a fit: the same model at the same price, or an end in one sentence.

They are threads of this process here. Processes that are killed are in test_killed_workers.py.
"""

from __future__ import annotations

import logging
import os
import pickle

import numpy as np
import pytest

from privfit import DPLogisticRegression, Ledger
from privfit.engine.parallel import dask_blocks, dask_parts
from privfit.engine.parts import PartsLost
from privfit.solvers import GradientDescent, ModernDPAGD

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.slow

N, P, ROWS = 900, 3, 100
SOLVERS = {"descent": GradientDescent(steps=6), "walk along lines": ModernDPAGD(iterations=4)}


@pytest.fixture(autouse=True)
def impatient():
    """Give up calls to workers that are dead after a second, not after half a minute."""
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        yield


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
        original, rounds = dask_parts.replies_of, []

        def replies_of(*arguments):
            rounds.append(None)
            if len(rounds) == when:
                kill()
            return original(*arguments)

        monkeypatch.setattr(dask_parts, "replies_of", replies_of)
    settings = {"classes": (0, 1), "noise": "seeded", "random_state": 3, "solver": solver, "delta": 1e-6}
    return DPLogisticRegression(epsilon=1.0, ledger=ledger, **settings).fit(X, y)


def entries(ledger):
    return [(entry.what, entry.rho, entry.mechanism) for entry in ledger.entries]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", SOLVERS)
def test_a_fit_outlives_its_workers_and_pays_once(name, seed, client, monkeypatch):
    """Wherever a worker dies, weights and entries of the ledger are those of a fit without deaths.

    The noise is seeded, so that equal weights mean that each answer was blurred once.
    """
    X, y = records()
    undisturbed = Ledger(rho=1.0)
    expected = fit(SOLVERS[name], X, y, undisturbed)
    when = int(np.random.default_rng([7, len(name), seed]).integers(2, 9))
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


def shuffled(X, y):
    """Return Dask arrays of rows whose order, the same for both, is drawn whenever it is computed."""
    from dask.delayed import delayed

    order = delayed(lambda: np.random.default_rng(int.from_bytes(os.urandom(8))).permutation(N), pure=False)()

    def block(values, number):
        rows = delayed(lambda order: values[order[number * ROWS : (number + 1) * ROWS]], pure=False)(order)
        return da.from_delayed(rows, (ROWS, *values.shape[1:]), dtype=values.dtype)

    return [da.concatenate([block(values, k) for k in range(N // ROWS)]) for values in (X, y)]


def lose_a_block(client):
    """Take a worker away that keeps blocks of rows."""

    async def remove(dask_scheduler):
        blocks = (task for key, task in dask_scheduler.tasks.items() if str(key).startswith("('concatenate"))
        address = next(worker.address for task in blocks for worker in task.who_has)
        await dask_scheduler.remove_worker(address=address, stimulus_id="killed", expected=False)

    client.run_on_scheduler(remove)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_table_is_read_again_if_a_worker_dies_meanwhile(times, client, monkeypatch):
    """Else some rows would be those of one order and some of another, twice or with another's label."""
    X, y = records()
    undisturbed, ledger, original, readings = Ledger(rho=1.0), Ledger(rho=1.0), dask_blocks.divided_among, []
    expected = fit(SOLVERS["descent"], X, y, undisturbed)

    def divided_among(*arguments):
        readings.append(None)
        if len(readings) <= times:
            lose_a_block(client)
        return original(*arguments)

    monkeypatch.setattr(dask_blocks, "divided_among", divided_among)
    client.cluster.scale(4)
    client.wait_for_workers(4)
    if times == dask_blocks.READINGS:
        with pytest.raises(ValueError, match="lost each of the 3 times that the table was read") as end:
            fit(SOLVERS["descent"], *shuffled(X, y), ledger)
        assert end.value.__context__ is None
        assert ledger.spent == 0.0
        return
    found = fit(SOLVERS["descent"], *shuffled(X, y), ledger)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert entries(ledger) == entries(undisturbed)
    assert len(readings) == times + 1


@pytest.mark.parametrize("fault", ["twice", "late", "another's", "none"])
def test_each_part_counts_once_whatever_workers_reply(fault, client, monkeypatch):
    """Answers that come twice, after they were asked for again, or under a number that was not asked."""
    X, y = records()
    undisturbed, ledger = Ledger(rho=1.0), Ledger(rho=1.0)
    expected = fit(SOLVERS["walk along lines"], X, y, undisturbed)
    original, held = dask_parts.replies_of, []

    def replies_of(*arguments):
        replies = original(*arguments)
        if fault == "twice":
            return replies + replies
        if fault == "another's":
            return [reply | {99: each} for reply in replies for each in reply.values()]
        held.append(replies)
        if len(held) % 3 == 1:
            return replies[1:]  # one is lost on the way, and asked for again
        return replies + held[-2] if fault == "late" and len(held) % 3 == 2 else replies

    monkeypatch.setattr(dask_parts, "replies_of", replies_of)
    lazy = da.from_array(X, chunks=(ROWS, P)), da.from_array(y, chunks=ROWS)
    found = fit(SOLVERS["walk along lines"], *lazy, ledger)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert entries(ledger) == entries(undisturbed)


def test_a_cluster_that_does_not_answer_ends_the_fit(client, monkeypatch):
    X, y = records()
    ledger, original, rounds = Ledger(rho=1.0), dask_parts.replies_of, []

    def replies_of(*arguments):
        rounds.append(None)
        return original(*arguments) if len(rounds) < 4 else []

    monkeypatch.setattr(dask_parts, "replies_of", replies_of)
    monkeypatch.setattr(dask_parts, "PATIENCE", 0.5)
    lazy = da.from_array(X, chunks=(ROWS, P)), da.from_array(y, chunks=ROWS)
    with pytest.raises(PartsLost, match="could not compute them again"):
        fit(SOLVERS["descent"], *lazy, ledger)
    assert 0.0 < ledger.spent < ledger.rho


def test_nothing_of_the_records_is_in_logs_or_comes_to_the_driver(client, monkeypatch, caplog):
    """Planted rows, a worker that dies, and everything that is logged at any level."""
    X, y = records()
    X[5], X[-7] = 77310077.0, -77310077.0
    original, came = dask_parts.replies_of, []

    def replies_of(*arguments):
        came.extend(found := original(*arguments))
        return found

    monkeypatch.setattr(dask_parts, "replies_of", replies_of)
    lazy = da.from_array(X, chunks=(ROWS, P)), da.from_array(y, chunks=ROWS)
    with caplog.at_level(logging.DEBUG):
        fit(SOLVERS["descent"], *lazy, Ledger(rho=1.0), monkeypatch, (5, lambda: kill_one(client)))
    logs = caplog.text + str(client.get_worker_logs()) + str(client.get_scheduler_logs())
    assert len(logs) > 100, "nothing was logged at all"
    assert "7731007" not in logs
    sent = pickle.dumps(came)
    for planted in (X[5, 0], X[-7, 0]):
        assert np.float64(planted).tobytes() not in sent
    assert len(sent) < 8 * N, "less than a number for each record"


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
