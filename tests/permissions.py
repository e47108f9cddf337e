"""Users whom permissions bind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def as_nobody() -> Iterator[None]:
    """Run as a user whom permissions bind, if the tests are root's."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@contextmanager
def open_directory() -> Iterator[Path]:
    """Return a directory that everybody may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield Path(directory)


def make_read_only(directory: Path) -> None:
    """Let nobody write a directory and its files."""
    for path in directory.iterdir():
        path.chmod(0o444)
    directory.chmod(0o555)


def make_writable(directory: Path) -> None:
    """Let the owner of a directory and its files write them again."""
    directory.chmod(0o755)
    for path in directory.iterdir():
        path.chmod(0o644)
