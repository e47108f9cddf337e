"""Tables in CSV and Parquet files: one, several, or a directory of Parquet files.

CSV files have no types. Other readers guess types from all cells of a column, so that one record may decide
how the others are read. Here every cell is read as bytes, and the schema decides their meaning. Parquet files
have types.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO

_DELIMITERS = (",", ";", "\t", "|")
_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt")
_PARQUET = (".parquet", ".pq")
# bytes, enough for millions of columns; a packed file may unpack to an endless line
_LONGEST_HEADER = 1 << 26

OnRead = Callable[[int], None]  # gets the number of further bytes that were read


@dataclass(frozen=True)
class CsvText:
    """A CSV table in memory, which was read from standard input.

    Parameters
    ----------
    content : bytes
        The text, whose first line names the columns.
    name : str
        Its name in messages.
    """

    content: bytes = field(repr=False)
    name: str = "standard input"


Source = str | PathLike[str] | CsvText


def sources_of(X: Any) -> list[Source] | None:
    """Return the files that X names, in order: one path, several, or a directory; None if X is a table."""
    if isinstance(X, str | PathLike | CsvText):
        return _in_directory(Path(X)) if not isinstance(X, CsvText) and _is_directory(X) else [X]
    if isinstance(X, list | tuple) and X and all(isinstance(part, str | PathLike | CsvText) for part in X):
        return [source for part in X for source in sources_of(part) or ()]
    return None


def bytes_in(sources: Sequence[Source]) -> int:
    """Return the number of bytes to read."""
    return sum(
        len(source.content) if isinstance(source, CsvText) else Path(source).stat().st_size
        for source in sources
        if isinstance(source, CsvText) or Path(source).is_file()
    )


def is_csv(source: Source) -> bool:
    """Return whether this is CSV, whose cells are all text."""
    return isinstance(source, CsvText) or fspath(source).lower().endswith(_CSV)


def header_of(source: Source, names: Sequence[str] | None = None) -> tuple[list[str], str]:
    """Return the names in the first line of a CSV file, and the delimiter.

    The delimiter is the one with which the line has most of `names`, and then most columns. Records do not
    matter for it.
    """
    headers = _headers(_first_line(source))
    wanted = set(names or ())
    delimiter = max(_DELIMITERS, key=lambda mark: (len(wanted & set(headers[mark])), len(headers[mark])))
    header = headers[delimiter]
    if any("\n" in name or "\r" in name for name in header):
        # an open quotation would make records part of a name, and names are public
        raise ValueError(f"The first line of {shown(source)} has an open quotation; a name must be one line.")
    if not any(header) or len(set(header)) < len(header):
        raise ValueError(
            f"The first line of {shown(source)} must name every column once, in UTF-8 text{_alike(header)}."
        )
    return header, delimiter


def _alike(header: Sequence[str]) -> str:
    """Say which two columns have one name: by their numbers, because a first line may be a record."""
    firsts: dict[str, int] = {}
    for number, name in enumerate(header, start=1):
        first = firsts.setdefault(name, number)
        if first < number:
            return f"; columns {first} and {number} have {'the same name' if name else 'no name'}"
    return ""


def header_of_all(X: Any) -> list[str] | None:
    """Return the names of the columns if X names CSV files alone, without reading more than first lines."""
    sources = sources_of(X)
    if sources is None or not all(map(is_csv, sources)):
        return None
    for source in sources:
        refuse_what_is_no_table(source)
    headers = [header_of(source)[0] for source in sources]
    for source, header in zip(sources, headers, strict=True):
        if sorted(header) != sorted(headers[0]):
            raise ValueError(f"{shown(sources[0])} and {shown(source)} must have the same columns.")
    return headers[0]


def shown(source: Source) -> str:
    """Return a path for a message; a long text is not shown, because it may be a record."""
    if isinstance(source, CsvText):
        return source.name
    text = fspath(source)
    return text if len(text) <= 200 and text.isprintable() else "The text given for a path"


# -- which files --------------------------------------------------------------------------------------------


def _is_directory(path: str | PathLike[str]) -> bool:
    with suppress(OSError, ValueError):  # other code refuses a text that is not a path
        return bool(fspath(path)) and Path(path).is_dir()
    return False


def _in_directory(directory: Path) -> list[Source]:
    """Return the Parquet files of a directory by name; those that begin with . or _ are not tables."""
    found = sorted(
        path
        for path in directory.rglob("*")
        if path.name.lower().endswith(_PARQUET) and not path.name.startswith((".", "_"))
    )
    if not found:
        raise ValueError(f"The directory {shown(directory)} has no Parquet files; name CSV files one by one.")
    if any(path.parent != directory for path in found):
        raise ValueError(
            f"The directory {shown(directory)} has Parquet files in further directories, which may stand for "
            "a column; write the table as files of one directory."
        )
    return list(found)


def refuse_what_is_no_table(source: Source) -> None:
    """Raise an error unless this is the path of a file that can hold a table."""
    if isinstance(source, CsvText):
        return
    if not fspath(source).lower().endswith((*_CSV, *_PARQUET)):
        # a text may be a record, and is not quoted
        given = f"{shown(source)} is" if isinstance(source, PathLike) else "X is a text, and"
        raise ValueError(
            f"{given} not the path of a table: its name must end in .csv, .csv.gz, .tsv or .parquet."
        )
    if not Path(source).is_file():
        raise FileNotFoundError(f"There is no file {shown(source)}.")


# -- reading one --------------------------------------------------------------------------------------------


class _Told(io.RawIOBase):
    """A binary file that reports how much of it was read."""

    def __init__(self, file: BinaryIO, on_read: OnRead) -> None:
        self._file, self._on_read = file, on_read

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size)
        self._on_read(len(content))
        return content


def _opened(source: Source) -> BinaryIO:
    return io.BytesIO(source.content) if isinstance(source, CsvText) else Path(source).open("rb")


def _is_packed(source: Source) -> bool:
    return not isinstance(source, CsvText) and fspath(source).lower().endswith(".gz")


def _first_line(source: Source) -> bytes:
    with suppress(gzip.BadGzipFile, EOFError, zlib.error), _opened(source) as file:
        return (gzip.GzipFile(fileobj=file) if _is_packed(source) else file).readline(_LONGEST_HEADER)
    raise ValueError(f"{shown(source)} cannot be unpacked.")


def _headers(line: bytes) -> dict[str, list[str]]:
    """Return the names for each possible delimiter; empty if the line is no text."""
    with suppress(UnicodeDecodeError, csv.Error):  # the first error holds the line
        lines = line.decode("utf-8-sig")
        return {
            mark: next(csv.reader(io.StringIO(lines, newline=""), delimiter=mark), []) for mark in _DELIMITERS
        }
    return {mark: [] for mark in _DELIMITERS}


@contextmanager
def not_told() -> Iterator[None]:
    """Suppress what is said of a part that cannot be read, which may quote it, unless memory ran out."""
    import pyarrow

    try:
        yield
    except MemoryError:  # of which Arrow's is an ArrowException
        raise
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError):
        pass


@contextmanager
def csv_stream(source: Source, on_read: OnRead) -> Iterator[Any]:
    """Open a CSV file for Arrow's reader, unpacked."""
    import pyarrow

    with _opened(source) as file:
        stream = pyarrow.PythonFile(_Told(file, on_read), "r")
        yield pyarrow.CompressedInputStream(stream, "gzip") if _is_packed(source) else stream


def csv_options(source: Source, names: Sequence[str] | None) -> dict[str, Any]:
    """Return the options by which Arrow reads the columns of these names, or all, with cells as bytes."""
    import pyarrow
    from pyarrow import csv as arrow_csv

    header, delimiter = header_of(source, names)
    kept = [name for name in header if names is None or name in names]
    return {
        "parse_options": arrow_csv.ParseOptions(
            delimiter=delimiter,
            newlines_in_values=True,
            # with one column, an empty line is a record whose cell is missing
            ignore_empty_lines=len(header) > 1,
        ),
        "convert_options": arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(kept, pyarrow.large_binary()),
            include_columns=kept,
            strings_can_be_null=False,
            check_utf8=False,
        ),
    }


def not_a_csv(source: Source) -> ValueError:
    """Return the error of a CSV file that cannot be read."""
    return ValueError(
        f"{shown(source)} has a line that does not have as many values as the first, or an open quotation."
    )


def not_a_parquet(source: Source) -> ValueError:
    """Return the error of a Parquet file that cannot be read."""
    return ValueError(f"{shown(source)} is not a Parquet file that can be read.")
