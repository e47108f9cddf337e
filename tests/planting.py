"""Run tests on a package in which one place of one file reads differently; no file is written.

A process that has loaded the libraries, but not the package, forks a child for every change. The child
compiles the changed text when the module is imported, and runs pytest. So a change costs the time of its
tests, and not that of starting Python anew.

    python tests/planting.py SECONDS    reads changes and writes their outcomes, as lines of JSON

Whether a test has an end is judged by the processor time that it takes, SECONDS at most, because on a busy
machine a test that is all right may wait for long.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "privfit"
PASSED, FAILED, NONE_LEFT, NO_END = 0, 1, 5, -1  # exit codes of pytest, and that of a child that was stopped
WAITING = 1800.0  # seconds after which a child that waits for something is stopped, too
LIBRARIES = (
    *("numpy", "scipy.special", "scipy.stats", "scipy.sparse", "numba", "sklearn.linear_model", "pandas"),
    *("opendp.prelude", "cryptography.hazmat.primitives.ciphers", "sqlalchemy", "dp_accounting", "pyarrow"),
    *("typer", "rich", "jsonschema", "hypothesis", "pytest", "_pytest.assertion.rewrite", "selenium"),
)


class Changed(importlib.machinery.SourceFileLoader):
    """Load a module from its text after one place was replaced."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self.text = text

    def get_code(self, fullname: str) -> Any:
        return compile(self.text, self.path, "exec", dont_inherit=True)


class Finder(importlib.abc.MetaPathFinder):
    """Find one module of the package in its changed form."""

    def __init__(self, file: str, text: str) -> None:
        parts = ("privfit", *Path(file).with_suffix("").parts)
        self.is_package = parts[-1] == "__init__"
        self.name, self.file, self.text = ".".join(parts[:-1] if self.is_package else parts), file, text

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != self.name:
            return None
        where = str(PACKAGE / self.file)
        loader = Changed(fullname, where, self.text)
        folders = [str(PACKAGE / self.file).rpartition("/")[0]] if self.is_package else None
        return importlib.util.spec_from_file_location(
            fullname, where, loader=loader, submodule_search_locations=folders
        )


def is_compiled(file: str) -> bool:
    """Tell whether numba may compile what is in a file of the package, or what calls it."""
    return (
        file.startswith(("engine/kernels/", "losses/", "mechanisms/exact/"))
        or file == "engine/exact/grids.py"
    )


def changed_text(file: str, old: str, new: str) -> str:
    """Return the text of a file after `old`, which stands there once, has become `new`."""
    text = (PACKAGE / file).read_text()
    if text.count(old) != 1:
        raise ValueError(f"{old!r} stands {text.count(old)} times in {file}")
    return text.replace(old, new)


@dataclass(frozen=True)
class Outcome:
    """How the tests of a change ended: the exit code of pytest, and the first test that failed."""

    code: int
    failed: str = ""


class Runner:
    """A process that tries changes, one after the other; it starts with the first one.

    A change names a file of the package, its whole text after the change, tests, and options of pytest, if
    any; without a file the package is as it is.
    """

    def __init__(self, seconds: float = 300.0, *options: str, script: str = __file__) -> None:
        self.command = [sys.executable, script, str(seconds), *options]
        self.process: subprocess.Popen[str] | None = None

    def outcome(self, change: dict[str, Any]) -> Outcome:
        if self.process is None:
            path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
            streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            environment = os.environ | {"PYTHONPATH": path}
            self.process = subprocess.Popen(self.command, cwd=ROOT, env=environment, **streams)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(change) + "\n")
        self.process.stdin.flush()
        return Outcome(**json.loads(self.process.stdout.readline()))

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *error: object) -> None:
        if self.process is not None:
            self.process.communicate()


def outcomes(changes: Iterable[dict[str, Any]], *, seconds: float = 300.0) -> Iterator[Outcome]:
    """Yield how the tests of each change end."""
    with Runner(seconds) as runner:
        yield from map(runner.outcome, changes)


def _in_child(change: dict[str, Any], seconds: float, folder: str) -> int:
    import pytest

    if change.get("file"):
        sys.meta_path.insert(0, Finder(change["file"], change["text"]))
        if is_compiled(change["file"]):
            # compiled loops are not compiled anew when one that they call changes
            import numba

            os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = folder
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov", "--no-header"]
    options += [f"--basetemp={folder}/tests", *change.get("options", ())]
    first, code = First(Path(folder) / "failed", seconds), PASSED
    for test in change["tests"]:  # one after the other, because collecting takes long, too
        code = int(pytest.main([*options, test], plugins=[first]))
        if code not in (PASSED, NONE_LEFT):
            return code
    return PASSED


class First:
    """Write down the first test that fails, and stop one that computes for longer than so many seconds."""

    def __init__(self, path: Path, seconds: float) -> None:
        self.path, self.seconds = path, seconds

    def pytest_runtest_logstart(self) -> None:
        allow(self.seconds)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.path.exists():
            self.path.write_text(report.nodeid)


def in_child(work: Callable[[str], int], seconds: float) -> Outcome:
    """Fork a child that works in a folder of its own and ends with the code that this returns."""
    with tempfile.TemporaryDirectory() as folder:
        child = os.fork()
        if child == 0:
            code = 3
            try:
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                allow(seconds)
                _be_silent()
                code = work(folder)
            finally:
                os._exit(code)
        end = time.monotonic() + WAITING
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                failed, code = Path(folder) / "failed", os.waitstatus_to_exitcode(status)
                return Outcome(
                    NO_END if code == -signal.SIGXCPU else code, failed.read_text() if failed.exists() else ""
                )
            time.sleep(0.02)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return Outcome(NO_END)


def allow(seconds: float) -> None:
    """Let this process compute for so many seconds from now."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    end = math.ceil(used.ru_utime + used.ru_stime + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (end, resource.RLIM_INFINITY))


def _be_silent() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    log = os.open(os.environ.get("PLANTING_LOG", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream, target in ((0, nothing), (1, log), (2, log)):
        os.dup2(target, stream)
    tempfile.tempdir = None


def main(seconds: str) -> None:
    for library in LIBRARIES:
        try:
            importlib.import_module(library)
        except ImportError:  # the tests that need it say so
            continue
    for line in sys.stdin:
        work = partial(_in_child, json.loads(line), float(seconds))
        print(json.dumps(asdict(in_child(work, float(seconds)))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
