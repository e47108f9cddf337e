"""Run tests on a package in which one function reads differently, without importing anything anew.

A process imports the package and collects all tests once. For every change it forks a child, which gives the
function the code that the changed text compiles to, and runs the tests: that takes a tenth of the time of
importing the package from the changed text, as `planting` does. It does so where this is not possible: a
change outside of functions, or of a function that was called while modules were imported.

    python tests/deep/warm.py SECONDS TEST...    reads changes and writes their outcomes, as lines of JSON
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import pytest
from planting import FAILED, PACKAGE, PASSED, First, in_child

UNCHANGED = 77  # instead of an exit code: the change is not that of one function
OPTIMIZED = 0x1  # a flag of the code of functions, and not of that of modules and classes


def functions(body: CodeType) -> Iterator[CodeType]:
    """Yield the code of the functions and methods of a module, and not of those inside others."""
    for constant in body.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & OPTIMIZED:
                yield constant
            else:
                yield from functions(constant)


def said(code: CodeType, *, inside: bool) -> tuple[Any, ...]:
    """Return what code does, wherever it stands in its file; what its functions do only if asked."""

    def of(constant: object) -> object:
        if not isinstance(constant, CodeType):
            return type(constant).__name__, repr(constant)
        is_left_out = constant.co_flags & OPTIMIZED and not inside
        return constant.co_qualname if is_left_out else said(constant, inside=inside)

    constants = tuple(map(of, code.co_consts))
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, constants


def changed_function(path: str, text: str) -> tuple[CodeType, CodeType] | None:
    """Return the code of the one function that differs, as it is and as it would be."""
    old, new = (compile(each, path, "exec", dont_inherit=True) for each in (Path(path).read_text(), text))
    if said(old, inside=False) != said(new, inside=False):
        return None
    pairs = [
        (before, after)
        for before, after in zip(functions(old), functions(new), strict=True)
        if said(before, inside=True) != said(after, inside=True)
    ]
    return pairs[0] if len(pairs) == 1 else None


CALLED: set[tuple[str, str]] = set()  # file and name of the package's functions that imports have called


def note_call(frame: FrameType, event: str, _: object) -> None:
    """Note calls of the package's functions; for `sys.setprofile`."""
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(str(PACKAGE)) and code.co_flags & OPTIMIZED:
        CALLED.add((code.co_filename, code.co_qualname))


def patched(path: str, text: str) -> bool:
    """Let the one function that differs do what it does in the changed text, if that can be done."""
    pair = changed_function(path, text)
    if pair is None or pair[0].co_freevars != pair[1].co_freevars:
        return False
    old, new = pair
    if (path, old.co_qualname) in CALLED:
        return False
    places = [
        function
        for function in gc.get_objects()
        if isinstance(function, FunctionType)
        and function.__code__.co_filename == path
        and function.__code__.co_qualname == old.co_qualname
        and function.__code__.co_firstlineno == old.co_firstlineno
    ]
    for function in places:
        function.__code__ = new
    return bool(places)


class Server:
    """Answers changes where pytest would run the tests that it has collected."""

    def __init__(self, seconds: float, answers: int) -> None:
        self.seconds, self.answers = seconds, answers

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        sys.setprofile(None)
        for line in sys.stdin:
            change = json.loads(line)
            outcome = in_child(partial(run, session, change, self.seconds), self.seconds)
            os.write(self.answers, (json.dumps(asdict(outcome)) + "\n").encode())
        return True


def run(session: pytest.Session, change: dict[str, Any], seconds: float, folder: str) -> int:
    """Run the tests of a change, and return how they end."""
    from _pytest.main import pytest_runtestloop

    if change.get("file") and not patched(str(PACKAGE / change["file"]), change["text"]):
        return UNCHANGED
    session.config.pluginmanager.register(First(Path(folder) / "failed", seconds))
    session.config._tmp_path_factory._given_basetemp = Path(folder) / "tests"
    session.items = [
        item
        for test in change["tests"]
        for item in session.items
        if item.nodeid == test or item.nodeid.startswith((f"{test}::", f"{test}["))
    ]
    try:
        pytest_runtestloop(session)
    except (session.Failed, session.Interrupted):
        return FAILED
    finally:
        session._setupstate.teardown_exact(None)
    return FAILED if session.testsfailed else PASSED


def main(seconds: str, *tests_and_options: str) -> None:
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.setprofile(note_call)
    options = ["-q", "-x", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov", "--no-header"]
    pytest.main([*options, *tests_and_options], plugins=[Server(float(seconds), answers)])


if __name__ == "__main__":
    main(*sys.argv[1:])
