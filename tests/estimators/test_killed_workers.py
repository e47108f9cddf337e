"""Processes of a Dask cluster that the system kills at random moments of a fit.

The noise is seeded. So a fit that outlived its workers has the weights, the charges and the looks of an
undisturbed fit in one place, bit for bit. A fit that ended has paid for every look, and for at most one
question that it did not answer.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import random
import re
import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from privfit import DPLogisticRegression, Ledger
from privfit import curator as curators
from privfit.engine.parallel import dask_parts
from privfit.engine.parts import PartsLost

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::privfit.solvers.base.BudgetWarning"),
]

N, P, ROWS = 3000, 3, 500
READING, QUESTION = 0.1, 0.004  # seconds, about; workers are killed at a random moment of them
SECONDS_TO_START = 60
POINTS = 28  # of each fit in which workers are replaced, in `make test-deep`
POINTS_FOR_GOOD = 6  # of each in which they are not: these need a cluster of their own
ENDS = (
    r"The cluster lost parts of the table and could not compute them again \([\w -]+\), so the fit has ended "
    r"and released nothing more; fit again when its workers and the table can be reached\."
)
REFUSALS = (
    r"The table could not be computed \([\w -]+\); compute it by itself to see why\."
    r"|A worker was lost each of the 3 times that the table was read, so nothing was charged; fit again when "
    r"the cluster keeps its workers\."
)


class Fit(NamedTuple):
    """Settings of a fit, its targets, and whether it is about people."""

    settings: dict[str, Any]
    classes: int = 2
    people: bool = False


FITS = {
    "default": Fit({"max_passes": 20}),
    "people": Fit({"max_passes": 20, "rows_per_person": 3}, people=True),
    "classes": Fit({"max_passes": 20}, classes=3),
}


def records(fit):
    """Return features, targets and ids of people, by the names of what `fit` takes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P))
    y = (X @ np.ones(P) + rng.logistic(size=N) > 0.0).astype(int)
    found = {"X": X, "y": y + (X[:, 1] > 1.0) if fit.classes == 3 else y}
    return found | ({"groups": rng.integers(N // 2, size=N)} if fit.people else {})


def lazily(found):
    return {name: da.from_array(v, chunks=(ROWS, *v.shape[1:])) for name, v in found.items()}


@dataclass
class Seen:
    """What became of a fit: its weights or the error, what was charged, and what was looked at."""

    weights: Any
    error: BaseException | None
    charges: list[tuple[str, float, str]]
    looks: list[float]
    laps: list[float]


def fitted(fit, given, before_question=lambda number: None, ledger=None):
    """Fit, and call before_question(number) before the workers are asked for each answer."""
    ledger = ledger or Ledger(rho=1.0, person_id="groups" if fit.people else None)
    public = {"classes": tuple(range(fit.classes)), "noise": "seeded", "random_state": 3}
    model = DPLogisticRegression(epsilon=1.0, delta=1e-6, ledger=ledger, **public, **fit.settings)
    seen, measured, asked = Seen(None, None, [], [], []), curators.measure, dask_parts.replies_of

    def measure(exact, sensitivity, rho, noise):
        seen.looks.append(rho)
        return measured(exact, sensitivity, rho, noise)

    def replies_of(*arguments):
        before_question(len(seen.laps) + 1)
        seen.laps.append(0.0)
        began = time.perf_counter()
        found = asked(*arguments)
        seen.laps[-1] = time.perf_counter() - began
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curators, "measure", measure)
        patch.setattr(dask_parts, "replies_of", replies_of)
        try:
            model.fit(**given)
            seen.weights = np.column_stack([model.coef_, model.intercept_])
        except (PartsLost, ValueError) as error:
            seen.error = error
    seen.charges = [(entry.what, entry.rho, entry.mechanism) for entry in ledger.entries]
    return seen


@contextmanager
def quick_starts():
    """Fork workers from a process that has loaded all they need, which would take them most of their time."""
    distributed.utils.get_mp_context()  # which says what to load, if it is the first call
    multiprocessing.get_context("forkserver").set_forkserver_preload(["warm_worker"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]), prepend=os.pathsep)
        yield


@contextmanager
def cluster():
    """Two workers, each a process of its own with one thread; calls to dead ones are given up in a second."""
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    timeouts = {"distributed.comm.timeouts.connect": "1s"}
    with (
        dask.config.set(timeouts | {"distributed.worker.multiprocessing-method": "forkserver"}),
        quick_starts(),
        distributed.LocalCluster(**settings, host="127.0.0.1", silence_logs=logging.CRITICAL) as made,
        distributed.Client(made) as client,
    ):
        yield client


@pytest.fixture
def client():
    with cluster() as client:
        yield client


def pids_of(client):
    """Return both processes once they run; one that dies before its nanny knows of it is not replaced."""
    end = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < end:
        pids = client.run(os.getpid, on_error="ignore")
        running = all(each.status == distributed.Status.running for each in client.cluster.workers.values())
        if running and len(pids) == 2:
            return sorted(pids.values())
        time.sleep(0.02)
    return pytest.skip(f"the cluster had no two workers for {SECONDS_TO_START} seconds")


def kill(pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def killed_at_random(client, fit, chance, *, questions, count, for_good=False):
    """Fit, and kill so many workers at a random moment, as they read or answer; return what became of it."""
    number = chance.randint(0, questions)
    pids = chance.sample(pids_of(client), count)
    if for_good:
        for nanny in client.cluster.workers.values():
            nanny.close_gracefully()  # it does not start another process
    killer = threading.Timer(chance.random() * (QUESTION if number else READING), kill, [pids])

    def strike(at):
        if at == number:
            killer.start()

    strike(0)
    seen = fitted(fit, lazily(records(fit)), strike)
    assert killer.ident, "nobody was killed"
    killer.join()
    return seen


def assert_outlived_or_ended(seen, undisturbed):
    """Check that everything is as if nobody had died, or that the fit ended and every look was paid for."""
    answered, asked = len(seen.looks), len(seen.charges)
    if seen.error is None:
        np.testing.assert_array_equal(seen.weights, undisturbed.weights)
        assert (seen.charges, seen.looks) == (undisturbed.charges, undisturbed.looks)
        return
    assert seen.charges == undisturbed.charges[:asked]
    assert seen.looks == undisturbed.looks[:answered]
    assert asked == answered + 1 or asked == 0, "one question at most is paid and not answered"
    assert seen.error.__context__ is None
    assert re.fullmatch(ENDS if isinstance(seen.error, PartsLost) else REFUSALS, str(seen.error))
    assert isinstance(seen.error, PartsLost) or asked == 0, "what is refused is not charged"


def nobody_replaced(seen):
    """Tell whether a fit ended because no nanny started another process, which happens on busy machines."""
    return seen.error is not None and "(no worker)" in str(seen.error)


@pytest.mark.parametrize(("name", "count"), [("default", 1), ("people", 1), ("classes", 2)])
def test_a_fit_outlives_killed_processes_and_pays_once(name, count, client):
    """Their nannies start others, so the fit has to go on."""
    undisturbed = fitted(FITS[name], records(FITS[name]))
    chance = random.Random(name)
    seen = killed_at_random(client, FITS[name], chance, questions=len(undisturbed.charges), count=count)
    assert_outlived_or_ended(seen, undisturbed)
    assert seen.error is None or nobody_replaced(seen)


def rows_of(path, name, number):
    """Return a block of what a file holds when it is read."""
    with np.load(path) as source:
        return source[name][number * ROWS : (number + 1) * ROWS]


def from_file(path, found):
    """Return Dask arrays whose blocks are read from a file whenever they are computed."""

    def block(name, number):
        rows = dask.delayed(rows_of, pure=False)(path, name, number)
        return da.from_delayed(rows, (ROWS, *found[name].shape[1:]), dtype=found[name].dtype)

    return {name: da.concatenate([block(name, k) for k in range(N // ROWS)]) for name in found}


def reordered(found):
    return {name: values[::-1] for name, values in found.items()}


def changed_rows(found):
    return found | {"X": -found["X"]}


def refused_rows(found):
    return found | {"y": found["y"] + 77310077}


CHANGES = {
    reordered: "A worker was lost, and the rows that were computed again in its place are not the same rows "
    "in the same order on the same kind of machine, so the fit has ended and released nothing more; read the "
    "table from files that do not change, or write it to some first.",
    refused_rows: "A part of the table did not answer, so the fit has ended and released nothing more: y "
    "holds labels that are not in classes=(0, 1): correct classes=(0, 1) or those labels; meta-estimators "
    "such as VotingClassifier number the labels 0 and 1 themselves, so under them declare classes=(0, 1) or "
    "strings.",
}
CHANGES[changed_rows] = CHANGES[reordered]


@pytest.mark.parametrize("change", CHANGES)
def test_a_source_that_changes_before_workers_are_killed_ends_the_fit(change, client, tmp_path):
    """The fit's reservation stays spent."""
    found, path = records(FITS["default"]), tmp_path / "source.npz"
    np.savez(path, **found)
    pids = pids_of(client)

    def change_and_kill(number):
        if number == 5:
            np.savez(path, **change(found))
            kill(pids)

    ledger = Ledger.open(f"sqlite:///{tmp_path}/people.db", dataset="people", epsilon=4.0)
    seen = fitted(FITS["default"], from_file(path, found), change_and_kill, ledger)
    if nobody_replaced(seen):
        pytest.skip("no nanny started another worker")
    assert isinstance(seen.error, PartsLost)
    assert str(seen.error) == CHANGES[change]
    assert seen.error.__context__ is None
    assert len(seen.looks) == 3, "the first answer was that of the reading"
    (reserved,) = ledger.entries
    assert reserved.mechanism == "reserved"
    assert ledger.spent == reserved.rho >= sum(seen.looks)


@pytest.mark.deep
@pytest.mark.parametrize("name", FITS)
def test_at_any_of_many_points_fits_outlive_killed_processes_and_pay_once(name, record_property):
    """All whose processes are replaced go on; that nobody replaces them has to be the exception."""
    undisturbed = fitted(FITS[name], records(FITS[name]))
    ended = 0
    for point in range(POINTS):
        chance = random.Random(f"{name} {point}")
        settings = {"questions": len(undisturbed.charges), "count": chance.choice([1, 2])}
        with cluster() as client:
            seen = killed_at_random(client, FITS[name], chance, **settings)
        assert_outlived_or_ended(seen, undisturbed)
        assert seen.error is None or nobody_replaced(seen), point
        ended += seen.error is not None
    assert ended <= POINTS // 4
    record_property("cases", POINTS)


@pytest.mark.deep
@pytest.mark.parametrize("name", FITS)
def test_at_any_of_many_points_processes_that_nobody_replaces_end_a_fit(name, monkeypatch, record_property):
    """If only one of two is killed, the other one may go on."""
    undisturbed = fitted(FITS[name], records(FITS[name]))
    monkeypatch.setattr(dask_parts, "PATIENCE", 1)
    for point in range(POINTS_FOR_GOOD):
        chance = random.Random(f"{name} for good {point}")
        settings = {"questions": len(undisturbed.charges), "count": 1 + point % 2, "for_good": True}
        with cluster() as client:
            seen = killed_at_random(client, FITS[name], chance, **settings)
        assert_outlived_or_ended(seen, undisturbed)
    record_property("cases", POINTS_FOR_GOOD)
