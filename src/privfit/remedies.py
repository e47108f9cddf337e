"""What a message advises, in the language of its reader: Python, or commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_at_the_command_line: ContextVar[bool] = ContextVar("privfit_at_the_command_line", default=False)


@contextmanager
def command_line() -> Iterator[None]:
    """Let messages advise commands and options, as long as the context lasts.

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
    """Return a piece of advice as the reader can follow it.

    Parameters
    ----------
    python : str
        What to write in Python.
    command : str
        What to do at the command line.

    Returns
    -------
    advice : str
        One of the two.
    """
    return command if _at_the_command_line.get() else python
