"""The chain of a ledger that lasts (A3, A4): what was written stays, and nobody gives budget back."""

import pickle
import re
import shutil
import sqlite3
import threading
import uuid
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from forging import change, forge, insert, rows_of

from privfit.accounting import BrokenChain, BudgetExceeded, Entry, Gaussian, Ledger, LedgerError
from privfit.accounting.stores import chain, sql
from privfit.accounting.stores.chain import hash_of, seal_of_entry
from privfit.accounting.stores.tables import TABLES

BUDGET = {"dataset": "census-2026", "rho": 0.5, "delta": 1e-6}
REFUSED = "nothing is charged until its owner has removed what was forged, or restored a backup"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.db"


@pytest.fixture
def ledger(path):
    return Ledger.open(f"sqlite:///{path}", **BUDGET)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Return a file whose ledger has a charge, a settled reservation, a charge and an open reservation."""
    path = tmp_path_factory.mktemp("chain") / "people.db"
    ledger = Ledger.open(f"sqlite:///{path}", **BUDGET)
    ledger.charge(0.01, what="count")
    portion = ledger.portion(0.02, what="fit")
    portion.charge(0.01)
    portion.settle()
    ledger.charge(0.005, what="mean")
    ledger.portion(0.04, 1e-7, what="fit")
    return path


@pytest.fixture
def written(original, path):
    """Return a copy of that ledger, of which this process has seen all."""
    shutil.copy(original, path)
    ledger = Ledger.open(f"sqlite:///{path}", dataset="census-2026")
    assert ledger.spent > 0.0
    return ledger


@contextmanager
def lawless(path):
    """Connect to a file as whoever owns it, whom no constraint binds."""
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA ignore_check_constraints = ON")
        connection.exec_driver_sql("PRAGMA synchronous = OFF")
        yield connection
    engine.dispose()


def as_if_new(monkeypatch):
    """Forget what this process has seen, as a process does that has just begun."""
    monkeypatch.setattr(sql, "_SEEN", {})


def assert_refused(ledger, reason, monkeypatch):
    """Assert that nothing is charged, reserved or told, here and in a process that has just begun."""
    for begin in (lambda: None, lambda: as_if_new(monkeypatch)):
        begin()
        attempts = (
            lambda: ledger.charge(0.001),
            lambda: ledger.portion(0.001),
            lambda: ledger.spent,
            lambda: ledger.entries,
            lambda: ledger.statement(),
            ledger.verify,
            lambda: Ledger.open(ledger.url, dataset=ledger.dataset).charge(0.001),
        )
        for attempt in attempts:
            with pytest.raises(BrokenChain, match=rf"^{reason}.*; {REFUSED}\.$"):
                attempt()


# -- what was written stays ----------------------------------------------------------------------------------


def test_an_untouched_ledger_is_verified_and_says_how_far_that_can_be_seen(written):
    seal = written.verify()
    assert re.fullmatch("[0-9a-f]{64}", seal)
    assert seal.entries == 5
    assert "as far as they alone can show. The owner of the store could have removed the last" in seal.shows
    written.charge(0.001)
    later = written.verify(seal)
    assert later != seal
    assert "(6) are right, and those up to number 5 are the ones for which the seal was noted" in later.shows
    assert pickle.loads(pickle.dumps(later)).shows == later.shows


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE privfit_entries SET rho = '0.001' WHERE number = 1", "Entry 1 of the ledger"),
        ("UPDATE privfit_entries SET total_rho = '1p-9' WHERE number = 2", "Entry 2 of the ledger"),
        ("UPDATE privfit_entries SET who = 'eve' WHERE number = 3", "Entry 3 of the ledger"),
        ("UPDATE privfit_entries SET secret = 'x' WHERE number = 3", "Entry 3 of the ledger"),
        ("UPDATE privfit_entries SET secret_hash = NULL WHERE number = 2", "Entry 2 of the ledger"),
        ("UPDATE privfit_entries SET \"when\" = '2020-01-01' WHERE number = 4", "Entry 4 of the ledger"),
        ("DELETE FROM privfit_entries WHERE number = 2", "Entry 2 of the ledger"),
        ("UPDATE privfit_entries SET number = number + 5", "Entry 1 of the ledger"),
        (
            "UPDATE privfit_accounts SET promise = replace(promise, '0.5', '9.0')",
            "The ledger of 'census-2026'",
        ),
    ],
)
def test_what_was_changed_afterwards_is_found(written, path, statement, message):
    change(path, statement)
    with pytest.raises(BrokenChain, match=f"{message}.* is not what was written there: .*; {REFUSED}"):
        written.verify()


def test_entries_removed_from_the_end_are_missed_by_who_has_seen_them_or_noted_their_seal(
    written, path, monkeypatch
):
    seal = written.verify()
    change(path, "DELETE FROM privfit_entries WHERE number = 5")
    for attempt in (written.verify, lambda: written.charge(0.001), lambda: written.spent):
        with pytest.raises(BrokenChain, match="no longer holds entry 5 as this process has seen it"):
            attempt()
    as_if_new(monkeypatch)
    written.verify()  # the chain alone cannot know
    with pytest.raises(BrokenChain, match="does not hold the seal that was noted down"):
        written.verify(seal)


@pytest.mark.parametrize("spent", [0, 3], ids=["of nothing", "of some charges"])
def test_a_file_that_is_put_back_under_an_open_ledger_is_noticed(ledger, path, tmp_path, spent):
    for _ in range(spent):
        ledger.charge(0.01)
    shutil.copy(path, tmp_path / "backup.db")
    ledger.charge(0.2, what="the last thing that was seen")
    shutil.copy(tmp_path / "backup.db", path)
    again = Ledger.open(ledger.url, dataset="census-2026")
    for one in (ledger, again):
        for attempt in (lambda one=one: one.charge(0.2), lambda one=one: one.portion(0.2), one.verify):
            with pytest.raises(BrokenChain, match=f"holds entry {spent + 1} .*put back to an earlier state"):
                attempt()


def test_a_file_written_anew_under_an_open_ledger_is_noticed(written, path):
    with lawless(path) as connection:
        rows = rows_of(connection, written)
        connection.exec_driver_sql("DELETE FROM privfit_entries WHERE number > 3")
        for row, rho in zip(rows[3:], ("0.0", "0.0"), strict=True):
            insert(connection, forge(connection, written, number=row["number"], rho=rho))
    with pytest.raises(BrokenChain, match="no longer holds entry 5"):
        written.charge(0.001)


def test_what_was_not_committed_is_not_taken_for_seen(path):
    """A charge that could not be made durable must not look like a store that was put back."""
    ledger = Ledger.open(f"sqlite:///{path}", **BUDGET, timeout=0.2)
    ledger.charge(0.01)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM privfit_accounts").fetchall()
    with pytest.raises(LedgerError, match="another process kept it locked"):
        ledger.charge(0.01)
    reader.close()
    ledger.charge(0.02)
    assert [entry.rho for entry in ledger.entries] == [0.01, 0.02]


def test_what_was_kept_although_its_question_failed_counts_as_seen(ledger, path, tmp_path):
    shutil.copy(path, tmp_path / "backup.db")

    def fail_after_a_charge():
        with ledger._store.exclusive():
            ledger.charge(0.01)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_a_charge()
    shutil.copy(tmp_path / "backup.db", path)
    with pytest.raises(BrokenChain, match="no longer holds entry 1"):
        ledger.charge(0.01)


def test_a_reader_is_not_alarmed_by_what_others_write_while_it_reads(postgres_url, monkeypatch):
    dataset = uuid.uuid4().hex
    reader, writer = (Ledger.open(postgres_url, dataset=dataset, rho=1.0) for _ in range(2))
    writer.charge(0.25)
    find_ledger, writes = sql.find_ledger, [0.25]

    def find_and_let_others_write(connection, name):
        row = find_ledger(connection, name)
        if writes:
            writer.charge(writes.pop())
        return row

    monkeypatch.setattr(sql, "find_ledger", find_and_let_others_write)
    assert reader.spent == 0.25  # of the moment at which it began to read
    assert reader.spent == 0.5


def test_threads_that_share_a_ledger_alarm_nobody(path):
    ledgers = [Ledger.open(f"sqlite:///{path}", **BUDGET) for _ in range(4)]
    failures = []

    def spend_and_read(ledger):
        try:
            for _ in range(8):
                ledger.charge(2.0**-8)
                assert 0 < ledger.spent <= ledger.verify().entries * 2.0**-8
        except Exception as failure:  # for the thread that asserts
            failures.append(failure)

    threads = [threading.Thread(target=spend_and_read, args=(ledger,)) for ledger in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert {ledger.spent for ledger in ledgers} == {32 * 2.0**-8}


def test_a_promise_that_was_changed_is_not_kept_by_the_old_one(ledger, path):
    """Not even with a right seal, before the first charge."""
    other = Ledger.open(f"sqlite:///{path.with_name('other.db')}", dataset="census-2026", rho=2.0)
    with lawless(path) as connection, lawless(path.with_name("other.db")) as there:
        row = dict(there.exec_driver_sql("SELECT * FROM privfit_accounts").mappings().one())
        row |= {"account": ledger.identifier}
        row["seal"] = chain.seal_of_ledger(row)
        change_row = 'UPDATE privfit_accounts SET promise = ?, seal = ?, "when" = ?, who = ?'
        connection.exec_driver_sql(change_row, (row["promise"], row["seal"], row["when"], row["who"]))
    with pytest.raises(BrokenChain, match="promises something else than when it was opened here; open it"):
        ledger.charge(0.01)
    assert Ledger.open(ledger.url, dataset="census-2026").promise == other.promise


def test_a_ledger_s_own_row_that_was_written_anew_is_noticed(written, path):
    """With a right seal, and the same promise."""
    with lawless(path) as connection:
        row = dict(connection.exec_driver_sql("SELECT * FROM privfit_accounts").mappings().one()) | {
            "who": "eve"
        }
        change_row = "UPDATE privfit_accounts SET who = ?, seal = ?"
        connection.exec_driver_sql(change_row, ("eve", chain.seal_of_ledger(row)))
    for attempt in (lambda: written.charge(0.01), lambda: written.spent):
        with pytest.raises(BrokenChain, match="no longer holds entry 5 as this process has seen it"):
            attempt()


@pytest.mark.parametrize(
    "promise",
    [
        *("{}", "[]", "null", "what", '{"kind": []}', '{"kind": "concentrated"}', "[" * 100_000),
        *(
            f'{{"kind": "concentrated", "rho": {rho}}}'
            for rho in ("-1.0", "NaN", "1e999", '"x"', "null", "true")
        ),
        '{"kind": "concentrated", "rho": 1000.0, "epsilon": 1.0, "delta": 1e-6}',
        '{"kind": "gaussian", "rho": 1000.0, "epsilon": 1.0, "delta": 1e-6}',
        '{"kind": "gaussian", "rho": 1.0, "epsilon": "x", "delta": 1e-6}',
    ],
)
def test_a_promise_that_is_none_or_more_than_it_says_is_refused(ledger, path, promise):
    with lawless(path) as connection:
        row = dict(connection.exec_driver_sql("SELECT * FROM privfit_accounts").mappings().one())
        row["promise"] = promise
        change_row = "UPDATE privfit_accounts SET promise = ?, seal = ?"
        connection.exec_driver_sql(change_row, (promise, chain.seal_of_ledger(row)))
    for attempt in (lambda: ledger.charge(0.01), lambda: Ledger.open(ledger.url, dataset="census-2026")):
        with pytest.raises(BrokenChain, match=f"The ledger of 'census-2026' states no promise; {REFUSED}"):
            attempt()


# -- nobody gives budget back --------------------------------------------------------------------------------

FORGED = {
    "negative": ({"rho": "-0.005"}, "gives back an amount that was not reserved"),
    "negative delta": ({"delta": "-1e-08"}, "gives back an amount that was not reserved"),
    "beyond the budget": ({"rho": "5.0"}, "is beyond the privacy budget"),
    "delta beyond the budget": ({"delta": "0.5"}, "is beyond the privacy budget"),
    "restated totals": ({"total_rho": "0p0"}, "does not add up"),
    "less than its total": ({"rho": "0.001", "total_rho": "1p-9"}, "does not add up"),
    "no number": ({"rho": "0.0", "total_rho": "1p99999999999"}, "does not add up"),
    "a gap": ({"number": 9}, "was not written by privfit"),
    "no secret": ({"rho": "-0.04", "settles": 5}, "settles a reservation without its secret"),
    "empty secret": ({"rho": "-0.04", "settles": 5, "secret": ""}, "settles .* without its secret"),
    "a guess": ({"rho": "-0.04", "settles": 5, "secret": "0" * 64}, "settles .* without its secret"),
    "nothing given back": ({"settles": 5, "secret": "0" * 64}, "settles .* without its secret"),
    "a charge": ({"rho": "-0.01", "settles": 1, "secret": "x"}, "settles .* without its secret"),
    "itself": ({"rho": "-0.01", "settles": 6, "secret": "x"}, "gives back more than was reserved"),
    "nothing there": ({"settles": 77, "secret": "x"}, "gives back more than was reserved"),
    "too much": ({"rho": "-0.041", "settles": 5, "secret": "x"}, "gives back more than was reserved"),
    "too much delta": ({"delta": "-1e-06", "settles": 5, "secret": "x"}, "gives back more than was reserved"),
    "taking": ({"rho": "0.01", "settles": 5, "secret": "x"}, "gives back more than was reserved"),
    "wrong seal": ({"rho": "0.01", "seal": "0" * 64}, "is not what was written there"),
}


@pytest.mark.parametrize(("fields", "reason"), FORGED.values(), ids=list(FORGED))
def test_a_forged_entry_with_a_right_seal_stops_every_charge(written, path, monkeypatch, fields, reason):
    with lawless(path) as connection:
        insert(connection, forge(connection, written, **fields))
    assert_refused(written, f"Entry 6 of the ledger of 'census-2026' {reason}", monkeypatch)


@pytest.mark.parametrize(
    "text", ["nan", "inf", "1e999", " 0.01", "1_0", "0.010", "\u0660.\u0661", "-nan", ""]
)
@pytest.mark.parametrize("column", ["rho", "delta"])
def test_amounts_are_what_python_writes_and_nothing_else(written, path, monkeypatch, column, text):
    with lawless(path) as connection:
        row = forge(connection, written) | {column: text}
        insert(connection, row | {"seal": seal_of_entry(row, rows_of(connection, written)[-1]["seal"])})
    assert_refused(written, "Entry 6 of the ledger of 'census-2026' was not written by privfit", monkeypatch)


@pytest.mark.parametrize("column", ["what", "rho", "settles", "secret_hash", "secret", "total_rho"])
def test_bytes_in_a_row_are_no_entry(written, path, monkeypatch, column):
    with lawless(path) as connection:
        insert(connection, forge(connection, written))
        connection.exec_driver_sql(f"UPDATE privfit_entries SET {column} = x'00ff' WHERE number = 6")
    assert_refused(written, "Entry 6 of the ledger of 'census-2026' is not what was written", monkeypatch)


def test_a_row_that_cannot_be_sealed_is_not_sealed_by_nothing(written, path, monkeypatch):
    with lawless(path) as connection:
        insert(connection, forge(connection, written))
        connection.exec_driver_sql("UPDATE privfit_entries SET what = x'00ff', seal = '' WHERE number = 6")
    assert_refused(written, "Entry 6 of the ledger of 'census-2026' is not what was written", monkeypatch)


@pytest.mark.parametrize(
    ("assignment", "reason"),
    [
        ("promise = x'00'", "The ledger of 'census-2026' is not what was written"),
        ("promise = x'00', seal = ''", "The ledger of 'census-2026' is not what was written"),
        ("migrated = 5", "The ledger of 'census-2026' is not what was written"),
        ("migrated = 'x'", "The ledger of 'census-2026' is not what was written"),
        ("format = 'x'", "The ledger of 'census-2026' was not written by privfit"),
        ("format = 3", "The ledger of 'census-2026' needs a newer version of privfit"),
        ("dataset = x'00'", "The ledger of 'census-2026' that was opened here is no longer at"),
        (
            "who = CAST(x'ff' AS TEXT)",
            "The store at .* cannot be used: the file holds text that cannot be decoded; restore",
        ),
    ],
)
def test_a_hostile_row_of_a_ledger_is_refused_in_one_sentence(written, path, assignment, reason):
    with lawless(path) as connection:
        connection.exec_driver_sql(f"UPDATE privfit_accounts SET {assignment}")
    for attempt in (lambda: written.charge(0.01), lambda: written.spent, written.verify):
        with pytest.raises(LedgerError, match=f"^{reason}"):
            attempt()
    with pytest.raises((LedgerError, ValueError), match=r"^(The|There is no) "):
        Ledger.open(written.url, dataset="census-2026")


@pytest.mark.parametrize(("fields", "reason"), FORGED.values(), ids=list(FORGED))
def test_constraints_refuse_what_a_single_row_shows(written, path, fields, reason):
    """Of a file, they bind who does not turn them off."""
    cannot_be_seen_in_one_row = ("beyond", "does not add up", "was not written", "is not what was written")
    seen = not any(words in reason for words in cannot_be_seen_in_one_row)
    if fields.get("settles") in (1, 5) and "secret" in fields and fields.get("rho") != "0.01":
        seen = False
    engine = sa.create_engine(f"sqlite:///{path}")
    try:
        with engine.begin() as connection:
            insert(connection, forge(connection, written, **fields))
    except sa.exc.IntegrityError:
        assert seen
        written.charge(0.001)
    else:
        assert not seen
    engine.dispose()


def test_a_revealed_secret_settles_nothing_else(written, path, monkeypatch):
    with lawless(path) as connection:
        revealed = rows_of(connection, written)[2]["secret"]
        for settles in (2, 5):
            row = forge(connection, written, rho="-0.01", settles=settles, secret=revealed)
            with pytest.raises(sa.exc.IntegrityError) if settles == 2 else _nothing():
                insert(connection, row)
    assert_refused(written, "Entry 6 of the ledger of 'census-2026' settles .* without its", monkeypatch)


@contextmanager
def _nothing():
    yield


def test_a_copied_hash_gives_back_only_what_its_copy_reserved(written, path):
    """Who copies the hash of a reservation can settle the copy, once the secret is revealed; no harm done."""
    portion = written.portion(0.1)
    before = written.spent
    with lawless(path) as connection:
        stolen = rows_of(connection, written)[-1]["secret_hash"]
        insert(connection, forge(connection, written, rho="0.01", secret_hash=stolen))
    portion.settle()
    with lawless(path) as connection:
        revealed = rows_of(connection, written)[-1]["secret"]
        insert(connection, forge(connection, written, rho="-0.01", settles=7, secret=revealed))
    assert written.spent == pytest.approx(before - 0.1, abs=1e-15)
    written.verify()


def test_a_settlement_that_another_program_made_keeps_ours_from_giving_back_more(ledger, path, monkeypatch):
    """Even if it knows the secret: the reservation is settled once."""
    portion = ledger.portion(0.1)
    with lawless(path) as connection:
        secret = portion._reservation.secret
        insert(connection, forge(connection, ledger, rho="-0.1", settles=1, secret=secret))
    with pytest.raises(BrokenChain, match=r"Entry 3 .* gives back more than was reserved"):
        portion.settle()
    assert len(ledger.entries) == 2


def test_a_reservation_is_settled_by_its_secret_alone_and_once(written):
    for secret, reason in ((None, "without its secret"), ("guess", "without its secret")):
        entry = Entry("fit", "settled", -0.001, 0.0, "2026-01-31", settles=5)
        with pytest.raises(BrokenChain, match=reason), written._store.exclusive():
            written._store.append(entry, secret)
    assert len(written.entries) == 5


def test_a_secret_is_neither_shown_nor_pickled_nor_written_before_it_settles(ledger, path):
    portion = ledger.portion(0.1)
    secret = portion._reservation.secret
    shown = [repr(portion), str(vars(portion)), str(portion._reservation), portion._repr_html_()]
    assert re.fullmatch("[0-9a-f]{64}", secret)
    assert not [text for text in shown if secret in text]
    assert secret.encode() not in pickle.dumps(portion)
    assert secret.encode() not in path.read_bytes()
    assert hash_of(secret).encode() in path.read_bytes()
    portion.settle()
    assert secret.encode() in path.read_bytes()
    assert secret not in str(ledger.entries)


def test_secrets_are_drawn_anew_for_every_reservation(ledger):
    assert len({ledger.portion(0.001)._reservation.secret for _ in range(20)}) == 20


def test_a_gaussian_ledger_admits_no_delta_from_anybody(path, monkeypatch):
    ledger = Ledger.open(f"sqlite:///{path}", dataset="genomes", epsilon=1, delta=1e-6, promise="gaussian")
    ledger.portion(Gaussian.of(epsilon=0.5, delta=1e-6)).settle()
    with lawless(path) as connection:
        insert(connection, forge(connection, ledger, delta="1e-09"))
    assert_refused(ledger, "Entry 3 of the ledger of 'genomes' is beyond the privacy budget", monkeypatch)


# -- what a charge costs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("entries", [2, 200])
def test_a_charge_checks_new_entries_only(ledger, monkeypatch, entries):
    """The whole chain once for each process; then one transaction that reads what was added since."""
    with ledger._store.exclusive():
        for _ in range(entries):
            ledger.charge(0.001)
    statements, sealed = [], []

    def count(function):
        return lambda *given, **named: sealed.append(1) or function(*given, **named)

    monkeypatch.setattr(chain, "seal_of_entry", count(chain.seal_of_entry))
    as_if_new(monkeypatch)
    assert ledger.remaining > 0
    assert len(sealed) == entries
    sealed.clear()
    sa.event.listen(
        ledger._store.database._engine, "before_cursor_execute", lambda *given: statements.append(given[2])
    )
    ledger.charge(0.001)
    assert len(sealed) == 1  # its own
    assert [statement.split()[0] for statement in statements] == [
        *("BEGIN", "SELECT", "SELECT", "INSERT", "COMMIT")
    ]


# -- clocks --------------------------------------------------------------------------------------------------


def test_a_clock_that_is_set_back_or_forward_changes_nothing_but_days(ledger, monkeypatch):
    """No rule looks at a day: nothing expires, and the order is that of numbers."""
    days = ["2026-05-01", "1970-01-01", "9999-12-31", "2026-05-01", "0001-01-01"]
    for day in days:
        monkeypatch.setattr("privfit.accounting.stores.signing.today", lambda day=day: day)
        portion = ledger.portion(0.1)
        monkeypatch.setattr("privfit.accounting.stores.signing.today", lambda: "1999-12-31")
        portion.charge(0.05)
        portion.settle()
    assert [entry.when for entry in ledger.entries][::2] == days
    assert ledger.spent == pytest.approx(0.25)
    with pytest.raises(BudgetExceeded):
        ledger.charge(0.26)
    assert ledger.verify().entries == 10


def test_only_what_most_rows_lack_may_be_missing_from_a_row():
    may = {
        (table.name, column.name) for table in TABLES.sorted_tables for column in table.c if column.nullable
    }
    assert may == {
        ("privfit_accounts", "migrated"),
        *(("privfit_entries", name) for name in ("settles", "secret_hash", "secret")),
    }
