"""Rows of a store hold random numbers, so that no guess can be tested against a published seal (A5)."""

import hashlib
import json

import pytest
import sqlalchemy as sa

from privfit import Ledger
from privfit.accounting.lasting import Database
from privfit.accounting.stores import chain
from privfit.accounting.stores.signing import signed
from privfit.accounting.stores.tables import ENTRIES


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/people.db"


def rows(url):
    with Database(url, 5.0).reading() as connection:
        return list(connection.execute(sa.select(ENTRIES).order_by(ENTRIES.c.number)).mappings())


def test_every_row_has_a_random_number_of_its_own(url):
    ledger = Ledger.open(url, dataset="census", epsilon=1.0)
    for _ in range(3):
        ledger.charge(0.001, what="the same", kind="gaussian")
    portion = ledger.portion(0.001, what="a fit")
    portion.charge(0.0005, kind="gaussian")
    portion.settle()
    found = rows(url)
    salts = [row["secret_hash"] or row["secret"] for row in found]
    assert len(found) == 5
    assert len({*salts}) == 5
    assert all(len(bytes.fromhex(salt)) == 32 for salt in salts)


def test_a_guess_of_all_that_is_known_does_not_give_the_seal(url):
    """Whoever knows every other field of the only row, and the seal before it, cannot compute its seal."""
    ledger = Ledger.open(url, dataset="census", epsilon=1.0)
    before = str(ledger.verify())
    ledger.charge(0.001, what="mean age", kind="gaussian")
    (row,) = rows(url)
    guess = {name: row[name] for name in chain._FIELDS_OF_ENTRY} | {"secret_hash": None}
    text = json.dumps(guess, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(f"{before}\n{text}".encode()).hexdigest() != row["seal"]
    assert chain.seal_of_entry(row, before) == row["seal"]


def test_a_charge_is_no_reservation_that_anybody_could_settle(url):
    ledger = Ledger.open(url, dataset="census", epsilon=1.0)
    ledger.charge(0.001, what="mean age", kind="gaussian")
    (row,) = rows(url)
    forged = signed(ledger._store, "mean age", "settled", -0.001, 0.0, settles=1)
    with ledger._store.exclusive(), pytest.raises(chain.BrokenChain, match="without its secret"):
        ledger._store.append(forged, row["secret_hash"])
    assert ledger.spent == 0.001


def test_the_seal_of_a_portion_is_in_the_chain(url):
    ledger = Ledger.open(url, dataset="census", epsilon=1.0)
    assert ledger.seal is None
    portion = ledger.portion(0.001)
    reserved = portion.seal
    portion.settle()
    settled = portion.seal
    assert reserved != settled
    assert (ledger.verify(reserved).noted, ledger.verify(settled).noted) == (1, 2)
    assert settled == ledger.verify()


def test_a_portion_in_memory_has_no_seal():
    portion = Ledger(epsilon=1.0).portion(0.001)
    portion.settle()
    assert portion.seal is None
