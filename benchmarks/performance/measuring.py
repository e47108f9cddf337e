"""Functions that measure times and memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TURN = 0.1  # seconds; after a pause, clocks and threads need a while to reach their full speed


def best(rounds: int, *functions: Callable[[], Any]) -> list[float]:
    """Return the best time of each function; they take turns, so that they run under the same conditions."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, taken in zip(functions, times, strict=True):
            time.sleep(0.05)  # BLAS threads spin for a while after a product
            end = time.perf_counter() + TURN
            while True:
                start = time.perf_counter()
                function()
                taken.append(time.perf_counter() - start)
                if time.perf_counter() > end:
                    break
    return [min(taken) for taken in times]


class Peak:
    """The largest anonymous memory of a process while the context lasts, in bytes.

    Pages of mapped files are not counted: they belong to the page cache.
    """

    def __init__(self, process: str = "self") -> None:
        self.status, self.bytes, self._ended = Path(f"/proc/{process}/status"), 0, False

    def __enter__(self) -> Peak:
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended = True

    def now(self) -> int:
        """Return the anonymous memory at this moment, in bytes."""
        lines = self.status.read_text().splitlines()
        return 1024 * int(next((line.split()[1] for line in lines if line.startswith("RssAnon")), "0"))

    def _watch(self) -> None:
        while not self._ended and self.status.exists():
            self.bytes = max(self.bytes, self.now())
            time.sleep(0.02)
