"""Secure noise that is the same in every run of a test, so that a failure can be repeated.

The secure source takes its keys from the operating system, so a test that fails for one draw in a thousand
would fail one run of CI in a thousand, and nobody could see it fail again. Here keys are a function of the
test's name, or of its fixture's, of how many keys were drawn before, and of `--seed-shift`, which shows the
tests that hold by luck only. Other processes, forked ones too, draw from the operating system as usual.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

from privfit.mechanisms.exact import digits


class RepeatableKeys:
    """Stands for `os.urandom` where digits are made."""

    def __init__(self, shift: int) -> None:
        self._shift, self._process = shift, os.getpid()
        self._name, self._drawn = "import", 0

    def install(self) -> None:
        """Give these keys to the secure source, for good."""
        digits.os = SimpleNamespace(urandom=self.draw)

    def draw(self, size: int) -> bytes:
        """Return the next bytes of the test that runs."""
        if os.getpid() != self._process:
            return os.urandom(size)
        self._drawn += 1
        return hashlib.shake_256(f"{self._shift}|{self._name}|{self._drawn}".encode()).digest(size)

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Draw for what has this name; what was drawn for before goes on afterwards."""
        before = self._name, self._drawn
        self._name, self._drawn = name, 0
        try:
            yield
        finally:
            self._name, self._drawn = before
