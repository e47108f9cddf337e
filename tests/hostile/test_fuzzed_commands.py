"""Command lines that are damaged at random: they do their work, or say in a sentence why not, and for free.

A command that ends with an error has charged nothing, quotes no cell of a record and shows no traceback.
"""

from __future__ import annotations

import itertools
import shutil
from contextlib import chdir

import pytest
import typer
from damage import SECRET, at_most, texts
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from privfit.accounting import Ledger
from privfit.accounting.stores import sql
from privfit.cli import app

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
NUMBERS = itertools.count()
RIGHT = {
    "train": "train people.csv --schema schema.toml --ledger people.db --out new.json --epsilon 0.1",
    "evaluate": "evaluate model.json people.csv --ledger people.db --epsilon 0.1 --out scores.json",
    "predict": "predict model.json people.csv --out predictions.csv",
    "explain": "explain model.json --top 3",
    "report": "report model.json --out page.html --title People",
    "export": "export model.json --numpy weights.npz",
    "evidence": "evidence model.json --out evidence.json",
    "verify": "verify model.json --ledger people.db",
    "convert": "convert --epsilon 1 --delta 1e-6",
    "draft": "schema draft people.csv --label sick",
    "check": "schema check people.csv --schema schema.toml",
    "open": "ledger open other.db --dataset other --epsilon 1 --delta 1e-6",
    "status": "ledger status people.db",
    "log": "ledger log people.db --dataset census",
    "seal": "ledger verify people.db --seal 0",
    "change": "ledger change people.db --promise concentrated",
    "migrate": "ledger migrate people.db",
}
CHARGING = ("train", "evaluate")
# options that may ask for more than a test has time for, and those that ask for what stands in cells
LEFT_OUT = {"--max-passes", "--solver", "--inference", "--effect", "--leak", "--curves", "--report", "--card"}


def options_of(command):
    """Return the options of each command, and of each command of a group."""
    if hasattr(command, "commands"):
        return {name: options_of(inner) for name, inner in command.commands.items()}
    return sorted({option for parameter in command.params for option in parameter.opts if option[:1] == "-"})


OPTIONS = options_of(typer.main.get_command(app))
words = texts | st.sampled_from(
    [
        *(
            "0",
            "-1",
            "0.5",
            "1e-320",
            "1e999",
            "nan",
            "inf",
            "1" * 400,
            "1,5",
            "½",
            "people.csv",
            "model.json",
        ),
        *(
            "schema.toml",
            "people.db",
            "sqlite:///people.db",
            "postgresql://nobody@nowhere:1/x",
            "/dev/null",
            ".",
        ),
        *("--", "-", "--json", "--help", "nowhere/new.json", "census", "gaussian", "logistic", "balanced"),
    ]
)


@st.composite
def command_lines(draw):
    """Return the name of a command, and its words, some replaced, left out or added."""
    name = draw(st.sampled_from(sorted(RIGHT)))
    line = RIGHT[name].split()
    first = 2 if line[0] in ("schema", "ledger") else 1
    known = OPTIONS[line[0]] if first == 1 else OPTIONS[line[0]][line[1]]
    for _ in range(draw(st.integers(0, 3))):
        where = draw(st.integers(first, len(line)))
        match draw(st.sampled_from(["replace", "replace", "remove", "add", "option", "option"])):
            case "replace" if where < len(line):
                line[where] = draw(words)
            case "remove" if where < len(line):
                del line[where]
            case "option":
                line += [draw(st.sampled_from([each for each in known if each not in LEFT_OUT])), draw(words)]
            case _:
                line.insert(where, draw(words))
    # what an operating system can pass to a program
    return name, [word.replace("\0", "").encode("utf-8", "replace").decode() for word in line]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A table, its schema, a ledger and a model, as `RIGHT` names them."""
    folder = tmp_path_factory.mktemp("commands") / "good"
    folder.mkdir()
    rows = [f"{20 + k},{SECRET if k == 7 else 'yes' if k % 3 else 'no'},{k % 2}" for k in range(40)]
    (folder / "people.csv").write_text("\n".join(["age,smoker,sick", *rows]) + "\n")
    (folder / "schema.toml").write_text(
        '[[columns]]\nname = "age"\ntype = "numeric"\nlow = 0\nhigh = 120\n\n'
        '[[columns]]\nname = "smoker"\ntype = "boolean"\nwords = ["no", "yes"]\nmissing = "indicator"\n\n'
        "[label]\nname = \"sick\"\nclasses = ['0', '1']\n"
    )
    Ledger.open(f"sqlite:///{folder}/people.db", dataset="census", epsilon=20.0)
    with chdir(folder):
        told = CliRunner().invoke(app, RIGHT["train"].replace("new.json", "model.json").split())
    assert told.exit_code == 0, told.output
    return folder


def spent_in(folder):
    sql._SEEN.clear()  # as a process that has never seen the store
    return Ledger.open(f"sqlite:///{folder}/people.db", dataset="census").spent


@settings(max_examples=40)
@given(command=command_lines())
@example(command=("train", RIGHT["train"].split()))
@example(command=("evaluate", RIGHT["evaluate"].split()))
def test_a_damaged_command_line_does_its_work_or_says_why_not(good, command):
    name, line = command
    folder = good.parent / str(next(NUMBERS)) / "here"  # because a name of a file may begin with ../
    shutil.copytree(good, folder)
    before = spent_in(folder)
    with at_most(), chdir(folder):
        told = CliRunner().invoke(app, line, input="", env={"COLUMNS": "100"})
    assert told.exception is None or isinstance(told.exception, SystemExit), (line, told.exception)
    assert told.exit_code in (0, 1, 2), (line, told.output)
    assert "Traceback" not in told.output, (line, told.output)
    assert "\x1b" not in told.output, (line, told.output)
    assert SECRET not in told.output, (line, told.output)
    if (folder / "people.db").stat().st_size:
        after = spent_in(folder)
        assert after >= before
        assert after == before or (told.exit_code == 0 and name in CHARGING), (line, told.output)
        assert (after > before) or RIGHT[name].split() != line or name not in CHARGING
    shutil.rmtree(folder.parent)


def test_every_command_is_damaged_but_those_that_take_long():
    groups = {line.split()[0] for line in RIGHT.values()}
    assert set(OPTIONS) - groups == {"demo", "plan", "tune", "audit", "reproduce"}
