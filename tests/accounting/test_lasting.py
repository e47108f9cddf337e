"""An account that is kept in a file or on a server: one budget for all who open it, and nothing forgotten."""

import json
import multiprocessing
import os
import pickle
import re
import sqlite3
import stat
import subprocess
import sys
import threading
import uuid
from dataclasses import asdict
from datetime import date
from pathlib import Path

import joblib
import pytest
import sqlalchemy
from forging import change
from permissions import as_nobody, make_read_only, make_writable, open_directory

from privfit.accounting import (
    BudgetExceeded,
    Direct,
    Gaussian,
    Ledger,
    LedgerError,
    list_datasets,
)
from privfit.accounting.lasting import Database, SqlStore

# a ledger that pays for charges of every kind
BUDGET = {"dataset": "census-2026", "epsilon": 3, "delta": 1e-6, "promise": "concentrated"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.db"


@pytest.fixture
def url(path):
    return f"sqlite:///{path}"


@pytest.fixture
def ledger(url):
    return Ledger.open(url, **BUDGET)


@pytest.fixture(params=["sqlite", "postgres"])
def anywhere(request):
    """Return the URL of a file or of a server, and the name of a new data set."""
    url = request.getfixturevalue({"sqlite": "url", "postgres": "postgres_url"}[request.param])
    return url, f"census-{uuid.uuid4().hex}"


def in_a_fresh_process(code, *arguments):
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def in_a_fork(attempt):
    """Return what a forked process is told when it tries."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def tell():
        try:
            attempt()
            sender.send("done")
        except RuntimeError as error:
            sender.send(str(error))

    process = context.Process(target=tell)
    process.start()
    try:
        assert receiver.poll(60), "the forked process hangs"
        return receiver.recv()
    finally:
        process.kill()
        process.join()


# -- opening -------------------------------------------------------------------------------------------------


def test_an_account_carries_on_in_a_fresh_process(anywhere):
    url, dataset = anywhere
    ledger = Ledger.open(url, dataset=dataset, rho=1.0 / 3.0, delta=1e-6)
    ledger.charge(0.1, 1e-7, what="step")
    code = """
import json, sys
from privfit.accounting import BudgetExceeded, Ledger
ledger = Ledger.open(sys.argv[1], dataset=sys.argv[2])
found = [ledger.identifier, ledger.spent, ledger.spent_delta, [entry.what for entry in ledger.entries]]
try:
    ledger.charge(1.0 / 3.0)
except BudgetExceeded as error:
    refused = error.left
ledger.charge(ledger.remaining, ledger.remaining_delta)
print(json.dumps([found, refused, ledger.spent]))
"""
    before = [ledger.identifier, ledger.spent, ledger.spent_delta, ["step"]]
    remaining = ledger.remaining
    assert in_a_fresh_process(code, url, dataset) == [before, remaining, ledger.spent]
    assert ledger.spent > 0.33
    assert len(ledger.entries) == 2


def test_the_promise_is_kept_to_the_last_digit(anywhere):
    url, dataset = anywhere
    opened = Ledger.open(url, dataset=dataset, epsilon=0.1 + 0.2, delta=1e-7)
    assert (
        Ledger.open(url, dataset=dataset).promise
        == opened.promise
        == Gaussian.of(epsilon=0.1 + 0.2, delta=1e-7)
    )


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"epsilon": 2, "delta": 1e-6}, "epsilon = 2, delta = 1e-06"),
        ({"epsilon": 3, "delta": 1e-7}, "epsilon = 3, delta = 1e-07"),
        ({"epsilon": 2}, "epsilon = 2"),
        ({"delta": 1e-7}, "delta = 1e-07"),
        (
            {"epsilon": 3, "delta": 1e-6, "promise": "gaussian"},
            "epsilon = 3, delta = 1e-06, promise = 'gaussian'",
        ),
        ({"promise": "gaussian"}, "promise = 'gaussian'"),
        ({"rho": 0.5}, "rho = 0.5"),
    ],
)
def test_an_account_is_not_opened_with_another_budget(ledger, url, other, named):
    message = (
        "The ledger of 'census-2026' was opened with epsilon = 3.0, delta = 1e-06, promise = 'concentrated', "
        f"not with {named}; leave that out to use it as it is."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        Ledger.open(url, dataset="census-2026", **other)
    again = Ledger.open(url, **BUDGET)
    assert again.identifier == ledger.identifier == Ledger.open(url, dataset="census-2026").identifier


def test_every_data_set_has_an_account_of_its_own(ledger, url):
    other = Ledger.open(url, dataset="clinic", epsilon=1, delta=1e-6)
    other.charge(other.rho, kind="gaussian")
    assert ledger.spent == 0.0
    assert list_datasets(url) == ["census-2026", "clinic"]
    assert (ledger.dataset, ledger.url) == ("census-2026", url)


def test_an_account_that_is_not_there_is_not_made_up(path, url):
    with pytest.raises(
        ValueError, match=r"no ledger of 'census-2026' at sqlite:.*; name epsilon and delta to open"
    ):
        Ledger.open(url, dataset="census-2026")
    assert not path.exists()
    Ledger.open(url, dataset="clinic", rho=1.0)
    with pytest.raises(ValueError, match="no ledger of 'census-2026'"):
        Ledger.open(url, dataset="census-2026")


def test_a_gaussian_account_pays_for_gaussian_noise_alone(url):
    ledger = Ledger.open(url, **BUDGET | {"promise": "gaussian"})
    assert ledger.promise == Gaussian.of(epsilon=3.0, delta=1e-6)
    with pytest.raises(ValueError, match="pays for Gaussian noise only"):
        ledger.charge(0.01)
    portion = ledger.portion(Gaussian.of(epsilon=1.0, delta=1e-6))
    portion.charge(0.01, kind="gaussian")
    portion.settle()
    assert ledger.spent == pytest.approx(0.01)


def test_an_existing_ledger_is_found_by_terms_that_open_no_new_one(url):
    """Without a promise these are the terms of Gaussian noise, which needs a delta."""
    terms = {"dataset": "census", "epsilon": 1.0, "delta": 0.0}
    with pytest.raises(ValueError, match="delta"):
        Ledger.open(url, **terms)
    opened = Ledger.open(url, **terms, promise="direct")
    assert Ledger.open(url, **terms).promise == opened.promise


def test_a_direct_account_pays_for_one_release(url):
    ledger = Ledger.open(url, **BUDGET | {"promise": "direct"})
    assert ledger.promise == Direct(3.0, 1e-6)
    portion = ledger.portion(Direct(3.0, 1e-6))
    portion.charge(portion.rho, portion.delta, kind="release")
    portion.settle()
    assert (ledger.spent, ledger.spent_delta) == (ledger.rho, 1e-6)
    with pytest.raises(BudgetExceeded):
        ledger.portion(Direct(3.0, 1e-6))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"dataset": ""}, "dataset must be a name"),
        ({"dataset": "a\nb"}, "dataset must be a name"),
        ({"epsilon": 1.0, "rho": 1.0}, "exactly one of rho= and epsilon="),
        ({"epsilon": None}, "There is no ledger of .*; name epsilon and delta"),
        ({"promise": "best"}, "promise must be one of .*, got 'best'"),
        ({"epsilon": None, "rho": 1.0, "promise": "direct"}, "named by epsilon= and delta=, not by rho="),
        ({"timeout": 0.0}, "timeout must be a positive number of seconds"),
        ({"timeout": 1e6}, "timeout must be a positive number of seconds"),
    ],
)
def test_what_is_no_account_is_refused_and_leaves_no_file(path, url, wrong, message):
    with pytest.raises(ValueError, match=message):
        Ledger.open(url, **(BUDGET | wrong))
    assert not path.exists()


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:x?uri=true",
        "mysql://ada:canary@host/db",
        "people.db",
        "canary",
        "nosuch://ada:canary@host/db",
        "postgresql://ada:canary@host:port/db",
        "postgresql://ada@host/db?password=canary",
        "postgresql://ada@host/db?PASSWORD=canary",
        "postgresql://ada:a@b:canary@host/db",
    ],
)
def test_an_address_that_is_none_is_refused_without_quoting_it(url):
    with pytest.raises(
        ValueError, match=r"write 'sqlite:///people\.db' or 'postgresql://user@host"
    ) as refusal:
        Ledger.open(url, **BUDGET)
    assert "canary" not in str(refusal.value)
    assert refusal.value.__context__ is None


def test_threads_that_open_one_account_at_once_get_one(anywhere):
    url, dataset = anywhere
    found, start = [], threading.Barrier(6)

    def open_it():
        start.wait()
        found.append(Ledger.open(url, dataset=dataset, rho=1.0).identifier)

    threads = [threading.Thread(target=open_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert len(set(found)) == 1


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_file_is_for_its_owner_alone(ledger, path):
    ledger.charge(0.01)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["people.db"]


# -- reservations (A1, A2) -----------------------------------------------------------------------------------


def test_a_portion_is_reserved_whole_before_it_pays_for_anything(anywhere):
    url, dataset = anywhere
    ledger = Ledger.open(url, dataset=dataset, rho=1.0, delta=1e-6)
    portion = ledger.portion(0.75, 1e-6, what="fit")
    seen = Ledger.open(url, dataset=dataset)
    assert (seen.spent, seen.remaining, seen.spent_delta) == (0.75, 0.25, 1e-6)
    with pytest.raises(
        BudgetExceeded, match=r"a portion needs rho = 0\.5 .* rho = 0\.25 .* left of rho = 1 "
    ):
        seen.portion(0.5)
    portion.charge(0.5, what="gradient")
    assert seen.spent == 0.75  # what it pays is in its reservation


def test_settling_gives_back_what_was_not_spent(anywhere):
    url, dataset = anywhere
    ledger = Ledger.open(url, dataset=dataset, rho=1.0, delta=1e-6)
    portion = ledger.portion(0.75, 1e-6, what="fit")
    portion.charge(0.25, 2.0**-21)
    portion.settle()
    assert (ledger.spent, ledger.remaining) == (0.25, 0.75)
    assert ledger.spent_delta == 2.0**-21
    assert [(entry.mechanism, entry.settles) for entry in ledger.entries] == [
        ("reserved", None),
        ("settled", 1),
    ]
    assert ledger.spending() == {"fit": 0.25}
    assert ledger.statement().endswith("25.0% of that spent in 1 charge.")


def test_settling_never_gives_back_more_than_was_left(ledger):
    """A tenth is no float: what is given back is rounded down."""
    for _ in range(3):
        portion = ledger.portion(0.03)
        for _ in range(7):
            portion.charge(0.03 / 10)
        portion.settle()
    assert ledger.spent >= 21 * 0.003
    assert ledger.spent == pytest.approx(21 * 0.003, rel=1e-14)


def test_a_portion_spent_in_equal_shares_has_nothing_to_give_back(ledger):
    portion = ledger.portion(0.1)
    for _ in range(49):
        portion.charge(0.1 / 49)
    portion.settle()
    assert ledger.spent == pytest.approx(0.1, rel=1e-15)
    ledger.verify()


def test_a_settled_portion_pays_for_nothing_more(ledger):
    portion = ledger.portion(0.1)
    inner = portion.portion(0.05)
    portion.settle()
    portion.settle()
    assert len(ledger.entries) == 2
    for account in (portion, inner):
        with pytest.raises(RuntimeError, match="was settled and pays for nothing more"):
            account.charge(0.01)


def test_a_portion_that_nobody_settles_stays_spent_and_says_so(ledger, url):
    portion = ledger.portion(0.1)
    portion.charge(0.01)
    assert portion.statement().endswith(
        "All of it is reserved on the ledger of 'census-2026', and spent there until it is settled."
    )
    del portion
    assert Ledger.open(url, dataset="census-2026").spent == 0.1


def test_a_portion_in_another_process_cannot_spend_nor_settle(ledger):
    portion = ledger.portion(0.1)
    record = pickle.dumps(portion)
    code = """
import json, pickle, sys
portion = pickle.loads(bytes.fromhex(sys.argv[1]))
outcomes = []
for spend in (lambda: portion.charge(0.01), portion.settle):
    try:
        spend()
        outcomes.append("done")
    except RuntimeError as error:
        outcomes.append(str(error))
print(json.dumps(outcomes))
"""
    charged, settled = in_a_fresh_process(code, record.hex())
    assert "cannot spend" in charged
    assert settled == "done"  # a record reserved nothing, so it has nothing to give back
    assert len(ledger.entries) == 1


@needs_fork
def test_a_fork_can_neither_spend_nor_settle_a_portion_of_its_parent(ledger):
    """It would not know what the parent spends of it meanwhile, and give that back."""
    portion = ledger.portion(0.1)
    assert "cannot spend" in in_a_fork(portion.settle)
    assert "cannot spend" in in_a_fork(lambda: portion.charge(0.01))
    portion.charge(0.1)
    portion.settle()
    assert ledger.spent == 0.1


@needs_fork
def test_a_fork_that_is_given_its_parent_s_number_settles_nothing_either(ledger, monkeypatch):
    """Numbers of processes are used again, so they alone do not tell who made a reservation."""
    portion, parent = ledger.portion(0.1), os.getpid()

    def attempt(spend):
        monkeypatch.setattr(os, "getpid", lambda: parent)
        spend()

    assert "cannot spend" in in_a_fork(lambda: attempt(portion.settle))
    assert "cannot spend" in in_a_fork(lambda: attempt(lambda: portion.charge(0.01)))
    assert len(ledger.entries) == 1


def test_an_entry_says_who_when_what_and_how_much_and_is_json(ledger, monkeypatch):
    monkeypatch.setenv("LOGNAME", "ada")
    ledger.charge(0.01, what="mean age", mechanism="gaussian")
    (entry,) = ledger.entries
    assert json.loads(json.dumps(asdict(entry))) == {
        "who": "ada",
        "when": date.fromisoformat(entry.when).isoformat(),  # a day and nothing finer
        "what": "mean age",
        "mechanism": "gaussian",
        "rho": 0.01,
        "delta": 0.0,
        "settles": None,
        **{"claim": "", "noise": "", "sensitivity": None, "scale": None},  # which stores do not keep
    }


def test_a_file_holds_no_time_finer_than_a_day(ledger, path):
    ledger.portion(0.1, what="fit").settle()
    assert not re.search(rb"\d\d:\d\d", path.read_bytes())


def test_a_file_waits_for_the_disk_and_for_its_directory(ledger):
    """Neither can be tested without cutting the power; that SQLite was told so can."""
    connection = ledger._store.database._connect_to_file()
    assert connection.execute("PRAGMA synchronous").fetchone() == (3,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()


def test_a_server_waits_for_the_disk_whatever_its_default(postgres_url):
    hasty = f"{postgres_url}&options=-c%20synchronous_commit%3Doff"
    ledger = Ledger.open(hasty, dataset=uuid.uuid4().hex, rho=1.0)
    with ledger._store.exclusive():
        shown = ledger._store._connection.exec_driver_sql("SHOW synchronous_commit").scalar()
    with ledger._store.database.reading() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "off"
    assert shown == "on"


# -- copies and other processes ------------------------------------------------------------------------------


def test_workers_draw_on_the_same_account(ledger):
    def spend(ledger, share):
        try:
            portion = ledger.portion(share)
        except BudgetExceeded:
            return 0.0
        portion.charge(share / 2)
        portion.settle()
        return share / 2

    with joblib.parallel_backend("loky", n_jobs=2):
        shares = joblib.Parallel()(joblib.delayed(spend)(ledger, 2.0**-5) for _ in range(14))
    assert 0 < sum(shares) == ledger.spent <= ledger.rho
    # A worker may have been refused what another had only reserved. That was given back and is here to spend.
    while spend(ledger, 2.0**-5):
        pass
    assert ledger.remaining < 2.0**-5
    ledger.verify()


@needs_fork
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_draws_on_the_same_account_even_in_the_middle_of_a_charge(anywhere):
    url, dataset = anywhere
    ledger = Ledger.open(url, dataset=dataset, rho=1.0)
    held = threading.Event()

    def charge_slowly():
        with ledger._store.exclusive():
            held.set()
            threading.Event().wait(0.3)
            ledger.charge(0.5)

    thread = threading.Thread(target=charge_slowly)
    thread.start()
    held.wait(30)
    assert in_a_fork(lambda: ledger.charge(0.25)) == "done"
    thread.join()
    assert ledger.spent == 0.75
    ledger.verify()


def test_unpickling_neither_connects_nor_makes_a_file(ledger, path):
    record = pickle.dumps(ledger)
    kept = path.rename(path.with_name("kept.db"))
    code = """
import json, pickle, sys
ledger = pickle.loads(bytes.fromhex(sys.argv[1]))
told = [repr(ledger), ledger.epsilon()]
try:
    ledger.charge(0.01)
except OSError as error:
    told.append(str(error))
print(json.dumps(told))
"""
    shown, epsilon, refusal = in_a_fresh_process(code, record.hex())
    assert shown == repr(ledger)
    assert epsilon == 3.0
    assert re.search(r"people\.db cannot be used: the file or its journal cannot be opened; check", refusal)
    assert os.listdir(path.parent) == [kept.name]


def test_another_account_of_the_same_name_is_not_taken_for_it(ledger, path):
    path.unlink()
    Ledger.open(ledger.url, **BUDGET)
    with pytest.raises(LedgerError, match="that was opened here is no longer at sqlite:"):
        ledger.charge(0.01)


def test_no_password_is_shown_or_pickled():
    address = Database("postgresql://ada:canary@/db?host=/nowhere", 1.0)
    ledger = Ledger(rho=1.0)
    ledger._store = SqlStore(address, "census", ledger.identifier, ledger.promise)
    shown = [repr(ledger), str(vars(ledger)), str(vars(address)), str(ledger.url), str(pickle.dumps(ledger))]
    with pytest.raises(LedgerError, match="cannot be reached") as failure:
        ledger.charge(0.1)
    shown += [str(failure.value), repr(failure.value), str(vars(address))]
    assert not [text for text in shown if "canary" in text]
    assert ledger.url == "postgresql://ada@/db?host=%2Fnowhere"
    assert failure.value.__suppress_context__


@pytest.mark.slow
def test_a_password_reaches_workers_by_the_environment(postgres_url, monkeypatch):
    ledger = Ledger.open(postgres_url, dataset=uuid.uuid4().hex, rho=1.0)
    record = pickle.dumps(ledger).hex()
    code = "import pickle, sys; print(pickle.loads(bytes.fromhex(sys.argv[1])).charge(0.25).rho)"
    with pytest.raises(AssertionError, match="user or password is wrong; set PGPASSWORD"):
        in_a_fresh_process(code, record)
    monkeypatch.setenv("PGPASSWORD", re.search(":([^:@]+)@", postgres_url)[1])
    assert in_a_fresh_process(code, record) == 0.25
    assert ledger.spent == 0.25


# -- what can go wrong -------------------------------------------------------------------------------------


def refusals(ledger):
    """Return the sentences with which spending and reading are refused."""
    sentences = []
    for attempt in (lambda: ledger.charge(0.01), lambda: ledger.portion(0.01), lambda: ledger.entries):
        with pytest.raises(LedgerError) as failure:
            attempt()
        assert failure.value.__suppress_context__
        sentences.append(str(failure.value))
    return sentences


def test_a_damaged_file_is_said_to_be_one(ledger, path):
    content = path.read_bytes()
    path.write_bytes(b"x" * len(content))
    assert all("the file is no SQLite database; check the path" in sentence for sentence in refusals(ledger))
    path.write_bytes(content[:4096] + b"x" * (len(content) - 4096))
    assert all("the file is damaged; restore it from a backup" in sentence for sentence in refusals(ledger))
    # SQLite quotes the odd byte in its message, which sqlite3 cannot decode
    path.write_bytes(content.replace(b"CREATE TABLE", b"CREATE T\xc0BLE", 1))
    assert all("the file holds text that cannot be decoded" in sentence for sentence in refusals(ledger))


def test_a_format_that_is_no_number_is_damage(ledger, path):
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")  # as if another program had made the table
        connection.execute("UPDATE privfit_accounts SET format = 'new'")
    connection.close()
    with pytest.raises(LedgerError, match="was not written by privfit"):
        ledger.charge(0.01)


def test_a_file_keeps_no_two_ledgers_with_one_identifier(ledger, path):
    columns = 'account, format, promise, "when", who, seal, migrated'
    with pytest.raises(sqlite3.IntegrityError, match=r"UNIQUE .*: privfit_accounts\.account"):
        change(
            path,
            f"INSERT INTO privfit_accounts (dataset, {columns}) SELECT 'another', {columns} "
            "FROM privfit_accounts",
        )


def test_a_locked_file_is_waited_for_and_then_left(url, path):
    ledger = Ledger.open(url, **BUDGET, timeout=0.2)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert all("another process kept it locked for 0.2 seconds" in sentence for sentence in refusals(ledger))
    holder.execute("ROLLBACK")
    holder.close()
    assert ledger.entries == ()
    ledger.charge(0.01)


def test_a_reader_that_does_not_go_away_holds_off_a_charge_whole(url, path):
    ledger = Ledger.open(url, **BUDGET, timeout=0.2)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM privfit_accounts").fetchall()
    with pytest.raises(LedgerError, match="another process kept it locked"):
        ledger.charge(0.01)
    reader.close()
    assert ledger.entries == ()
    assert Ledger.open(url, dataset="census-2026").charge(0.01)


@pytest.mark.parametrize("statement", ["INSERT", "SELECT", "COMMIT"])
def test_ctrl_c_within_a_statement_stays_ctrl_c_and_leaves_the_store_whole(statement, url):
    ledger = Ledger.open(url, **BUDGET)
    ledger.charge(0.01)
    engine, interrupted = ledger._store.database._engine, []

    def interrupt(_cursor, text, *_):
        if text.lstrip().startswith(statement):
            interrupted.append(text)
            raise KeyboardInterrupt

    sqlalchemy.event.listen(engine, "do_execute", interrupt)
    sqlalchemy.event.listen(engine, "do_execute_no_params", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ledger.charge(0.02)
    sqlalchemy.event.remove(engine, "do_execute", interrupt)
    sqlalchemy.event.remove(engine, "do_execute_no_params", interrupt)
    assert interrupted
    ledger.verify()
    assert [entry.rho for entry in ledger.entries] == [0.01]
    ledger.charge(0.03)
    assert [entry.rho for entry in Ledger.open(url, dataset="census-2026").entries] == [0.01, 0.03]


def test_a_locked_row_on_a_server_is_waited_for_and_then_left(postgres_url):
    dataset = uuid.uuid4().hex
    ledger, other = (Ledger.open(postgres_url, dataset=dataset, rho=1.0, timeout=0.2) for _ in range(2))
    with ledger._store.exclusive(), pytest.raises(LedgerError, match=r"kept it locked for 0\.2 seconds"):
        other.charge(0.5)
    assert other.charge(0.5).rho == other.spent == 0.5


def test_a_clerk_on_a_server_needs_to_read_and_insert_and_nothing_more(postgres_url):
    """So the server itself can see to it that entries are only added."""
    dataset, clerk = uuid.uuid4().hex, f"clerk_{uuid.uuid4().hex}"
    Ledger.open(postgres_url, dataset=dataset, rho=1.0)
    with sqlalchemy.create_engine(Database(postgres_url, 30.0)._url).begin() as connection:
        connection.exec_driver_sql(f"CREATE ROLE {clerk} LOGIN PASSWORD 'pencil'")
        tables = "privfit_accounts, privfit_entries"
        connection.exec_driver_sql(f"GRANT SELECT, INSERT ON {tables} TO {clerk}")
    url = re.sub("//[^@]*@", f"//{clerk}:pencil@", postgres_url)
    ledger = Ledger.open(url, dataset=dataset)
    ledger.portion(0.5).settle()
    ledger.charge(0.25)
    assert ledger.spent == 0.25
    for statement in ("UPDATE privfit_entries SET rho = '0.0'", "DELETE FROM privfit_entries"):
        with pytest.raises(LedgerError, match="this user may not write there"), ledger._store.exclusive():
            ledger._store._connection.exec_driver_sql(statement)
    ledger.verify()


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_read_only_file_can_be_read_and_not_charged():
    with open_directory() as directory:
        url = f"sqlite:///{directory}/people.db"
        ledger = Ledger.open(url, **BUDGET)
        ledger.charge(0.01)
        make_read_only(directory)
        with as_nobody():
            assert Ledger.open(url, **BUDGET).spent == ledger.spent == 0.01
            ledger.verify()
            for spend in (ledger.charge, ledger.portion):
                with pytest.raises(LedgerError, match="the file is read-only for this user; ask its owner"):
                    spend(0.01)
            with pytest.raises(LedgerError, match=r"cannot be created \(Permission denied\); choose"):
                Ledger.open(f"sqlite:///{directory}/other.db", **BUDGET)
        assert len(ledger.entries) == 1


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_charge_that_was_cut_off_is_undone_by_who_may_and_read_by_nobody_else():
    """What a killed process left behind is undone before anything is read, which takes the right to write."""
    with open_directory() as directory:
        url = f"sqlite:///{directory}/people.db"
        ledger = Ledger.open(url, **BUDGET)
        ledger.charge(0.01)
        code = """
import os, sys
from privfit.accounting import Ledger
ledger = Ledger.open(sys.argv[1], dataset="census-2026")
with ledger._store.exclusive():
    ledger._store._connection.exec_driver_sql("PRAGMA cache_spill = 1")
    ledger._store._connection.exec_driver_sql("PRAGMA cache_size = 1")
    for _ in range(200):
        ledger.charge(0.0001, what="x" * 200)
    os.kill(os.getpid(), 9)
"""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        subprocess.run([sys.executable, "-c", code, url], env=environment, timeout=60, check=False)
        assert (directory / "people.db-journal").exists()
        make_read_only(directory)
        with as_nobody():
            assert all("cannot be used: " in sentence for sentence in refusals(ledger))
        make_writable(directory)
        assert [entry.rho for entry in ledger.entries] == [0.01]
        ledger.charge(0.01)
        ledger.verify()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda url: url.replace("correct", "canary"), "user or password is wrong; set PGPASSWORD"),
        (lambda url: url.replace(":correct-horse", ""), "user or password is wrong; set PGPASSWORD"),
        (lambda url: url.replace("/postgres?", "/nosuch?"), "there is no such database; create it first"),
        (lambda url: "postgresql://ada:canary@127.0.0.1:1/db", "the server cannot be reached"),
    ],
    ids=["wrong password", "no password", "no database", "no server"],
)
def test_what_is_wrong_with_a_server_is_said_in_one_sentence(postgres_url, change, reason, monkeypatch):
    monkeypatch.setenv("PGPASSFILE", os.devnull)
    with pytest.raises(
        LedgerError, match=rf"^The store at postgresql://.* cannot be used: {reason}"
    ) as failure:
        Ledger.open(change(postgres_url), **BUDGET)
    assert "canary" not in str(failure.value)
    assert failure.value.__suppress_context__


def test_a_directory_that_is_not_there_is_named(tmp_path):
    with pytest.raises(LedgerError, match=r"There is no directory .*nowhere; create it first"):
        Ledger.open(f"sqlite:///{tmp_path}/nowhere/people.db", **BUDGET)


def test_a_database_of_something_else_is_shared_and_not_listed_as_accounts(path, url):
    change(path, "CREATE TABLE patients (name TEXT)")
    with pytest.raises(LedgerError, match="the file holds no ledgers; name epsilon and delta to open one"):
        list_datasets(url)
    with pytest.raises(ValueError, match="no ledger of 'census-2026'"):
        Ledger.open(url, dataset="census-2026")
    Ledger.open(url, **BUDGET)
    assert list_datasets(url) == ["census-2026"]


def test_a_missing_driver_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerError, match=r"need psycopg; install it by pip install 'privfit\[postgres\]'"):
        Ledger.open("postgresql://ada@localhost/db", **BUDGET)


def test_a_relative_path_means_the_same_file_wherever_a_worker_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.open("sqlite:///people.db", **BUDGET)
    monkeypatch.chdir(Path("/"))
    ledger.charge(0.01)
    assert ledger.url == f"sqlite:///{tmp_path}/people.db"


def test_names_that_are_no_text_are_written_as_escapes(ledger, monkeypatch):
    monkeypatch.setenv("LOGNAME", "ad\udcffa\x1b")
    ledger.charge(0.01, what="mean \udc80\0age", mechanism="gaussian")
    (entry,) = ledger.entries
    assert (entry.who, entry.what) == (r"ad\udcffa\x1b", r"mean \udc80\x00age")
    ledger.verify()
