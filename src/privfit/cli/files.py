"""Files that commands write: known to be writable before anything is paid for, and whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from privfit.cli.guard import Mistake


def check_outputs(*outputs: Path | None, inputs: tuple[Path | None, ...] = ()) -> None:
    """Refuse what cannot be written, or would overwrite an input, so that nothing is paid for and then lost.

    Parameters
    ----------
    *outputs : Path or None
        What is going to be written; None stands for what was not asked for.
    inputs : tuple of Path or None
        What is going to be read.
    """
    taken = {_place(path) for given in inputs if given is not None for path in (given, *_children(given))}
    for path in filter(None, outputs):
        if _place(path) in taken:
            raise Mistake(f"{path} is read, too, or named twice; give what is written a name of its own.")
        taken.add(_place(path))
        _check_writable(path)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a file to write that takes the place of `path` when it is whole, and leaves no trace otherwise.

    Parameters
    ----------
    path : Path
        What is to be written.

    Yields
    ------
    path : Path
        A file beside it, with the same ending, or `path` itself if that is a device.
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
    if not _is_device(path):
        trial = place.with_name(f".{uuid4().hex}")
        try:
            trial.touch(exist_ok=False)
        except OSError as error:
            raise Mistake(f"{path} cannot be written: {error.strerror}.") from None
        trial.unlink()


def _children(path: Path) -> Iterator[Path]:
    """Yield the files of a directory, which are read if it is named."""
    return path.iterdir() if path.is_dir() else iter(())


def _place(path: Path) -> Path:
    """Return where a path leads, because a link is kept and what it names is replaced."""
    return Path(os.path.realpath(path))


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file()
