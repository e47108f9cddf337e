"""Compile the loops, keep their machine code on disk, and tell the user if it takes long."""

import gc
import hashlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from numba import njit
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import register_jitable

from privfit.engine.kernels import fused
from privfit.losses.arithmetic import NO_C_ENTRY
from privfit.machine_code import keep_by_signature

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = __name__.partition(".")[0]
NOTICEABLE = 0.2  # seconds of compiling after which a message is shown
MESSAGE = "privfit: compiling for this kind of table, once; this takes some seconds."


def compiled(*, nogil: bool = True) -> Callable[[Function], Function]:
    """Return a decorator that compiles, and keeps the machine code on disk for the next process.

    Loops over records run without the GIL. Functions that take a few microseconds keep it, because taking it
    back from another thread may take longer.

    numba's cache notices only changes of the function's own file. So the name of the function gets a digest
    of everything that it uses, and old machine code is not found. Everything that it uses must be defined
    above it.
    """

    def compile_named(function: Function) -> Function:
        function.__qualname__ = f"{function.__name__}.{digest(function)}"
        options: Any = {"cache": True, "nogil": nogil, "error_model": "numpy"} | NO_C_ENTRY
        decorated: Function = njit(**options)(function)
        keep_by_signature(decorated)
        return decorated

    return compile_named


def inner(**options: Any) -> Callable[[Function], Function]:
    """Return a decorator that compiles a function as a part of the loops that call it, which is faster.

    A function that only loops call needs no entry point from Python and no file of its own on disk. Called
    from Python, it runs as Python.
    """
    declare: Callable[[Function], Function] = register_jitable(error_model="numpy", **NO_C_ENTRY, **options)
    return declare


def digest(function: Callable[..., Any]) -> str:
    """Return a digest of the files and constants that a function's machine code depends on."""
    files = {fused.__file__}  # used by numba, without a reference in the code
    constants: set[str] = set()
    _collect(function, files, constants)
    sources = [Path(file).read_bytes() for file in sorted(files) if Path(file).exists()]
    return hashlib.sha256(b"".join(sources) + repr(sorted(constants)).encode()).hexdigest()[:12]


def _collect(function: Any, files: set[str], constants: set[str]) -> None:
    """Add the files of a function and of the functions that it calls, and the values of global constants."""
    code = function.__code__
    files.add(code.co_filename)
    captured = zip(code.co_freevars, function.__closure__ or (), strict=True)
    named = {name: function.__globals__.get(name) for name in code.co_names}
    for name, used in (named | {name: cell.cell_contents for name, cell in captured}).items():
        # the Python function of a compiled loop, or of an intrinsic
        python = getattr(used, "py_func", getattr(used, "_defn", used))
        if isinstance(python, FunctionType):
            if (python.__module__ or "").startswith(PACKAGE) and python is not function:
                _collect(python, files, constants)
        elif isinstance(python, ModuleType):
            if python.__name__.startswith(PACKAGE):
                files.add(str(python.__file__))
        elif isinstance(python, int | float | str | tuple):
            constants.add(f"{name}={python!r}")


class _Announcement(event.Listener):
    """Prints once per process, on stderr, that loops are being compiled, if this takes noticeable time.

    Nothing is printed if the machine code is on disk. The time of a function includes that of the functions
    that are compiled for it.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.started = self.seconds = 0.0
        self.said = False

    def on_start(self, started: Any) -> None:
        """Note the time, and print the message if the functions so far took long."""
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


class _NoCollections(event.Listener):
    """Turns the garbage collector off while loops are compiled, which saves a tenth of the time.

    Most objects of the compiler are needed until its end, and the garbage collector would visit all of them.
    numba compiles one function at a time, in all threads together; functions that it calls are compiled
    within.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.collects = False

    def on_start(self, started: Any) -> None:
        """Turn the collector off when the outermost function begins."""
        if self.depth == 0:
            self.collects = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, ended: Any) -> None:
        """Restore the collector when it ends, even after an error."""
        self.depth -= 1
        if self.depth == 0 and self.collects:
            gc.enable()


def _is_ours(compiling: Any) -> bool:
    module: str = compiling.data["dispatcher"].py_func.__module__
    return module.partition(".")[0] == PACKAGE


event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call] # numba has no types
event.register("numba:compile", _NoCollections())  # type: ignore[no-untyped-call] # numba has no types

if hasattr(os, "register_at_fork"):
    # If another thread held a lock during a fork, the child could never take it.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
