"""Error handling of all commands: each mistake and warning is one sentence that any terminal can show."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from privfit.printable import brief
from privfit.remedies import command_line

EXIT_CODES = (
    "Exit codes: 0 success; 1 failure, or the output was not read to its end; 2 a mistake that you can "
    "correct, which one sentence names; 130 interrupted."
)


NO_MEMORY = (
    "There was not enough memory to finish; free some, or take a machine with more: docs/scale.md says how "
    "much a table needs."
)


class Mistake(Exception):
    """A mistake in the use of the command line, which the user can correct."""


class GuardedGroup(TyperGroup):
    """A group of commands that prints mistakes of the user as one sentence, without a traceback."""

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run the command line on streams that accept any text."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                make_safe(stream, os.environ)
        return super().main(*args, **settings)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; print expected failures as one sentence and return an exit code."""
        with command_line():
            return self._invoke_guarded(ctx)

    def _invoke_guarded(self, ctx: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _say_warning
                return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt as interrupt:
            notes = map(brief, getattr(interrupt, "__notes__", ()))
            typer.echo(" ".join(["\nInterrupted.", *notes]), err=True)
            raise typer.Exit(130) from interrupt
        except Exception as error:  # errors that users cannot correct are raised again
            sentence = sentence_of(error)
            if sentence is None:
                raise
            notes = map(brief, getattr(error, "__notes__", ()))
            typer.echo(" ".join([f"Error: {brief(sentence)}", *notes]), err=True)
            raise typer.Exit(2) from error


def sentence_of(error: Exception) -> str | None:
    """Return the message for an error that the user can correct, or None for an error of the program."""
    from privfit.accounting import BudgetExceeded  # imported late: it needs SciPy, and help does not

    if lacks_memory(error):  # what the error says may tell how many records there are
        return NO_MEMORY
    if isinstance(error, BrokenPipeError):  # nobody reads the output any more
        return None
    if isinstance(error, OSError) and error.strerror is not None:
        where = "" if error.filename is None else f"{os.fspath(error.filename)!s}: "
        return f"{where}{error.strerror}."
    if isinstance(error, (Mistake, ValueError, OSError, BudgetExceeded)):  # PrivacyLeakError is a ValueError
        return str(error)
    return None


def lacks_memory(error: BaseException) -> bool:
    """Return whether an error says that there was not enough memory, be it for another thread."""
    has_no_room = isinstance(error, OSError) and error.errno == errno.ENOMEM
    has_no_thread = isinstance(error, RuntimeError) and str(error) == "can't start new thread"
    return isinstance(error, MemoryError) or has_no_room or has_no_thread


def make_safe(stream: io.TextIOWrapper, environment: Mapping[str, str]) -> None:
    """Make a stream escape characters that it cannot encode; write only ASCII to a terminal in the locale C.

    In the locale C Python writes UTF-8, which is right for files but not for a terminal. rich and our own
    drawings use the stream's encoding.
    """
    stream.reconfigure(errors="backslashreplace")
    chosen = any(environment.get(name) for name in ("PYTHONIOENCODING", "PYTHONUTF8"))
    locale = environment.get("LC_ALL") or environment.get(
        "LANG"
    )  # Python may have changed LC_CTYPE at its start (PEP 538)
    if stream.isatty() and not chosen and locale in ("C", "POSIX"):
        stream.reconfigure(encoding="ascii")


def _say_warning(message: Warning | str, *_where: Any, **_unused: Any) -> None:
    typer.echo(f"Warning: {brief(str(message))}", err=True)
