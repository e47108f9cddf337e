"""Ctrl-C in the middle of a fit: the account keeps the whole reservation, and the user is told."""

import json
import signal
import subprocess
import sys

import pytest
from running import privfit
from typer.testing import CliRunner

from privfit.cli import app

# the fit waits in its fourth question until the signal has come, so that it is always in its middle
PROGRAM = """
import sys, time
from privfit.curator import Curator
answer, answered = Curator.measure, []
def measure(self, *args, **settings):
    answered.append(1)
    if len(answered) == 4:
        print("in the middle", flush=True)
        time.sleep(60)
    return answer(self, *args, **settings)
Curator.measure = measure
from privfit.cli import app
app(prog_name="privfit")
"""
PUBLIC = ("people.csv", "--schema", "schema.toml", "--out", "b.json")
READING = {
    "train": ("train", *PUBLIC),
    "tune": ("tune", *PUBLIC, "--try", "alpha=0,0.1"),
    "evaluate": ("evaluate", "model.json", "held-out.csv"),
}
ARGUMENTS = ("train", "people.csv", "--schema", "schema.toml", "--out", "b.json", "--ledger", "people.db")


@pytest.mark.parametrize("command", READING)
def test_ctrl_c_while_a_table_is_read_says_what_was_spent_so_far(desk, monkeypatch, command):
    def interrupted(*args, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules[f"privfit.cli.{command}"], "take_table", interrupted)
    result = CliRunner().invoke(app, [*READING[command], "--ledger", "people.db"])
    assert result.exit_code == 130
    assert "Interrupted. The ledger of 'census-2026': Promised for all answers together" in result.stderr
    assert not (desk / "b.json").exists()


def test_ctrl_c_during_train_leaves_the_reservation_spent_and_says_so(desk):
    before = json.loads(privfit("ledger", "status", "people.db", "--json").stdout)
    files = {path.name for path in desk.iterdir()}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *ARGUMENTS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "in the middle\n"
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert printed == ""
    assert "Traceback" not in said
    told = " ".join(said.split())
    assert "Interrupted. The fit was interrupted and released no model." in told
    assert "All that it reserved on the ledger of 'census-2026' stays spent: epsilon = 1 at delta" in told
    assert told.count("Promised for all answers") == 1
    assert "The ledger of 'census-2026': Promised for all answers together: epsilon = 3" in told
    after = json.loads(privfit("ledger", "status", "people.db", "--json").stdout)
    log = json.loads(privfit("ledger", "log", "people.db", "--json").stdout)["entries"]
    assert log[-1]["mechanism"] == "reserved"
    assert after["spent"] - before["spent"] == pytest.approx(log[-1]["rho"])
    assert log[-1]["rho"] > 0
    assert {path.name for path in desk.iterdir()} == files
    privfit("ledger", "verify", "people.db")


def test_ctrl_c_during_tune_leaves_the_reservation_spent_and_says_so_once(desk):
    before = json.loads(privfit("ledger", "status", "people.db", "--json").stdout)
    files = {path.name for path in desk.iterdir()}
    arguments = ("tune", *ARGUMENTS[1:], "--try", "alpha=0,0.1", "--epsilon", "0.5")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "in the middle\n"
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert (process.returncode, printed) == (130, "")
    told = " ".join(said.split())
    assert "Interrupted. The search was interrupted and released nothing. All that it reserved" in told
    assert told.count("stays spent") == 1
    after = json.loads(privfit("ledger", "status", "people.db", "--json").stdout)
    log = json.loads(privfit("ledger", "log", "people.db", "--json").stdout)["entries"]
    assert log[-1]["mechanism"] == "reserved"
    assert after["spent"] - before["spent"] == pytest.approx(log[-1]["rho"])
    assert {path.name for path in desk.iterdir()} == files
