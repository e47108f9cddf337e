"""Stores that format 1 wrote, kept in the directory format_1, after one migration by their owner.

They were written by the last version that wrote format 1: ledgers of every kind of promise, each with a
charge, a settled reservation and one that is open. The file noted.json says what that version said of them.
"""

import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from forging import change, forge, insert, rows_of
from permissions import as_nobody, make_read_only, make_writable, open_directory
from postgres_databases import connect, load, new_role, new_schema

from privfit.accounting import BrokenChain, Ledger, LedgerError, list_datasets, migrate
from privfit.accounting.stores import migration
from privfit.accounting.stores.chain import seal_of_entry
from privfit.accounting.stores.tables import FORMAT

KEPT = Path(__file__).parent / "format_1"
NOTED = json.loads((KEPT / "noted.json").read_text())
KINDS = {
    "census-2026": "concentrated",
    "clinic": "concentrated",
    "genomes": "gaussian",
    "one release": "release",
}
KINDS |= {"untouched": "concentrated"}
NEEDS_MIGRATION = (
    "written by an earlier version of privfit; its owner has to bring it up to date once, by `privfit"
)


def in_a_file(request):
    path = request.getfixturevalue("tmp_path") / "people.db"
    shutil.copy(KEPT / "people.db", path)
    return f"sqlite:///{path}"


def on_a_server(request):
    url = new_schema(request.getfixturevalue("postgres_url"))
    load(url, KEPT / "people.sql")
    return url


PLACES = {"sqlite": in_a_file, "postgres": on_a_server}


@pytest.fixture(params=PLACES)
def store(request):
    """Return the URL of a store of format 1, and what was noted of its ledgers."""
    return PLACES[request.param](request), NOTED[request.param]


@contextmanager
def directly(url):
    engine = sa.create_engine(url) if url.startswith("sqlite") else connect(url)
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def test_before_it_everybody_is_told_who_has_to_do_what(store):
    url, noted = store
    for dataset in noted:
        with pytest.raises(LedgerError, match=NEEDS_MIGRATION):
            Ledger.open(url, dataset=dataset)
    with pytest.raises(LedgerError, match=NEEDS_MIGRATION):
        Ledger.open(url, dataset="another", rho=1.0)
    assert list_datasets(url) == sorted(noted)


def test_after_it_ledgers_say_what_they_said_and_a_noted_seal_is_found(store):
    url, noted = store
    assert migrate(url) == sorted(noted)
    for dataset, said in noted.items():
        ledger = Ledger.open(url, dataset=dataset)
        assert (ledger.spent, ledger.spent_delta) == (said["spent"], said["spent_delta"])
        for seal in said["seals"]:
            assert ledger.verify(seal) == said["seals"][-1]


def test_after_it_ledgers_are_charged_and_settled_as_ever(store):
    url, noted = store
    migrate(url)
    for dataset, said in noted.items():
        ledger = Ledger.open(url, dataset=dataset)
        if dataset == "one release":
            continue  # of which nothing is left
        portion = ledger.portion(0.004)
        portion.charge(0.001, kind=KINDS[dataset])
        portion.settle()
        assert ledger.spent == pytest.approx(said["spent"] + 0.001, rel=1e-12)
        assert ledger.verify(said["seals"][0]).entries == len(ledger.entries)


def test_after_it_an_open_reservation_stays_spent(store):
    url, noted = store
    migrate(url)
    for dataset, secret in zip(("census-2026", "clinic", "genomes"), ("", "None", "0" * 64), strict=True):
        ledger, opened = Ledger.open(url, dataset=dataset), noted[dataset]["open"]
        with directly(url) as connection:
            given_back = f"-{rows_of(connection, ledger)[opened - 1]['rho']}"
            insert(connection, forge(connection, ledger, rho=given_back, settles=opened, secret=secret))
        with pytest.raises(BrokenChain, match="gives back more than was reserved"):
            ledger.charge(0.001, kind=KINDS[dataset])


