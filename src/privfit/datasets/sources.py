"""Find a data file: in the user's directory, in the cache, or at its official address."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from privfit.datasets.download import DownloadError, download, file_sha256
from privfit.remedies import remedy


def _advice() -> str:
    by = remedy("data_dir= or the environment variable", "the environment variable")
    return f"put it, plain or as .gz, in a directory and name this directory with {by} PRIVFIT_DATA"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file that is not part of the package.

    `file` is its official name and `sha256` its hash. `urls` are tried in order. If the address leads to a
    zip file, `members` names the file in it, and so on for zip files within zip files. If there is no
    address, `why` says why.
    """

    file: str
    sha256: str | None = None
    urls: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    why: str = ""


def at_hand(source: Source, data_dir: str | os.PathLike[str] | None = None) -> Path | None:
    """Find a file without a download: in the user's directory, or an unchanged copy in the cache."""
    directory, named_by = data_dir, "data_dir"
    if directory is None:
        directory, named_by = os.environ.get("PRIVFIT_DATA"), "the environment variable PRIVFIT_DATA"
    if directory:
        if not Path(directory).is_dir():
            raise NotADirectoryError(f"{named_by} is {os.fspath(directory)!r}, which is not a directory.")
        plain = source.file.removesuffix(".gz")
        for name in (plain, f"{plain}.gz"):
            if Path(directory, name).is_file():
                return Path(directory, name)
    cached = cache_directory() / source.file
    unchanged = source.sha256 is not None and cached.is_file() and file_sha256(cached) == source.sha256
    return cached if unchanged else None


def locate(source: Source, data_dir: str | os.PathLike[str] | None = None) -> Path:
    """Find a file, or download it into the user's cache.

    A file in the user's directory is used as it is. A file in the cache is checked each time, and downloaded
    again if it is not the official file.
    """
    found = at_hand(source, data_dir)
    if found is not None:
        return found
    if source.sha256 is None:
        raise FileNotFoundError(f"{source.file} cannot be downloaded, because {source.why}; {_advice()}.")
    cached, problems = cache_directory() / source.file, []
    for url in source.urls:
        try:
            download(url, cached, sha256=source.sha256, members=source.members)
            return cached
        except DownloadError as error:
            problems.append(f"from {url} ({error})")
    raise DownloadError(
        f"{source.file} could not be downloaded {' nor '.join(problems)}; nothing was kept; "
        f"try again, or {_advice()}."
    )


def cache_directory() -> Path:
    """Return the directory of the operating system for files that can be downloaded again."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "privfit"


@contextmanager
def reading(path: Path) -> Iterator[TextIO]:
    """Open a text file, plain or .gz; if it turns out to be damaged, raise an error of one sentence."""
    try:
        with (
            gzip.open(path, "rt", encoding="ascii")
            if path.suffix == ".gz"
            else path.open(encoding="ascii") as file
        ):
            yield file
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is damaged and cannot be read; replace it with a good copy.") from error
