"""Users of a server who may read and insert, and nothing more: they spend, and give nothing back (A4)."""

import postgres_server
import pytest
import sqlalchemy as sa
from forging import forge, insert, rows_of
from postgres_databases import connect, new_role, new_schema, run

from privfit.accounting import BrokenChain, BudgetExceeded, Ledger, LedgerError
from privfit.accounting.stores.chain import seal_of_ledger
from privfit.accounting.stores.tables import LEDGERS

READ_AND_INSERT = ("SELECT ON privfit_accounts, privfit_entries", "INSERT ON privfit_entries")


@pytest.fixture
def store(postgres_url):
    """Return the URL of a schema of its own."""
    return new_schema(postgres_url)


@pytest.fixture
def owner(store):
    """Return a ledger with a charge, a settled reservation and an open one."""
    ledger = Ledger.open(store, dataset="census-2026", rho=1.0, delta=1e-6)
    ledger.charge(0.125, what="count")
    portion = ledger.portion(0.25, what="fit")
    portion.charge(0.125)
    portion.settle()
    ledger.portion(0.5, what="fit")
    return ledger


@pytest.fixture
def clerk(owner, store):
    """Return the URL by which somebody connects who may read, and insert entries."""
    return new_role(store, *READ_AND_INSERT)


@pytest.fixture
def connection(clerk):
    """Return a connection of the clerk, past privfit."""
    with connect(clerk).connect() as connection:
        yield connection


def test_honest_use_needs_no_other_right(owner, clerk):
    ledger = Ledger.open(clerk, dataset="census-2026")
    portion = ledger.portion(0.0625, what="fit")
    portion.charge(0.03125)
    portion.settle()
    ledger.charge(0.125)
    assert ledger.spent == owner.spent == 0.25 + 0.5 + 0.03125 + 0.125
    with pytest.raises(BudgetExceeded):
        ledger.charge(0.25)
    assert ledger.verify() == owner.verify()


FORGED = {
    "a settlement of an open reservation": ({"rho": "-0.5", "settles": 4, "secret": "0" * 64}, "its secret"),
    "of nothing of it": ({"settles": 4, "secret": "0" * 64}, "without its secret"),
    "a settlement of a charge": ({"rho": "-0.125", "settles": 1, "secret": "x"}, "without its secret"),
    "a settlement of more": (
        {"rho": "-0.75", "settles": 4, "secret": "x"},
        "gives back more than was reserved",
    ),
    "restated totals": ({"total_rho": "0p0"}, "does not add up"),
    "a wrong seal": ({"seal": "0" * 64}, "is not what was written there"),
    "a gap": ({"number": 7}, "was not written by privfit"),
    "beyond the budget": ({"rho": "5.0"}, "is beyond the privacy budget"),
}


@pytest.mark.parametrize(("fields", "reason"), FORGED.values(), ids=list(FORGED))
def test_the_next_charge_refuses_what_one_row_does_not_show(owner, clerk, connection, fields, reason):
    insert(connection, forge(connection, owner, **fields))
    for ledger in (owner, Ledger.open(clerk, dataset="census-2026")):
        for attempt in (ledger.charge, ledger.portion):
            with pytest.raises(
                BrokenChain, match=f"^Entry 5 of the ledger of 'census-2026' .*{reason}.*; nothing"
            ):
                attempt(0.0625)


def test_settling_twice_is_refused_by_the_server_and_its_secret_opens_nothing_else(owner, connection):
    revealed = rows_of(connection, owner)[2]["secret"]
    twice = forge(connection, owner, rho="-0.125", settles=2, secret=revealed)
    with pytest.raises(sa.exc.IntegrityError, match="privfit_entries_account_settles_key"):
        insert(connection, twice)
    insert(connection, forge(connection, owner, rho="-0.5", settles=4, secret=revealed))
    with pytest.raises(BrokenChain, match="settles a reservation without its secret"):
        owner.charge(0.0625)


NEGATIVE = {
    "a negative amount": ({"rho": "-0.125"}, "charges_are_not_negative"),
    "a negative delta": ({"delta": "-1e-07"}, "charges_are_not_negative"),
    "a hidden minus": ({"rho": " -0.125"}, "charges_are_not_negative"),
    "no secret": ({"rho": "-0.5", "settles": 4}, "settlements_have_a_secret"),
    "a settlement that takes": ({"rho": "0.5", "settles": 4, "secret": "x"}, "settlements_give_back"),
    "a settlement of what comes": ({"settles": 6, "secret": "x"}, "settlements_come_later"),
    "a settlement that reserves": ({"settles": 4, "secret": "x", "secret_hash": "x"}, "reserve_nothing"),
    "number 0": ({"number": 0}, "numbered_from_one"),
}


