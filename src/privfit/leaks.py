"""What is taken from the data without being paid for is said aloud, or refused in strict mode."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class PrivacyLeakWarning(UserWarning):
    """Something was taken from the data that the privacy statement does not cover."""


class PrivacyLeakError(ValueError):
    """The same in strict mode, before anything was charged or released."""


_strict: ContextVar[bool | None] = ContextVar("privfit_strict", default=None)


@contextmanager
def strict(on: bool = True) -> Iterator[None]:
    """Turn every privacy leak warning into an error while the context lasts.

    The environment variable PRIVFIT_STRICT=1 does the same for a whole process.
    """
    token = _strict.set(on)
    try:
        yield
    finally:
        _strict.reset(token)


def leak(what: str, remedy: str) -> None:
    """Warn that `what` was taken from the data, and say how to declare it instead."""
    message = f"{what} taken from the data, which the privacy guarantee does not cover; {remedy}."
    setting = _strict.get()
    if setting if setting is not None else os.environ.get("PRIVFIT_STRICT") == "1":
        raise PrivacyLeakError(message)
    warnings.warn(message, PrivacyLeakWarning, stacklevel=4)
