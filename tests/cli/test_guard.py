"""What every command inherits: sentences instead of tracebacks, exit codes, and any terminal."""

import errno
import io
import os
import subprocess
import sys
import warnings
import weakref

import pyarrow
import pytest
import typer
from typer.testing import CliRunner

from privfit import BudgetExceeded, PrivacyLeakError, PrivacyLeakWarning
from privfit.accounting import LedgerError
from privfit.cli import app
from privfit.cli.guard import NO_MEMORY, GuardedGroup, Mistake, make_safe
from privfit.cli.options import spending

PRIVFIT = [sys.executable, "-m", "privfit"]


class Readable:
    """A ledger that says how it stands."""

    dataset = "census-2026"

    def statement(self):
        return "0.5 of rho = 1 spent."


def command_that(act):
    """Return a command line whose only command is `act`."""
    group = typer.Typer(cls=GuardedGroup, rich_markup_mode=None)
    group.command()(act)
    group.callback()(lambda: None)
    return CliRunner().invoke(group, ["act"])


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (Mistake("Name a file."), "Name a file."),
        (ValueError("alpha must be positive, got -1."), "alpha must be positive, got -1."),
        (PrivacyLeakError("The labels were taken from the data."), "The labels were taken from the data."),
        (
            FileNotFoundError(2, "No such file or directory", "people.csv"),
            "people.csv: No such file or directory.",
        ),
        (PermissionError(13, "Permission denied", "/out"), "/out: Permission denied."),
        (OSError("people.csv could not be downloaded."), "people.csv could not be downloaded."),
        (BudgetExceeded(0.2, 0.1, 1.0, "gradient"), str(BudgetExceeded(0.2, 0.1, 1.0, "gradient"))),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_the_user_can_put_right_is_one_sentence_and_exit_code_2(error, sentence):
    def act():
        raise error

    result = command_that(act)
    assert result.exit_code == 2
    assert result.output == f"Error: {sentence}\n"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 2.29 MiB for an array with shape (300271,)"),
        pyarrow.ArrowMemoryError("malloc of size 300271 failed"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_lack_of_memory_is_told_with_what_was_spent_and_without_the_size_of_the_table(error):
    def act():
        with spending(Readable()):
            raise error

    result = command_that(act)
    assert result.exit_code == 2
    assert result.output == f"Error: {NO_MEMORY} The ledger of 'census-2026': 0.5 of rho = 1 spent.\n"


def test_a_lack_of_memory_is_told_though_the_ledger_cannot_be_read():
    class Unreadable(Readable):
        def statement(self):
            raise MemoryError

    def act():
        with spending(Unreadable()):
            raise MemoryError

    told = "How the ledger of 'census-2026' stands cannot be read now: there is no memory."
    assert command_that(act).output == f"Error: {NO_MEMORY} {told}\n"


def test_what_a_command_held_is_freed_before_the_ledger_is_read():
    held = []

    class Big:
        pass

    class Asking(Readable):
        def statement(self):
            held.append(there() is not None)
            return super().statement()

    def fit():
        nonlocal there
        big = Big()
        there = weakref.ref(big)
        raise MemoryError

    def act():
        with spending(Asking()):
            fit()

    there = None
    assert command_that(act).exit_code == 2
    assert held == [False]


def test_a_bug_is_not_passed_off_as_the_users_mistake():
    def act():
        raise TypeError("unsupported operand")

    result = command_that(act)
    assert result.exit_code == 1
    assert isinstance(result.exception, TypeError)


def test_an_output_that_nobody_reads_ends_the_command_quietly():
    def act():
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    result = command_that(act)
    assert result.exit_code == 1
    assert result.output == ""


def test_ctrl_c_exits_130_and_says_what_was_noted():
    def act():
        interrupt = KeyboardInterrupt()
        interrupt.add_note("0.5 of rho = 1 spent.")
        raise interrupt

    result = command_that(act)
    assert result.exit_code == 130
    assert result.output == "\nInterrupted. 0.5 of rho = 1 spent.\n"


def test_ctrl_c_is_told_though_the_ledger_cannot_be_read():
    class Unreadable:
        dataset = "census-2026"

        def statement(self):
            raise LedgerError("The file is damaged.")

    def act():
        with spending(Unreadable()):
            raise KeyboardInterrupt

    result = command_that(act)
    assert result.exit_code == 130
    assert result.output == (
        "\nInterrupted. How the ledger of 'census-2026' stands cannot be read now: The file is damaged.\n"
    )


@pytest.mark.parametrize("speak", [warnings.warn, lambda text: (_ for _ in ()).throw(ValueError(text))])
def test_a_name_of_a_megabyte_is_not_printed_in_full(speak):
    assert len(command_that(lambda: speak("x" * 10**6)).output) < 2100


def test_a_warning_is_a_sentence_without_source_lines():
    def act():
        warnings.warn("The labels were taken from the data.", PrivacyLeakWarning, stacklevel=1)

    result = command_that(act)
    assert result.exit_code == 0
    assert result.output == "Warning: The labels were taken from the data.\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["dmo"], "Error: No such command 'dmo'."),
        (["--nope"], "Error: No such option: --nope"),
        (["demo", "--nope"], "Error: No such option: --nope"),
        (["demo", "--epsilon", "abc"], "Error: Invalid value for '--epsilon'"),
        (["reproduce", "nothing"], "Error: Invalid value for "),
    ],
)
def test_bad_options_exit_with_2_and_a_sentence(arguments, sentence):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert sentence in result.stderr


