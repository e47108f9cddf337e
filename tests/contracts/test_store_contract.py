"""What every store of an account must do; a new one is added to STORES."""

import threading
import uuid
from fractions import Fraction

import pytest

from privfit.accounting import Concentrated
from privfit.accounting.amounts import UNIT
from privfit.accounting.lasting import Database, SqlStore
from privfit.accounting.stores import Entry, MemoryStore
from privfit.accounting.stores.ledgers import find_or_create


def in_memory(request):
    store = MemoryStore()
    return lambda: store


def in_a_database(url, dataset):
    database, ample = Database(url, 30.0), Concentrated(1e308, 1e308)
    return SqlStore(database, dataset, find_or_create(database, dataset, lambda: ample)["account"], ample)


def in_a_file(request):
    url = f"sqlite:///{request.getfixturevalue('tmp_path')}/people.db"
    return lambda: in_a_database(url, "census")


def on_a_server(request):
    url, dataset = request.getfixturevalue("postgres_url"), uuid.uuid4().hex
    return lambda: in_a_database(url, dataset)


STORES = {"memory": in_memory, "sqlite": in_a_file, "postgres": on_a_server}


@pytest.fixture(params=STORES)
def opened(request):
    """Return a function that opens a new account, and the same one again whenever it is called."""
    return STORES[request.param](request)


@pytest.fixture
def store(opened):
    return opened()


def entry(rho, delta=0.0, what="gradient"):
    return Entry(what, "gaussian", rho, delta, "2026-01-31")


def test_a_new_account_is_empty(store):
    assert store.entries == ()
    assert store.totals == (0, 0)
    store.require_writable()


def test_entries_are_kept_in_their_order(store):
    added = [entry(0.1 * k, what=f"question {k}") for k in range(5)]
    for one in added:
        with store.exclusive():
            store.append(one)
    assert store.entries == tuple(added)


@pytest.mark.parametrize("amounts", [[0.1] * 10, [1e300, 5e-324, 0.5], [2.0**-1074] * 3, [0.0]])
def test_totals_are_exact(store, amounts):
    with store.exclusive():
        for amount in amounts:
            store.append(entry(amount, amount / 2 if amount > 1e-300 else 0.0))
    assert Fraction(store.totals[0], UNIT) == sum(map(Fraction, amounts))
    halves = [Fraction(amount / 2) for amount in amounts if amount > 1e-300]
    assert Fraction(store.totals[1], UNIT) == sum(halves)


def test_whoever_holds_the_others_off_may_do_so_again(store):
    with store.exclusive(), store.exclusive():
        store.append(entry(0.5))
    assert len(store.entries) == 1


def test_entries_are_numbered_from_one(store):
    with store.exclusive():
        assert [store.append(entry(0.125)) for _ in range(3)] == [1, 2, 3]


def test_all_that_an_entry_says_is_kept(opened):
    told = Entry("Grüße, 'fit'; --", "réserved", 0.1, 1e-300, "2026-01-31", who="Zoë")
    returned = Entry("fit", "settled", -1e-17, -5e-324, "2026-02-01", who="ada", settles=1)
    store = opened()
    with store.exclusive():
        for one in (told, returned):
            store.append(one, "secret")
    assert opened().entries == (told, returned)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["through one object", "through two"])
def test_a_reader_waits_until_a_writer_has_decided(opened, elsewhere):
    """Between reading the totals and adding an entry nobody else may decide by them."""
    seen, reading = [], threading.Event()
    store = opened()
    other = opened() if elsewhere else store

    def read():
        reading.set()
        with other.exclusive():
            seen.append(other.totals)

    reader = threading.Thread(target=read)
    with store.exclusive():
        reader.start()
        assert reading.wait(10)
        before = store.totals
        store.append(entry(0.25))
        assert before == (0, 0)
        reader.join(0.5)  # long enough to connect and to read, had nobody held it off
        assert seen == []
    reader.join(10)
    assert seen == [(UNIT // 4, 0)]


def test_an_entry_is_kept_if_what_it_paid_for_fails(store):
    def look():
        with store.exclusive():
            store.append(entry(0.25))
            raise FloatingPointError("the look failed")

    with pytest.raises(FloatingPointError, match="the look failed"):
        look()
    assert len(store.entries) == 1


def test_a_record_of_an_account_cannot_be_written():
    record = MemoryStore([entry(0.25)], writable=False)
    assert record.totals[0] == UNIT // 4
    with pytest.raises(RuntimeError, match="not open in this process"):
        record.require_writable()
