"""The pytest option `--more-examples N`: hypothesis tries N times as many examples, and other ones each time.

Tests say how many examples are enough for every day. The deep tests ask for many more of each: `pytest
tests/accounting -m hypothesis --more-examples 50`. A failure prints the example, and how to run it again.
"""

from __future__ import annotations

import functools
from typing import Any

from hypothesis import HealthCheck, settings


def multiply(times: int) -> None:
    """Let every test, whether it says how many examples it wants or not, try so many times as many."""
    settings.register_profile(
        "more examples",
        max_examples=times * settings.default.max_examples,
        deadline=None,
        derandomize=False,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("more examples")
    original = settings.__init__

    @functools.wraps(original)
    def multiplied(self: settings, *parent: Any, **given: Any) -> None:
        if "max_examples" in given:
            given["max_examples"] *= times
        original(self, *parent, **given)

    settings.__init__ = multiplied
