"""Files that commands write: checked before anything is charged, and written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from privfit.cli.guard import Mistake

_SQLITE = b"SQLite format 3\0"  # how every database in a file begins


def check_outputs(*outputs: Path | None, inputs: tuple[Path | None, ...] = ()) -> None:
    """Raise an error if an output cannot be written, is an input, or is a database, before any charge.

    Parameters
    ----------
    *outputs : Path or None
        Files that will be written; None for outputs that were not asked for.
    inputs : tuple of Path or None
        Files that will be read.
    """
    taken = {_place(path) for given in inputs if given is not None for path in (given, *_children(given))}
    for path in filter(None, outputs):
        if _place(path) in taken:
            raise Mistake(f"{path} is also an input, or named twice; choose another file for the output.")
        taken.add(_place(path))
        _check_writable(path)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file to write, which replaces `path` when it is complete and is removed otherwise.

    Parameters
    ----------
    path : Path
        The file to be written.

    Yields
    ------
    path : Path
        A temporary file in the same directory with the same ending, or `path` itself if it is a device.
    """
    if _is_device(path):
        yield path
        return
    place = _place(path)
    beside = place.with_name(f".{uuid4().hex}{place.suffix}")
    try:
        yield beside
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)


def _check_writable(path: Path) -> None:
    place = _place(path)
    if place.is_dir():
        raise Mistake(f"{path} is a directory; name a file in it.")
    if not place.parent.is_dir():
        raise Mistake(f"There is no directory {path.parent}; make it first.")
    if place.exists() and not os.access(place, os.W_OK):
        raise Mistake(f"{path} may not be written; change its permissions or name another file.")
    if _is_database(place):
        raise Mistake(f"{path} is a database, which may hold ledgers; name another file for the output.")
    if not _is_device(path):
        trial = place.with_name(f".{uuid4().hex}")
        try:
            trial.touch(exist_ok=False)
        except OSError as error:
            raise Mistake(f"{path} cannot be written: {error.strerror}.") from None
        trial.unlink()


def _is_database(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:  # it may be written, but not read
        return False


def _children(path: Path) -> Iterator[Path]:
    """Yield the files of a directory, because naming a directory as input reads all of them."""
    return path.iterdir() if path.is_dir() else iter(())


def _place(path: Path) -> Path:
    """Return the file that a path leads to: if the path is a link, the file that it names is replaced."""
    return Path(os.path.realpath(path))


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file()
