"""Faults at random points of a command: the ledger never shows less than was looked at, files are whole.

Every case runs `privfit train` or `privfit evaluate` in a child process on a copy of the same files, and lets
something go wrong. The child writes the price of every look to a diary, after the charge and before noise is
added. Whatever happens, the entries of the ledger add up to at least what the diary says, their chain holds,
and the model or the scores are whole or not there. docs/audit.md lists what is tried.
"""

from __future__ import annotations

import datetime
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import pyarrow
import pytest
import sqlalchemy as sa
import typer
from typer.testing import CliRunner

from privfit import curator as curators
from privfit.accounting import Ledger, LedgerError
from privfit.accounting.amounts import UNIT
from privfit.accounting.stores import signing, sql
from privfit.cli import app
from privfit.publication import load

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    pytest.mark.filterwarnings("ignore"),
]

PRIVFIT = typer.main.get_command(app)
SECONDS = 0.35  # about as long as a command takes; faults strike at a random moment of it
LONGEST = 60  # seconds that a command may take before it counts as one that hangs
MANY_ROWS = "117,yes,1\n23,no,0\n" * 150_000
POINTS = 60  # of each fault and command, in `make test-deep`; in `make test-all` two trainings and one score


@dataclass(frozen=True)
class Command:
    """A command that looks at records, the file that it writes, and a function that reads this file."""

    words: tuple[str, ...]
    output: str
    read: Callable[[Path], object]


