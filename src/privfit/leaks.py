"""Warnings about what the privacy statement does not cover, which are errors in strict mode."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class PrivacyLeakWarning(UserWarning):
    """Something was learnt from the data, or revealed, that the privacy statement does not cover."""


class PrivacyLeakError(ValueError):
    """A `PrivacyLeakWarning` in strict mode, raised before anything is charged or released."""


class WeakPromiseWarning(UserWarning):
    """The guarantee holds, but it is so weak that it protects little."""


_OFF = ("", "0", "false", "no", "off")
_strict: ContextVar[bool | None] = ContextVar("privfit_strict", default=None)
_open_contexts: list[object] = []  # new threads do not inherit the value of a context variable


@contextmanager
def strict(on: bool = True) -> Iterator[None]:
    """Refuse every fit whose privacy statement would leave something out, while the context lasts.

    Every `PrivacyLeakWarning` becomes an error. Labels must be declared (`classes=`), every fit must use a
    `Ledger`, its noise must be secure, and its solver private. The environment variable PRIVFIT_STRICT=1 does
    the same for a whole process.

    Parameters
    ----------
    on : bool
        False turns strict mode off, inside another context or despite the environment variable.

    Yields
    ------
    None
        Strict mode lasts as long as the context.
    """
    token, context = _strict.set(on), object()
    if on:
        _open_contexts.append(context)
    try:
        yield
    finally:
        _strict.reset(token)
        if on:
            _open_contexts.remove(context)


def is_strict() -> bool:
    """Return whether strict mode is on."""
    setting = _strict.get()
    if setting is not None:
        return setting
    return bool(_open_contexts) or os.environ.get("PRIVFIT_STRICT", "").strip().lower() not in _OFF


def is_switched_off() -> bool:
    """Return whether `strict(False)` is in force, which overrides the strict mode that clones inherit."""
    return _strict.get() is False


LARGEST_EPSILON = 10.0  # above this a warning is given: odds may change by a factor of e^10, or 22,000


WARNING_THRESHOLD = 3.0  # standard deviations; noise alone causes a warning in less than one of 100 fits


def warn_of_large_epsilon(epsilon: float, *, unit: str = "record") -> None:
    """Warn if epsilon is so large that the promise protects records, or people, very little."""
    if epsilon > LARGEST_EPSILON:
        warn_caller(
            f"epsilon = {epsilon:.4g} lets the odds about a {unit} change by a factor of "
            f"e^{epsilon:.4g}, which protects very little. Choose a smaller epsilon.",
            WeakPromiseWarning,
        )


def warn_of_large_delta(delta: float, n: float, noise: float = 0.0, *, unit: str = "record") -> None:
    """Warn if delta is above 1/n, which allows revealing one record, or all records of one person.

    n is the number of records or of people, whichever the promise is about. It is declared, or was released
    with noise of this standard deviation. Three standard deviations are subtracted from a released n, because
    with a small privacy budget it may be nothing but noise.
    """
    if delta * (n - WARNING_THRESHOLD * noise) > 1.0:
        all_of, one = ("records", "one record") if unit == "record" else ("people", "one person's records")
        warn_caller(
            f"delta = {delta:g} is above 1 divided by the number of {all_of}: a program that publishes {one} "
            "at random would keep such a promise. Choose a smaller delta.",
            WeakPromiseWarning,
        )


def leak(what: str, remedy: str) -> None:
    """Warn that `what` was taken from the data, and say how to declare it instead."""
    uncovered(f"{what} taken from the data, which the privacy guarantee does not cover; {remedy}.")


def uncovered(message: str) -> None:
    """Warn of something that the statement does not cover; in strict mode, raise an error."""
    if is_strict():
        raise PrivacyLeakError(message)
    warn_caller(message, PrivacyLeakWarning)


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called into this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("privfit."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def refuse_in_strict_mode(what: str, remedy: str) -> None:
    """In strict mode, raise an error for something that is no leak, but on which no statement should rest."""
    if is_strict():
        raise PrivacyLeakError(f"Strict mode refuses {what}; {remedy}.")


def warn_of_earlier_name(earlier: str, current: str) -> None:
    """Warn that a name of privfit 0.1 was used, which works for one more minor release."""
    warn_caller(f"{earlier} is called {current} now; privfit 0.3 will not know it.", FutureWarning)
