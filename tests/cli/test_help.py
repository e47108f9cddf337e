"""Help teaches: every command has an example that can be copied, and every line of it is whole."""

import json
import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise

import pytest
import typer
from running import privfit

from privfit.cli import app
from privfit.cli.teaching import with_example

ROOT = typer.main.get_command(app)


def leaves(group, *path):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from leaves(command, *path, name)
        else:
            yield (*path, name)


COMMANDS = [" ".join(path) for path in leaves(ROOT)]
LONG = {"demo", "plan", "audit", "reproduce"}  # tests of their own run them
WRITES = ("--out", "--report", "--numpy", "--plot")


def example_of(command):
    """Return the words of the example in the help of a command, as a shell reads them."""
    text = privfit(*command.split(), "--help").stdout
    (example,) = re.findall(r"^  Example:\n((?:    .*\n)+)", text, re.MULTILINE)
    return shlex.split(example.replace("\\\n", " "))


def _without_redirection(arguments):
    return arguments[: arguments.index(">")] if ">" in arguments else arguments


def test_the_commands_are_those_that_are_documented():
    assert set(COMMANDS) == {
        *("demo", "plan", "schema draft", "schema check", "ledger open", "ledger status", "ledger log"),
        *(
            "ledger verify",
            "ledger change",
            "ledger migrate",
            "train",
            "tune",
            "evaluate",
            "explain",
            "report",
            "export",
            "predict",
            "evidence",
            "verify",
            "convert",
            "audit",
        ),
        "reproduce",
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_every_example_is_a_command_line_that_is_understood(command, monkeypatch):
    _, *arguments = example_of(command)
    assert arguments[: len(command.split())] == command.split()
    leaf, called = ROOT, []
    for name in command.split():
        leaf = leaf.commands[name]
    monkeypatch.setattr(leaf, "callback", lambda **options: called.append(options))
    ROOT.main(_without_redirection(arguments), standalone_mode=False)
    assert len(called) == 1


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in LONG])
def test_every_example_runs(command, desk):
    arguments = example_of(command)[1:]
    if command in ("ledger open", "ledger change"):
        (desk / "people.db").unlink()
    if command == "ledger change":
        privfit("ledger", "open", "people.db", "--dataset", "census-2026", "--epsilon", 3)
    privfit(*_without_redirection(arguments))
    for option, value in pairwise(arguments):
        if option in WRITES:
            assert (desk / value).stat().st_size > 0


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_can_print_json(command):
    assert "--json" in privfit(*command.split(), "--help").stdout


@pytest.mark.parametrize("group", ["", "schema", "ledger"])
def test_what_a_command_does_is_not_cut_off(group):
    listed = privfit(*group.split(), "--help").stdout.split("Commands:")[1]
    assert "..." not in listed.split("Exit codes")[0]


def test_a_long_example_is_broken_as_a_shell_needs_it():
    text = with_example(
        "Does it.\n\nExample: privfit do " + " ".join(f"--option-{i} value" for i in range(9))
    )
    lines = text.split("\n\n")[1].splitlines()
    assert lines[:2] == ["\b", "Example:"]
    assert max(map(len, lines)) <= 78
    assert all(line.endswith("\\") for line in lines[2:-1])
    assert shlex.split("\n".join(lines[2:]))[-2:] == ["--option-8", "value"]


def test_completion_is_offered_and_completes():
    assert "--install-completion" in privfit("--help").stdout
    asked = {**os.environ, "_PRIVFIT_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "privfit ev"}
    program = "from privfit.cli import app; app(prog_name='privfit')"
    done = subprocess.run(
        [sys.executable, "-c", program], env=asked, capture_output=True, text=True, check=True
    )
    assert '"evaluate"' in done.stdout
    assert "predict" not in done.stdout


def test_json_is_one_document_in_which_numbers_that_do_not_exist_are_null(capsys):
    from privfit.cli.output import show

    show({"a": [float("nan"), (float("inf"), 1)], "b": "ü"}, "", as_json=True)
    assert json.loads(capsys.readouterr().out) == {"a": [None, [None, 1]], "b": "ü"}


def test_a_table_has_a_record_in_each_row():
    """Of which a person may have several."""
    assert "one record per row" in " ".join(privfit("train", "--help").stdout.split())