def test_tracebacks_never_print_local_variables():
    assert app.pretty_exceptions_enable is False


class Terminal(io.TextIOWrapper):
    def isatty(self):
        return True


def encoding_of(stream_type, environment):
    stream = stream_type(io.BytesIO(), encoding="utf-8")
    make_safe(stream, environment)
    return stream.encoding


def test_a_terminal_in_the_locale_c_gets_ascii():
    assert encoding_of(Terminal, {"LANG": "C", "LC_CTYPE": "C.UTF-8"}) == "ascii"
    assert encoding_of(Terminal, {"LC_ALL": "POSIX", "LANG": "en_GB.UTF-8"}) == "ascii"
    assert encoding_of(Terminal, {"LANG": "en_GB.UTF-8"}) == "utf-8"
    assert encoding_of(Terminal, {}) == "utf-8"
    assert encoding_of(Terminal, {"LANG": "C", "PYTHONIOENCODING": "utf-8"}) == "utf-8"


def test_a_file_in_the_locale_c_keeps_every_letter():
    assert encoding_of(io.TextIOWrapper, {"LANG": "C", "LC_CTYPE": "C.UTF-8"}) == "utf-8"


def test_what_a_stream_cannot_encode_is_escaped():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    make_safe(stream, {})
    stream.write("Größe █")
    stream.flush()
    assert stream.buffer.getvalue() == rb"Gr\xf6\xdfe \u2588"


def test_help_documents_the_exit_codes_and_python_m_works():
    done = subprocess.run([*PRIVFIT, "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: privfit [OPTIONS] COMMAND")
    for line in ("demo", "reproduce", "Exit codes: 0 success", "130 interrupted"):
        assert line in done.stdout


def test_version_is_printed():
    done = subprocess.run([*PRIVFIT, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == "privfit 0.2.0\n"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_closed_pipe_is_no_traceback(stream):
    reader, writer = os.pipe()
    os.close(reader)
    arguments = ["--help"] if stream == "stdout" else ["dmo"]
    other = "stderr" if stream == "stdout" else "stdout"
    with os.fdopen(writer, "wb") as closed:
        process = subprocess.run(
            [*PRIVFIT, *arguments], check=False, **{stream: closed, other: subprocess.PIPE}
        )
    assert process.returncode in (1, 2)
    assert getattr(process, other) == b""