TRAIN = Command(
    (
        *("train", "people.csv", "--schema", "schema.toml", "--ledger", "people.db", "--out", "model.json"),
        *("--max-passes", "20", "--epsilon", "0.5", "--no-check"),
    ),
    "model.json",
    load,
)
EVALUATE = Command(
    (
        *("evaluate", "first.json", "people.csv", "--ledger", "people.db", "--out", "scores.json"),
        *("--epsilon", "0.5"),
    ),
    "scores.json",
    lambda path: json.loads(path.read_text()),
)
COMMANDS = {"train": TRAIN, "evaluate": EVALUATE}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A table, its schema and a ledger, part of which is spent; and a library that is loaded and compiled."""
    folder = tmp_path_factory.mktemp("good")
    lines = ["age,smoker,sick", *(f"{20 + k % 60},{'yes' if k % 3 else 'no'},{k % 2}" for k in range(300))]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "schema.toml").write_text(
        '[[columns]]\nname = "age"\ntype = "numeric"\nlow = 0\nhigh = 120\n\n'
        '[[columns]]\nname = "smoker"\ntype = "boolean"\nwords = ["no", "yes"]\n\n'
        "[label]\nname = \"sick\"\nclasses = ['0', '1']\n"
    )
    Ledger.open(f"sqlite:///{folder}/people.db", dataset="census", epsilon=4.0).charge(1e-3, kind="gaussian")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for words in ([*TRAIN.words[:-1], "--out", "first.json"], [*EVALUATE.words, "--out", "other.json"]):
            first = CliRunner().invoke(app, words)
            assert first.exit_code == 0, first.output
    return folder


@pytest.fixture
def desk(good, tmp_path, monkeypatch):
    shutil.copytree(good, tmp_path / "desk")
    monkeypatch.chdir(tmp_path / "desk")
    return tmp_path / "desk"


@dataclass(frozen=True)
class Running:
    """A command in a child process; what it says and its diary come through pipes, which no disk holds."""

    child: int
    said: int
    diary: int

    def end(self):
        """Wait for it, and return its exit code, what it said, and the prices of all looks."""
        said, diary = (os.fdopen(pipe).read() for pipe in (self.said, self.diary))
        code = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
        return code, said, sum((Fraction(float(rho)) for rho in diary.split()), Fraction(0))


def start(command, before=lambda: None):
    """Run a command in a child process, which calls before() first."""
    (said, voice), (diary, pen) = os.pipe(), os.pipe()
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)  # until the program has started
    child = os.fork()
    if child:
        signal.signal(signal.SIGINT, previous)
        os.close(voice)
        os.close(pen)
        return Running(child, said, diary)
    code = 99
    try:
        os.dup2(voice, 1)
        os.dup2(voice, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        measured = curators.measure

        def written(exact, sensitivity, rho, noise):
            os.write(pen, f"{rho!r}\n".encode())
            return measured(exact, sensitivity, rho, noise)

        curators.measure = written
        before()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            PRIVFIT.main(command.words, prog_name="privfit")
        except SystemExit as end:
            code = int(end.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:  # what Python would have printed a traceback of
        os.write(2, f"Traceback: {error!r}\n".encode())
    finally:
        os._exit(code)


def ledger_of(desk):
    sql._SEEN.clear()  # as a process that has never seen the store
    return Ledger.open(f"sqlite:///{desk}/people.db", dataset="census")


def assert_paid_and_whole(desk, command, end, spent, *, ledger=None, codes=(0, 1, 2, 130), may_crash=False):
    code, said, looked = end
    ledger = ledger or ledger_of(desk)
    ledger.verify()
    assert spent + looked <= Fraction(ledger._store.totals[0], UNIT)
    assert may_crash or "Traceback" not in said, said
    assert may_crash or code in codes, (code, said)
    output = desk / command.output
    assert (code == 0) <= output.exists()
    if output.exists():
        command.read(output)


def spent_in(desk):
    return Fraction(ledger_of(desk)._store.totals[0], UNIT)


def strike(desk, command, seed, number, codes):
    """Send a signal at a random moment."""
    spent, chance = spent_in(desk), random.Random(seed)
    running = start(command)
    time.sleep(chance.uniform(0.0, SECONDS))
    os.kill(running.child, number)
    assert_paid_and_whole(desk, command, running.end(), spent, codes=codes)


def killed(desk, command, seed):
    strike(desk, command, seed, signal.SIGKILL, (0, -signal.SIGKILL))


def interrupted(desk, command, seed):
    strike(desk, command, seed, signal.SIGINT, (0, 1, 130))


def no_room(desk, command, seed):
    """Let no file grow beyond a random size."""
    spent, size = spent_in(desk), (desk / "people.db").stat().st_size
    limit = random.Random(seed).choice([0, 1, 512, size - 1, size, size + 512, size + 5000, size + 50_000])

    def fill():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    end = start(command, fill).end()
    assert_paid_and_whole(desk, command, end, spent)


def fill_memory():
    """Take all memory that a process has but does not use; return its size, and what holds the memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size, blocks = pages * os.sysconf("SC_PAGE_SIZE"), []
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
    block = 2**24
    while block >= 2**12:
        try:
            blocks.append(bytes(block))
        except MemoryError:
            block //= 2
    return size, blocks


def no_memory(desk, command, seed):
    """Let a process have a random amount of memory more than it uses, and a table that needs some.

    If a new thread finds no room for its own data, the C library ends the process, or Arrow does.
    """
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system does not say how much memory a process has")
    spent, more = spent_in(desk), random.Random(seed).randrange(2**20, 2**25)
    with (desk / "people.csv").open("a") as table:
        table.write(MANY_ROWS)

    def starve():
        signal.alarm(LONGEST)
        pyarrow.set_memory_pool(pyarrow.system_memory_pool())  # the other one has set a gigabyte aside
        size, starve.blocks = fill_memory()
        resource.setrlimit(resource.RLIMIT_AS, (size + more, size + more))

    end = start(command, starve).end()
    assert_paid_and_whole(desk, command, end, spent, codes=(0, 2, 127, -signal.SIGABRT))
    code, said, _ = end
    assert (code == 2) == ("There was not enough memory" in said), said
    assert code != 2 or "The ledger of 'census'" in said, said
    assert not code or not re.search(r"117|300,?300", said), "a cell, or the number of records"


