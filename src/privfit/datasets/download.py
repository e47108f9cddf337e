"""One file over HTTP: resumed when the connection is cut, checked by its hash, whole or not there at all."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

ATTEMPTS = 5
PAUSE = 1.0  # seconds before the second attempt, doubled before each later one
TIMEOUT = 30.0  # seconds without a byte after which a connection counts as cut
BLOCK = 1 << 16


class DownloadError(OSError):
    """A data file could not be fetched; nothing of it was kept."""


def download(url: str, target: Path, *, sha256: str, members: Sequence[str] = ()) -> None:
    """Fetch `url` and put it at `target` if it is what it should be.

    The work is done in a directory of this call's own beside the target, and the file gets its name only when
    it is complete and checked. Processes that fetch the same file at once therefore do not meet, and a reader
    never sees half a file. A cut connection is resumed within the call; when the call ends, the directory is
    removed and nothing is left to resume. (A process that is killed leaves its directory behind.)

    Parameters
    ----------
    url : str
        Where the file is.
    target : Path
        Where it goes; its directory is made if need be.
    sha256 : str
        Hash of what is put at `target`, in hexadecimal.
    members : sequence of str
        The way to the wanted file if it is packed: a member of the zip file at `url`, a member of that, ...

    Raises
    ------
    DownloadError
        Says why, without a full stop: the caller knows what to advise.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=target.parent, prefix=".download-") as directory:
            received, unpacked = Path(directory, "received"), Path(directory, "unpacked")
            with received.open("w+b") as file, _bar(target.name) as show:
                _receive(url, file, show)
            if members:
                _unpack(received, members, unpacked)
            whole = unpacked if members else received
            found = file_sha256(whole)
            if found != sha256:
                raise DownloadError(f"its sha256 is {found} instead of {sha256}")
            os.replace(whole, target)
    except DownloadError:
        raise
    except OSError as error:
        raise DownloadError(f"{target.parent} cannot be written: {error.strerror}") from error


def file_sha256(path: Path) -> str:
    """Hash of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _receive(url: str, file: IO[bytes], show: Callable[[int, int | None], None]) -> None:
    """Write what is at `url` to `file`, going on where the last connection was cut."""
    validator: str | None = None
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        request = Request(url, headers={"User-Agent": "privfit"})
        if file.tell():
            request.add_header("Range", f"bytes={file.tell()}-")
            if validator is not None:
                request.add_header("If-Range", validator)
        try:
            with urlopen(request, timeout=TIMEOUT) as response:
                # Anything but the rest of the same file is the file from its beginning.
                start = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
                if response.status != 206 or start is None or int(start[1]) != file.tell():
                    file.seek(0)
                    file.truncate()
                validator = _validator(response.headers.get("ETag"), response.headers.get("Last-Modified"))
                length = response.headers.get("Content-Length")
                total = None if length is None else file.tell() + int(length)
                while block := response.read(BLOCK):
                    file.write(block)
                    show(file.tell(), total)
            if total is None or file.tell() == total:
                return
            problem = f"the connection was cut after {file.tell():,} of {total:,} bytes"
        except HTTPError as error:
            problem = f"the server answers {error.code} {error.reason}"
            if error.code < 500:
                raise DownloadError(problem) from error
        except (OSError, HTTPException) as error:
            if isinstance(error, URLError) and not file.tell():
                raise DownloadError(f"the server cannot be reached: {error.reason}") from error
            problem = f"the connection was cut after {file.tell():,} bytes: {error}"
    raise DownloadError(f"{problem}, at the last of {ATTEMPTS} attempts")


def _validator(etag: str | None, modified: str | None) -> str | None:
    """Return what tells one version of a file from another: a strong entity tag, or else its date."""
    return etag if etag is not None and not etag.startswith("W/") else modified


def _unpack(archive: Path, members: Sequence[str], target: Path) -> None:
    try:
        with ExitStack() as opened:
            packed: IO[bytes] = opened.enter_context(archive.open("rb"))
            for member in members:
                packed = opened.enter_context(opened.enter_context(zipfile.ZipFile(packed)).open(member))
            shutil.copyfileobj(packed, opened.enter_context(target.open("wb")))
    except (zipfile.BadZipFile, KeyError, EOFError, zlib.error) as error:
        raise DownloadError(f"it is not a zip file with {' / '.join(members)} in it") from error


@contextmanager
def _bar(name: str) -> Iterator[Callable[[int, int | None], None]]:
    """Yield a callback that moves a bar on the terminal, or does nothing if there is none."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task(name, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
