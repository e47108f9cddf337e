"""The environment of a run: the commit, the versions, the machine, and a lock file to install it again."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

import privfit

NAMED = ("numpy", "scipy", "numba", "scikit-learn", "dp-accounting", "opendp")
LOCK_FILE = "environment.txt"


def commit() -> str:
    """Return the commit of the sources, with a note if they were changed since; or the version's number."""
    sources = Path(privfit.__file__).parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(sources), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", str(sources))
        return git("rev-parse", "--short=10", "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return f"privfit {privfit.__version__}"


def versions() -> dict[str, str]:
    """Return the versions that a number may depend on."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in NAMED}}


def machine() -> str:
    """Return the processor and its number of cores, and nothing that names the machine."""
    model = platform.machine()
    if Path("/proc/cpuinfo").exists():
        named = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        model = named[1].strip() if named else model
    return f"{model}, {os.cpu_count()} cores"


def write_lock(out: Path) -> None:
    """Write the lock file into a directory of results."""
    out.mkdir(parents=True, exist_ok=True)
    (out / LOCK_FILE).write_text(lock(), encoding="utf-8")


def lock() -> str:
    """Return the installed version of everything that experiments import, as requirements for pip."""
    pinned: dict[str, str] = {}
    waiting = [Requirement("privfit[report]")]
    while waiting:
        wanted = waiting.pop()
        name = re.sub(r"[-_.]+", "-", wanted.name).lower()
        if name in pinned:
            continue
        try:
            installed = metadata.distribution(wanted.name)
        except metadata.PackageNotFoundError:  # a package that is not installed was not used
            continue
        pinned[name] = installed.version
        for text in installed.requires or ():
            needed = Requirement(text)
            extras = wanted.extras or {""}
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(needed)
    pinned.pop("privfit", None)
    python = f"# Python {platform.python_version()}; pip install -r {LOCK_FILE}"
    return "\n".join([python, *(f"{name}=={version}" for name, version in sorted(pinned.items()))]) + "\n"
