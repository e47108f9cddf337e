"""The pytest options `--more-examples N` and `--examples N`: hypothesis tries N times as many examples, or N.

They are other ones each time. Tests say how many examples are enough for every day. The deep tests ask for
many more of each: `pytest tests/accounting -m hypothesis --more-examples 50`. A failure prints the example,
and how to run it again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings


def multiply(times: int) -> None:
    """Let every test, whether it says how many examples it wants or not, try so many times as many."""
    _change(lambda usual: times * usual)


def try_exactly(count: int) -> None:
    """Let every test try so many examples."""
    _change(lambda usual: count)


def _change(number: Callable[[int], int]) -> None:
    """Let every test try number(usual) examples instead of the usual ones."""
    settings.register_profile(
        "more examples",
        max_examples=number(settings.default.max_examples),
        deadline=None,
        derandomize=False,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("more examples")
    original = settings.__init__

    @functools.wraps(original)
    def changed(self: settings, *parent: Any, **given: Any) -> None:
        if "max_examples" in given:
            given["max_examples"] = number(given["max_examples"])
        original(self, *parent, **given)

    settings.__init__ = changed