@pytest.mark.parametrize(("fields", "rule"), NEGATIVE.values(), ids=list(NEGATIVE))
def test_the_server_refuses_what_one_row_shows(owner, connection, fields, rule):
    with pytest.raises(sa.exc.IntegrityError, match=rule):
        insert(connection, forge(connection, owner, **fields))
    owner.charge(0.0625)


def test_without_constraints_a_negative_amount_stops_the_next_charge(owner, store, connection):
    run(store, "ALTER TABLE privfit_entries DROP CONSTRAINT privfit_charges_are_not_negative")
    insert(connection, forge(connection, owner, rho="-0.125"))
    with pytest.raises(
        BrokenChain, match=r"Entry 5 .* gives back an amount that was not reserved; nothing is charged"
    ):
        owner.charge(0.0625)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE privfit_entries SET rho = '0.0'",
        "DELETE FROM privfit_entries",
        "TRUNCATE privfit_entries",
        "UPDATE privfit_accounts SET promise = replace(promise, '1.0', '9.0')",
        "UPDATE privfit_accounts SET migrated = 100",
        "ALTER TABLE privfit_entries DROP CONSTRAINT privfit_charges_are_not_negative",
        "DROP TABLE privfit_entries",
        "INSERT INTO privfit_entries SELECT * FROM privfit_entries ON CONFLICT (account, number) "
        "DO UPDATE SET rho = '0.0'",
        "CREATE RULE spend AS ON INSERT TO privfit_entries DO INSTEAD NOTHING",
        "INSERT INTO privfit_accounts (dataset) VALUES ('mine')",
    ],
)
def test_the_server_lets_them_change_nothing(owner, connection, statement):
    before = rows_of(connection, owner)
    with pytest.raises(sa.exc.ProgrammingError, match=r"permission denied|must be owner"):
        connection.exec_driver_sql(statement)
    assert rows_of(connection, owner) == before
    owner.verify()


def test_a_ledger_that_claims_to_be_migrated_cannot_be_inserted_either(owner, store):
    """By somebody who may open ledgers, too: under the rules of format 1 anybody settles."""
    with connect(new_role(store, *READ_AND_INSERT, "INSERT ON privfit_accounts")).connect() as connection:
        row = dict(connection.execute(sa.select(LEDGERS)).mappings().one())
        row |= {"dataset": "mine", "account": "0" * 32, "migrated": 100}
        with pytest.raises(sa.exc.IntegrityError, match="privfit_migrated_by_owner"):
            connection.execute(sa.insert(LEDGERS).values(row | {"seal": seal_of_ledger(row)}))


def test_a_row_that_comes_first_is_no_charge_of_ours(owner, connection, monkeypatch):
    """Between our reading and our writing, another program adds a row with the number of ours."""
    store = owner._store
    append = store.append

    def append_later(entry, secret=None):
        insert(connection, forge(connection, owner))
        return append(entry, secret)

    monkeypatch.setattr(store, "append", append_later)
    with pytest.raises(
        LedgerError, match="a rule of its tables forbids this entry, or another program wrote"
    ):
        owner.charge(0.0625)
    monkeypatch.undo()
    owner.charge(0.0625)
    assert [entry.what for entry in owner.entries[-2:]] == ["forged", ""]


def test_who_may_only_read_can_read_and_not_charge(owner, store):
    ledger = Ledger.open(new_role(store, READ_AND_INSERT[0]), dataset="census-2026")
    assert ledger.spent == 0.75
    assert ledger.verify().entries == 4
    for attempt in (ledger.charge, ledger.portion):
        with pytest.raises(LedgerError, match="this user may not write there; ask for INSERT on its tables"):
            attempt(0.0625)
    assert len(owner.entries) == 4


def test_a_session_that_is_read_only_by_default_is_charged_all_the_same(owner, store):
    url = store.replace("options=", "options=-c%20default_transaction_read_only%3Don%20")
    assert Ledger.open(url, dataset="census-2026").charge(0.0625)
    assert owner.spent == 0.8125


@pytest.mark.slow
def test_a_server_that_takes_no_writes_says_so():
    """A standby, which follows another server."""
    binaries = postgres_server.find_binaries()
    if binaries is None:
        pytest.skip(postgres_server.HOW_TO_INSTALL)
    message = "the server is read-only; connect to the one that is written to"
    with (
        postgres_server.running_server(binaries, standby=True) as url,
        pytest.raises(LedgerError, match=message),
    ):
        Ledger.open(url, dataset="census-2026", rho=1.0)