def jumping_clock(desk, command, seed):
    """Let the clock of the entries jump by years, back and forth."""
    spent, chance = spent_in(desk), random.Random(seed)

    class Jumping(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.datetime(chance.randint(1971, 2090), 1, 1, tzinfo=tz)

    def jump():
        signing.datetime = Jumping

    end = start(command, jump).end()
    assert_paid_and_whole(desk, command, end, spent, codes=(0,))


def locked(desk, command, seed):
    """Let another process hold the store at a random moment, for longer than anybody waits."""
    spent, chance = spent_in(desk), random.Random(seed)

    def impatient():
        from privfit.accounting.stores import database

        original = database.Database.__init__

        def soon(self, url, timeout):
            original(self, url, 0.2)

        database.Database.__init__ = soon

    holder = sqlite3.connect(desk / "people.db", isolation_level=None, timeout=5.0)
    running = start(command, impatient)
    time.sleep(chance.uniform(0.0, SECONDS))
    holder.execute("BEGIN IMMEDIATE")
    end = running.end()
    holder.execute("ROLLBACK")
    holder.close()
    assert_paid_and_whole(desk, command, end, spent)


def read_only(desk, command, seed):
    """Let the store be read-only from a random moment on."""
    spent, chance = spent_in(desk), random.Random(seed)

    def soon():
        original, calls = sqlite3.connect, []
        when = chance.randint(0, 6)

        def connect(location, **settings):
            calls.append(None)
            if len(calls) > when:
                location = location.replace("mode=rw", "mode=ro")
            return original(location, **settings)

        sqlite3.connect = connect

    end = start(command, soon).end()
    assert_paid_and_whole(desk, command, end, spent)


def corrupted(desk, command, seed):
    """Change random bytes of the store; a command is refused, or what was spent before stays spent."""
    spent, chance = spent_in(desk), random.Random(seed)
    path = desk / "people.db"
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 4, 64])):
        content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(content)
    end = start(command).end()
    code, said, looked = end
    assert "Traceback" not in said, said
    assert code in (0, 2), said
    if code == 0:  # the bytes were not in use
        assert_paid_and_whole(desk, command, end, spent)
        return
    if (desk / command.output).exists():  # the bytes are read after the output was written
        command.read(desk / command.output)
    with suppress(LedgerError):  # it can be read no more, so nothing can be charged
        assert spent + looked <= spent_in(desk)


@contextmanager
def mounted(desk):
    """Copy the files to a disk of 1 MB, and work there."""
    place = desk / "disk"
    place.mkdir()
    try:
        options = ["-t", "tmpfs", "-o", "size=1m", "privfit"]
        made = subprocess.run(["mount", *options, place], check=False, capture_output=True, text=True)
    except FileNotFoundError as missing:
        pytest.skip(f"no disk can be mounted here: {missing}")
    if made.returncode != 0:
        pytest.skip(f"no disk can be mounted here: {made.stderr.strip()}")
    try:
        for file in desk.iterdir():
            if file.is_file():
                shutil.copy(file, place)
        os.chdir(place)
        yield place
    finally:
        os.chdir(desk)
        subprocess.run(["umount", "--lazy", place], check=True)


def remounted(place, how):
    """Mount the disk read-only or writable, unless a file is being written; tell whether it is so now."""
    words = ["mount", "-o", f"remount,{how}", place]
    return subprocess.run(words, check=False, capture_output=True).returncode == 0


def full_disk(desk, command, seed):
    """Fill the disk but for a random number of pages."""
    with mounted(desk) as place:
        spent, page = spent_in(place), os.sysconf("SC_PAGE_SIZE")
        free = os.statvfs(place).f_bavail * os.statvfs(place).f_frsize // page
        filling = (free - random.Random(seed).randint(0, 16)) * page
        end = start(command, lambda: (place / "filling").write_bytes(bytes(filling))).end()
        (place / "filling").unlink()
        assert_paid_and_whole(place, command, end, spent)


