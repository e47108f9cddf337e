"""Download one file over HTTP, resume cut connections, and keep the file only if its hash is correct."""

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
TIMEOUT = 30.0  # seconds without data after which a connection counts as cut
BLOCK = 1 << 16


class DownloadError(OSError):
    """A data file could not be downloaded; nothing of it is kept."""


def download(url: str, target: Path, *, sha256: str, members: Sequence[str] = ()) -> None:
    """Download a file to `target` if its hash is correct.

    Each call writes to a temporary directory of its own beside the target. The file gets its name only when
    it is complete and checked. So processes that download the same file at the same time do not disturb each
    other, and no reader sees half a file. A cut connection is resumed within the call. When the call ends,
    the temporary directory is removed. (If the process is killed, the directory remains.)

    Parameters
    ----------
    url : str
        The address of the file.
    target : Path
        The path to write to; its directory is created if it does not exist.
    sha256 : str
        The hash of the file at `target`, in hexadecimal.
    members : sequence of str
        If the wanted file is packed: the member of the zip file at `url`, then the member of that zip file,
        and so on.

    Raises
    ------
    DownloadError
        With the reason, which does not end with a full stop: the caller adds advice.
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
    """Return the hash of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _receive(url: str, file: IO[bytes], show: Callable[[int, int | None], None]) -> None:
    """Write the content of `url` to `file`; continue where the last connection was cut."""
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
                # unless the server sends the rest of the same file, it sends the file from its beginning
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
    """Return what distinguishes versions of a file: a strong entity tag or, without one, the date."""
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