@pytest.mark.parametrize("column", ["secret_hash", "secret"])
def test_after_it_columns_that_no_old_seal_covers_stay_empty(store, column):
    url, _ = store
    migrate(url)
    with directly(url) as connection:
        if column == "secret":
            connection.exec_driver_sql("UPDATE privfit_entries SET secret = 'x' WHERE settles IS NOT NULL")
        else:
            connection.exec_driver_sql("UPDATE privfit_entries SET secret_hash = 'x' WHERE settles IS NULL")
    with pytest.raises(BrokenChain, match=r"Entry [13] of the ledger of 'clinic' was not written by privfit"):
        Ledger.open(url, dataset="clinic").charge(0.01)


def test_it_is_done_once(store):
    url, noted = store
    migrate(url)
    Ledger.open(url, dataset="clinic").charge(0.01)
    assert migrate(url) == []
    assert Ledger.open(url, dataset="clinic").verify(noted["clinic"]["seals"][-1]).entries == 5


@pytest.mark.parametrize(
    ("table", "change", "name"),
    [
        ("entries", "rho = '-0.01' WHERE what = 'mean'", "Entry 5 of the ledger of 'census-2026'"),
        ("accounts", "who = 'eve' WHERE dataset = 'untouched'", "The ledger of 'untouched'"),
    ],
)
def test_what_was_forged_is_not_let_through(store, table, change, name):
    """What format 1 found only when it was verified is found before anything is changed."""
    url, _ = store
    with directly(url) as connection:
        connection.exec_driver_sql(f"UPDATE privfit_{table} SET {change}")
    with pytest.raises(BrokenChain, match=f"^{name} is not what was written"):
        migrate(url)
    with pytest.raises(LedgerError, match=NEEDS_MIGRATION):
        Ledger.open(url, dataset="clinic")


