"""Tables in CSV and Parquet files.

CSV files have no types. Readers guess them from all cells of a column, so that one record decides how the
others are read; here every cell stays the bytes that it is, and the schema says what they mean. Parquet
files have types.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from contextlib import suppress
from os import PathLike, fspath
from pathlib import Path
from typing import Any

_DELIMITERS = (",", ";", "\t", "|")
_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt")
_PARQUET = (".parquet", ".pq")


def read_file(path: str | PathLike[str], names: Sequence[str] | None = None) -> Any:
    """Return the columns of these names, or all, as an Arrow table. Cells of a CSV file are bytes.

    What is wrong with a file is said without quoting it.
    """
    lowered = fspath(path).lower()
    if lowered.endswith(_CSV):
        _refuse_what_is_no_file(path)
        return _read_csv(path, names)
    if lowered.endswith(_PARQUET):
        _refuse_what_is_no_file(path)
        return _read_parquet(path, names)
    # a text may be a record, and is not quoted
    given = f"{_shown(path)} is" if isinstance(path, PathLike) else "X is a text, and"
    raise ValueError(
        f"{given} not the path of a table: its name must end in .csv, .csv.gz, .tsv or .parquet."
    )


def is_csv(path: Any) -> bool:
    """Tell whether a path is that of a CSV file, whose cells are all text."""
    return isinstance(path, str | PathLike) and fspath(path).lower().endswith(_CSV)


def header_of(path: str | PathLike[str], names: Sequence[str] | None = None) -> tuple[list[str], str]:
    """Return the names in the first line of a CSV file, and what separates them.

    That is the mark by which the line has most of `names`, and then the most columns; records do not matter.
    """
    headers = _headers(_first_line(path))
    wanted = set(names or ())
    delimiter = max(_DELIMITERS, key=lambda mark: (len(wanted & set(headers[mark])), len(headers[mark])))
    header = headers[delimiter]
    if any("\n" in name or "\r" in name for name in header):
        # a quotation that stays open would make records part of a name, and names are public
        raise ValueError(f"The first line of {_shown(path)} has an open quotation; a name must be one line.")
    if not any(header) or len(set(header)) < len(header):
        raise ValueError(f"The first line of {_shown(path)} must name every column once, in UTF-8 text.")
    return header, delimiter


def _first_line(path: str | PathLike[str]) -> bytes:
    open_file = gzip.open if fspath(path).lower().endswith(".gz") else open
    with suppress(gzip.BadGzipFile, EOFError, zlib.error), open_file(path, "rb") as lines:
        line: bytes = lines.readline()
        return line
    raise ValueError(f"{_shown(path)} cannot be unpacked.")


def _headers(line: bytes) -> dict[str, list[str]]:
    """Return the names by every mark that may separate them, none if the line is no text."""
    with suppress(UnicodeDecodeError, csv.Error):  # the first of which holds the line
        lines = line.decode("utf-8-sig")
        return {
            mark: next(csv.reader(io.StringIO(lines, newline=""), delimiter=mark), []) for mark in _DELIMITERS
        }
    return {mark: [] for mark in _DELIMITERS}


def _read_csv(path: str | PathLike[str], names: Sequence[str] | None) -> Any:
    import pyarrow
    from pyarrow import csv as arrow_csv

    header, delimiter = header_of(path, names)
    kept = [name for name in header if names is None or name in names]
    with suppress(pyarrow.ArrowException, OSError):  # whose message quotes the line, and is not to be kept
        return arrow_csv.read_csv(
            fspath(path),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=True,
                ignore_empty_lines=len(header) > 1,  # else an empty line is a record whose cell is missing
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(kept, pyarrow.large_binary()),
                include_columns=kept,
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
    raise ValueError(
        f"{_shown(path)} has a line that does not have as many values as the first, or an open quotation."
    )


def _read_parquet(path: str | PathLike[str], names: Sequence[str] | None) -> Any:
    import pyarrow
    from pyarrow import parquet

    with suppress(pyarrow.ArrowException, OSError), parquet.ParquetFile(fspath(path)) as file:
        present = file.schema_arrow.names
        return file.read(columns=None if names is None else [name for name in present if name in names])
    raise ValueError(f"{_shown(path)} is not a Parquet file that can be read.")


def _refuse_what_is_no_file(path: str | PathLike[str]) -> None:
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no file {_shown(path)}.")


def _shown(path: str | PathLike[str]) -> str:
    """Write a path; one that is as long as a record may be one."""
    text = fspath(path)
    return text if len(text) <= 200 and text.isprintable() else "The text given for a path"
