"""Compiling the loops: once, kept on disk, and not in silence."""

import functools
import hashlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from numba import njit
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

Function = TypeVar("Function", bound=Callable[..., Any])

NOTICEABLE = 0.2  # seconds of compiling before a word is said
MESSAGE = "privfit: compiling for this kind of table, once; this takes some seconds."

HERE = Path(__file__).parent
SOURCES = sorted(str(file) for folder in (HERE, HERE.parent) for file in folder.glob("*.py"))


def compiled(*others: str, nogil: bool = True, **options: Any) -> Callable[[Function], Function]:
    """Compile, and keep the machine code on disk for the next process.

    Loops over records run without the GIL. What takes a few microseconds keeps it: getting it back from
    another thread could take many.

    The cache on disk is told about changes of the function's own file only. The sources of all that it may
    call, and of `others`, are therefore digested into its name, and yesterday's code is not found.
    """
    digest = hashlib.sha256(b"".join(_source(file) for file in (*SOURCES, *others))).hexdigest()[:12]

    def compile_named(function: Function) -> Function:
        function.__qualname__ = f"{function.__name__}.{digest}"
        decorated: Function = njit(cache=True, nogil=nogil, error_model="numpy", **options)(function)
        return decorated

    return compile_named


@functools.cache
def _source(file: str) -> bytes:
    path = Path(file)
    return path.read_bytes() if path.exists() else b""


class _Announcement(event.Listener):
    """Says once per process, on stderr, that loops are being compiled, if that takes noticeable time.

    What the cache on disk holds is not compiled, and then nothing is said. Functions that are compiled for
    others are part of those.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.started = self.seconds = 0.0
        self.said = False

    def on_start(self, started: Any) -> None:
        """Note the time, and speak before the next function if the ones so far took long."""
        now = time.perf_counter()
        if self.depth == 0:
            self.started = now
        self.depth += 1
        if self.seconds + now - self.started > NOTICEABLE and not self.said and _is_ours(started):
            self.said = True
            print(MESSAGE, file=sys.stderr, flush=True)

    def on_end(self, ended: Any) -> None:
        """Add up how long it took."""
        self.depth -= 1
        if self.depth == 0 and _is_ours(ended):
            self.seconds += time.perf_counter() - self.started


def _is_ours(compiling: Any) -> bool:
    module: str = compiling.data["dispatcher"].py_func.__module__
    return module.partition(".")[0] == __name__.partition(".")[0]


event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call] # numba has no types

if hasattr(os, "register_at_fork"):
    # A lock that another thread holds during a fork would be held in the child for ever.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