def test_an_interrupted_migration_changes_nothing(store, monkeypatch):
    url, noted = store
    step = "_rebuild" if url.startswith("sqlite") else "_alter"
    done = getattr(migration, step)

    def interrupted(*given):
        done(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(migration, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        migrate(url)
    monkeypatch.undo()
    with pytest.raises(LedgerError, match=NEEDS_MIGRATION):
        Ledger.open(url, dataset="clinic")
    assert migrate(url) == sorted(noted)


def test_constraints_are_those_of_a_new_store(store, request, tmp_path):
    url, _ = store
    migrate(url)
    new = f"sqlite:///{tmp_path}/new.db"
    if not url.startswith("sqlite"):
        new = new_schema(request.getfixturevalue("postgres_url"))
    Ledger.open(new, dataset="census-2026", rho=1.0)

    tables = ("privfit_accounts", "privfit_entries")

    def rules(url):
        with directly(url) as connection:
            if url.startswith("sqlite"):
                made = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
                return {name: text.replace('"', "").split() for name, text in made}
            inspector = sa.inspect(connection)
            checks = [rule for table in tables for rule in inspector.get_check_constraints(table)]
            unique = [
                sorted(rule["column_names"]) for t in tables for rule in inspector.get_unique_constraints(t)
            ]
            return {
                "checks": {rule["name"]: rule["sqltext"] for rule in checks},
                "columns": [(c["name"], c["nullable"]) for t in tables for c in inspector.get_columns(t)],
                "unique": sorted(unique),
                "keys": [inspector.get_pk_constraint(table)["constrained_columns"] for table in tables],
            }

    migrated, made = rules(url), rules(new)
    by_owner = [
        rules.pop("privfit_accounts", None) or rules["checks"].pop("privfit_migrated_by_owner")
        for rules in (migrated, made)
    ]
    assert "account IN" in " ".join(by_owner[0]) or "ANY" in by_owner[0]
    assert migrated == made


def test_nobody_inserts_a_ledger_that_claims_to_be_migrated(store):
    """Its entries would be held to the rules of format 1, under which anybody settles."""
    url, _ = store
    migrate(url)
    with directly(url) as connection:
        row = dict(connection.exec_driver_sql("SELECT * FROM privfit_accounts").mappings().first())
    row |= {"dataset": "mine", "account": "0" * 32, "migrated": 1000}
    names = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join(f":{name}" for name in row)
    for wrong in ({}, {"migrated": None, "format": 1}):
        with pytest.raises(sa.exc.IntegrityError), directly(url) as connection:
            connection.execute(
                sa.text(f"INSERT INTO privfit_accounts ({names}) VALUES ({marks})"), row | wrong
            )


def test_a_charge_of_minus_zero_is_migrated(tmp_path, request):
    """Format 1 wrote what was charged: -0.0 is nothing, but begins with a minus."""
    url = in_a_file(request)
    with directly(url) as connection:
        last = dict(
            connection.exec_driver_sql("SELECT * FROM privfit_entries WHERE what = 'mean'").mappings().one()
        )
        row = last | {"number": 6, "rho": "-0.0"}
        row["seal"] = seal_of_entry(row, last["seal"], in_format_1=True)
        names, marks = ", ".join(f'"{n}"' for n in row), ", ".join(f":{n}" for n in row)
        connection.execute(sa.text(f"INSERT INTO privfit_entries ({names}) VALUES ({marks})"), row)
    migrate(url)
    assert Ledger.open(url, dataset="census-2026").verify().entries == 6


def test_an_account_name_that_is_none_is_not_written_into_a_constraint(tmp_path, request):
    url = in_a_file(request)
    change(
        tmp_path / "people.db",
        "UPDATE privfit_accounts SET account = 'x'') OR (''1''=''1' WHERE dataset = 'clinic'",
    )
    with pytest.raises(BrokenChain, match="The ledger of 'clinic' was not written by privfit"):
        migrate(url)


def test_where_there_is_nothing_nothing_is_made(tmp_path):
    with pytest.raises(LedgerError, match=r"people\.db does not exist; check the path"):
        migrate(f"sqlite:///{tmp_path}/people.db")
    change(tmp_path / "people.db", "CREATE TABLE patients (name TEXT)")
    with pytest.raises(LedgerError, match=r"There are no ledgers at sqlite:.*; check the address"):
        migrate(f"sqlite:///{tmp_path}/people.db")


def test_only_the_owner_of_a_server_s_tables_migrates_and_others_keep_their_rights(request):
    url = on_a_server(request)
    clerk = new_role(url, "SELECT, INSERT ON privfit_accounts, privfit_entries")
    with pytest.raises(LedgerError, match=NEEDS_MIGRATION):
        Ledger.open(clerk, dataset="clinic")
    with pytest.raises(
        LedgerError, match=r"^Only the owner of its tables can bring this store up to date; ask"
    ):
        migrate(clerk)
    migrate(url)
    ledger = Ledger.open(clerk, dataset="clinic")
    ledger.portion(0.01).settle()
    assert ledger.verify().entries == 6
    assert migrate(url) == []
    with pytest.raises(LedgerError, match="Only the owner"):
        migrate(clerk)


def test_the_owner_waits_for_who_is_charging(request):
    url = on_a_server(request)
    with directly(url) as connection:
        connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql("SELECT * FROM privfit_accounts")
        with pytest.raises(LedgerError, match=r"kept it locked for 0\.2 seconds; try again"):
            migrate(url, timeout=0.2)
        connection.exec_driver_sql("COMMIT")
    assert len(migrate(url)) == 5


def test_nobody_writes_between_the_check_and_the_change(request, monkeypatch):
    url = on_a_server(request)
    checked, told = migration._checked, []

    def check_while_others_write(connection, row):
        with directly(url) as other:
            other.exec_driver_sql("SET lock_timeout = '50ms'")
            with pytest.raises(sa.exc.OperationalError) as failure:
                other.exec_driver_sql("INSERT INTO privfit_entries SELECT * FROM privfit_entries WHERE false")
        told.append(failure.value.orig.sqlstate)
        return checked(connection, row)

    monkeypatch.setattr(migration, "_checked", check_while_others_write)
    migrate(url)
    assert told == ["55P03"] * 5


def test_an_older_version_is_told_to_upgrade(store):
    """It compares the format before anything else."""
    url, _ = store
    migrate(url)
    with directly(url) as connection:
        formats = set(connection.exec_driver_sql("SELECT format FROM privfit_accounts").scalars())
    assert formats == {FORMAT} == {2}


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_who_may_not_write_a_file_is_told_to_ask_its_owner():
    with open_directory() as directory:
        shutil.copy(KEPT / "people.db", directory / "people.db")
        make_read_only(directory)
        url = f"sqlite:///{directory}/people.db"
        with (
            as_nobody(),
            pytest.raises(LedgerError, match="is read-only for this user; ask its owner"),
        ):
            migrate(url)
        make_writable(directory)
        assert len(migrate(url)) == 5
