"""What all commands share: mistakes and warnings become one sentence each, which any terminal can show."""

from __future__ import annotations

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
    "Exit codes: 0 done; 1 it failed, or nobody read the output to its end; 2 something for you to put "
    "right, which one sentence names; 130 interrupted."
)


class Mistake(Exception):
    """Something that only the command line can tell the user to put right."""


class GuardedGroup(TyperGroup):
    """A group of commands that says in one sentence what the user can put right; never a traceback."""

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run the command line on streams that take any text."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                make_safe(stream, os.environ)
        return super().main(*args, **settings)

    def invoke(self, ctx: Any) -> Any:
        """Run a command, and turn expected failures into a sentence and an exit code."""
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
        except Exception as error:  # what a user cannot put right is raised again
            sentence = sentence_of(error)
            if sentence is None:
                raise
            typer.echo(f"Error: {brief(sentence)}", err=True)
            raise typer.Exit(2) from error


def sentence_of(error: Exception) -> str | None:
    """Return what to tell the user who can put this right, or None if that is for a programmer to do."""
    from privfit.accounting import BudgetExceeded  # late, because help has no use for SciPy

    if isinstance(error, BrokenPipeError):  # nobody is listening
        return None
    if isinstance(error, OSError) and error.strerror is not None:
        where = "" if error.filename is None else f"{os.fspath(error.filename)!s}: "
        return f"{where}{error.strerror}."
    if isinstance(error, (Mistake, ValueError, OSError, BudgetExceeded)):  # PrivacyLeakError is a ValueError
        return str(error)
    return None


def make_safe(stream: io.TextIOWrapper, environment: Mapping[str, str]) -> None:
    """Let a stream escape what it cannot encode, and write ASCII to a terminal whose locale knows no more.

    Python writes UTF-8 in the locale C, which is right for files but not for a terminal. rich and our own
    drawings follow the stream's encoding.
    """
    stream.reconfigure(errors="backslashreplace")
    chosen = any(environment.get(name) for name in ("PYTHONIOENCODING", "PYTHONUTF8"))
    locale = environment.get("LC_ALL") or environment.get(
        "LANG"
    )  # LC_CTYPE is not as the user left it (PEP 538)
    if stream.isatty() and not chosen and locale in ("C", "POSIX"):
        stream.reconfigure(encoding="ascii")


def _say_warning(message: Warning | str, *_where: Any, **_unused: Any) -> None:
    typer.echo(f"Warning: {brief(str(message))}", err=True)