def read_only_disk(desk, command, seed):
    """Mount the disk read-only at a random moment, the first one at which no file is being written."""
    with mounted(desk) as place:
        spent = spent_in(place)
        running = start(command)
        time.sleep(random.Random(seed).uniform(0.0, SECONDS))
        for _ in range(1000):
            if remounted(place, "ro"):
                break
        end = running.end()
        assert remounted(place, "rw")
        assert_paid_and_whole(place, command, end, spent)


FAULTS = {
    "killed": killed,
    "interrupted": interrupted,
    "no room in a file": no_room,
    "a full disk": full_disk,
    "no memory": no_memory,
    "a jumping clock": jumping_clock,
    "a locked store": locked,
    "a read-only store": read_only,
    "a read-only disk": read_only_disk,
    "a corrupted store": corrupted,
}


@pytest.mark.slow
@pytest.mark.parametrize(("command", "seed"), [("train", 0), ("train", 1), ("evaluate", 2)])
@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_goes_wrong_looks_are_paid_for_and_files_are_whole(fault, command, seed, desk):
    FAULTS[fault](desk, COMMANDS[command], seed)


@pytest.mark.deep
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_at_any_of_many_points_looks_are_paid_for_and_files_are_whole(
    fault, command, good, tmp_path, monkeypatch, record_property
):
    for seed in range(100, 100 + POINTS):
        folder = tmp_path / str(seed)
        shutil.copytree(good, folder)
        monkeypatch.chdir(folder)
        FAULTS[fault](folder, COMMANDS[command], seed)
        shutil.rmtree(folder)
    record_property("cases", POINTS)


# -- a server -----------------------------------------------------------------------------------------------


def lose_connections(desk, seed, url):
    """Let the server cut all connections at random moments."""
    chance, dataset = random.Random(seed), uuid.uuid4().hex
    Ledger.open(url, dataset=dataset, epsilon=2.0)
    words = tuple(url if word == "people.db" else word for word in TRAIN.words)
    running = start(replace(TRAIN, words=(*words, "--dataset", dataset)))
    engine = sa.create_engine(sa.make_url(url).set(drivername="postgresql+psycopg"), poolclass=sa.NullPool)
    with engine.connect() as connection:
        for _ in range(10):
            time.sleep(chance.uniform(0.0, SECONDS / 4))
            others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            connection.execute(sa.text(f"{others} AND usename = current_user"))
    end = running.end()
    sql._SEEN.clear()
    assert_paid_and_whole(desk, TRAIN, end, 0, ledger=Ledger.open(url, dataset=dataset))


@pytest.mark.slow
def test_lost_connections_lose_no_look(desk, postgres_url):
    lose_connections(desk, 0, postgres_url)


@pytest.mark.deep
def test_at_any_of_many_points_lost_connections_lose_no_look(
    good, tmp_path, monkeypatch, postgres_url, record_property
):
    for seed in range(100, 100 + POINTS):
        folder = tmp_path / str(seed)
        shutil.copytree(good, folder)
        monkeypatch.chdir(folder)
        lose_connections(folder, seed, postgres_url)
        shutil.rmtree(folder)
    record_property("cases", POINTS)


# -- that this can fail -------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_a_ledger_that_is_charged_in_the_end_is_found_out(command, desk):
    """If entries were written when a command ends, one that is killed would have looked for free."""
    from privfit.accounting import ledger as ledgers

    spent = spent_in(desk)

    def late():
        ledgers.Ledger.portion = lambda self, size, delta=0.0, *, what="": ledgers.Ledger.keeping(size)

    end = start(COMMANDS[command], late).end()
    with pytest.raises(AssertionError):
        assert_paid_and_whole(desk, COMMANDS[command], end, spent)
    assert json.loads((desk / COMMANDS[command].output).read_text())
