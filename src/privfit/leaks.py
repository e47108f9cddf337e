"""What the privacy statement does not cover is said aloud, or refused in strict mode."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class PrivacyLeakWarning(UserWarning):
    """Something was taken from the data, or given away, that the privacy statement does not cover."""


class PrivacyLeakError(ValueError):
    """The same in strict mode, before anything was charged or released."""


class WeakPromiseWarning(UserWarning):
    """The promise is kept, but it is worth little."""


_OFF = ("", "0", "false", "no", "off")
_strict: ContextVar[bool | None] = ContextVar("privfit_strict", default=None)
_open_contexts: list[object] = []  # threads that others start do not inherit the variable, but see these


@contextmanager
def strict(on: bool = True) -> Iterator[None]:
    """Refuse, while the context lasts, every fit whose statement would not be the whole truth.

    Every `PrivacyLeakWarning` becomes an error. Labels must be declared (`classes=`), every fit must draw
    on a `Ledger`, its noise must be secure, and its solver private. The environment variable
    PRIVFIT_STRICT=1 does the same for a whole process.

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
    """Return whether `strict(False)` says so here, which goes before where an estimator comes from."""
    return _strict.get() is False


LARGEST_EPSILON = 10.0  # odds may change by e^10, 22,000 times: whoever asks for more should know it


CERTAIN = 3.0  # standard deviations: noise alone causes a warning in less than one of 100 fits


def warn_of_large_epsilon(epsilon: float, *, unit: str = "record") -> None:
    """Warn of an epsilon beyond which a promise to records, or to people, is worth little."""
    if epsilon > LARGEST_EPSILON:
        warn_caller(
            f"epsilon = {epsilon:.4g} lets the odds about a {unit} change by a factor of "
            f"e^{epsilon:.4g}; that is hardly a promise. Choose a smaller epsilon.",
            WeakPromiseWarning,
        )


def warn_of_large_delta(delta: float, n: float, noise: float = 0.0, *, unit: str = "record") -> None:
    """Warn of a delta above 1/n: it allows giving a record, or all records of a person, away.

    n is how many records, or people, there are: whichever the promise is about. It is declared, or bought
    with noise of this standard deviation. A bought n counts only as far as it stands out of its noise,
    because a small budget buys numbers that are noise alone.
    """
    if delta * (n - CERTAIN * noise) > 1.0:
        all_of, one = ("records", "one record") if unit == "record" else ("people", "one person's records")
        warn_caller(
            f"delta = {delta:g} is above 1 divided by the number of {all_of}: whoever publishes {one}, "
            "drawn at random, keeps such a promise. Choose a smaller delta.",
            WeakPromiseWarning,
        )


def leak(what: str, remedy: str) -> None:
    """Warn that `what` was taken from the data, and say how to declare it instead."""
    uncovered(f"{what} taken from the data, which the privacy guarantee does not cover; {remedy}.")


def uncovered(message: str) -> None:
    """Warn of what the statement does not cover; in strict mode refuse it."""
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
    """Refuse what is no leak by itself, but more than a strict statement may rest on."""
    if is_strict():
        raise PrivacyLeakError(f"Strict mode refuses {what}; {remedy}.")
