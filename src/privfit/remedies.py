"""Advice in error messages, written for users of Python or of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_at_the_command_line: ContextVar[bool] = ContextVar("privfit_at_the_command_line", default=False)


@contextmanager
def command_line() -> Iterator[None]:
    """Make messages advise commands and options instead of Python, as long as the context lasts.

    Yields
    ------
    None
        The context.
    """
    token = _at_the_command_line.set(True)
    try:
        yield
    finally:
        _at_the_command_line.reset(token)


def remedy(python: str, command: str) -> str:
    """Return a piece of advice in the form that the reader can use.

    Parameters
    ----------
    python : str
        What to write in Python.
    command : str
        What to do at the command line.

    Returns
    -------
    advice : str
        `command` inside a `command_line` context, and otherwise `python`.
    """
    return command if _at_the_command_line.get() else python
