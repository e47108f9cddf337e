"""Processes that share one account and are killed at random moments: it never says less than was looked at.

What was looked at is written by the processes themselves to a file, before each look and after its charge.
"""

import multiprocessing
import os
import random
import signal
import time
import uuid
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import pytest

from privfit.accounting import BrokenChain, BudgetExceeded, Ledger
from privfit.accounting.amounts import UNIT
from privfit.accounting.stores.sql import SqlStore

PROCESSES, KILLS = 8, 12
PORTION, LOOK = 2.0**-6, 2.0**-8  # of a budget of 1; sums of these are exact

fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def fit_again_and_again(ledger, diary, seed):
    """Fit until the budget is spent; every fit takes one to four looks, and most of them end well."""
    chance = random.Random(seed)
    try:
        while True:
            portion = ledger.portion(PORTION, what="fit")
            for _ in range(chance.randint(1, 4)):
                portion.charge(LOOK, what="look")
                os.write(diary, b".")
                time.sleep(chance.uniform(0.0, 0.05))
            if chance.random() < 0.75:
                portion.settle()
    except BudgetExceeded:
        os._exit(0)


def run_and_kill(ledger, diary, seed=0):
    """Keep eight processes at it, kill some and start others until nothing is left; return how many died."""
    context, chance = multiprocessing.get_context("fork"), random.Random(seed)
    processes = []
    while len(processes) < PROCESSES + KILLS:
        running = [process for process in processes if process.exitcode is None]
        if len(running) == PROCESSES:
            time.sleep(chance.uniform(0.0, 0.1))
            chance.choice(running).kill()
        else:
            process = context.Process(target=fit_again_and_again, args=(ledger, diary, len(processes)))
            process.start()
            processes.append(process)
    for process in processes:
        process.join(120)
    ends = [process.exitcode for process in processes]
    assert set(ends) <= {0, -signal.SIGKILL}  # what was not killed found the budget spent, and nothing else
    return ends.count(-signal.SIGKILL)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def ledger(request, tmp_path):
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/people.db"
    else:
        url = request.getfixturevalue("postgres_url")
    return Ledger.open(url, dataset=uuid.uuid4().hex, rho=1.0, timeout=120.0)


@pytest.fixture
def diary(tmp_path):
    file = os.open(tmp_path / "looks", os.O_CREAT | os.O_RDWR | os.O_APPEND)
    yield file
    os.close(file)


def looked(diary):
    return Fraction(os.fstat(diary).st_size) * Fraction(LOOK)


def spent(ledger):
    return Fraction(ledger._store.totals[0], UNIT)


@fork
def test_eight_processes_killed_at_random_never_overspend_and_never_undercount(ledger, diary):
    assert run_and_kill(ledger, diary) >= KILLS / 4
    assert_every_look_was_paid_for(ledger, diary)


@fork
@pytest.mark.deep
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_however_often_processes_are_killed_every_look_was_paid_for(
    store, part, request, tmp_path, record_property
):
    """Ten parts of ten ledgers each, for each of which up to twelve processes are killed."""
    url = f"sqlite:///{tmp_path}/people.db" if store == "sqlite" else request.getfixturevalue("postgres_url")
    for seed in range(10 * part + 1, 10 * part + 11):
        ledger = Ledger.open(url, dataset=uuid.uuid4().hex, rho=1.0, timeout=120.0)
        diary = os.open(tmp_path / f"looks-{seed}", os.O_CREAT | os.O_RDWR | os.O_APPEND)
        run_and_kill(ledger, diary, seed)
        assert_every_look_was_paid_for(ledger, diary)
        os.close(diary)
    record_property("cases", 10)


def assert_every_look_was_paid_for(ledger, diary):
    assert 0 < looked(diary) <= spent(ledger) <= 1
    assert ledger.remaining < PORTION
    ledger.verify()
    reserved = [number for number, entry in enumerate(ledger.entries, 1) if entry.settles is None]
    settled = [entry.settles for entry in ledger.entries if entry.settles is not None]
    assert 0 < len(settled) < len(reserved)
    assert set(settled) < set(reserved)


# -- that this can fail -------------------------------------------------------------------------------------


class Unlimited(SqlStore):
    """Write entries beyond the budget, which a right store refuses even if its ledger does not."""

    _seen = None  # what the right store has seen has a limit

    def __init__(self, *given):
        super().__init__(*given)
        self._ceilings = (2 * UNIT, 0)


class TwoTransactions(Unlimited):
    """Read the totals in one transaction and write the entry in another."""

    @contextmanager
    def exclusive(self):
        yield

    def append(self, entry, secret=None):
        time.sleep(0.2)
        with super().exclusive():
            return super().append(entry, secret)

    @property
    def seal(self):
        with super().exclusive():
            return super().seal


class WritesInTheEnd(Unlimited):
    """Write what a fit spent when it has ended, as if no fit was ever killed."""

    def append(self, entry, secret=None):
        if entry.settles is None:
            self.reservation = entry
            return 0
        return super().append(replace(entry, settles=super().append(self.reservation, secret)), secret)


def kept_by(ledger, kind):
    """Return the same account, kept by a store that is wrong."""
    wrong = Ledger.keeping(ledger.promise)
    wrong._store = kind(ledger._store.database, ledger.dataset, ledger.identifier, ledger.promise)
    return wrong


@fork
@pytest.mark.parametrize("ledger", ["sqlite"], indirect=True)
def test_without_one_transaction_the_budget_is_exceeded(ledger, diary):
    ledger.charge(1.0 - PORTION)
    run_and_kill(kept_by(ledger, TwoTransactions), diary)
    with pytest.raises(BrokenChain, match="is beyond the privacy budget"):
        ledger.verify()


@fork
@pytest.mark.parametrize("ledger", ["sqlite"], indirect=True)
def test_without_a_reservation_before_the_first_look_looks_are_lost(ledger, diary):
    ledger.charge(0.75)
    wrong = kept_by(ledger, WritesInTheEnd)
    run_and_kill(wrong, diary)
    assert looked(diary) > spent(wrong) - Fraction(3, 4)
