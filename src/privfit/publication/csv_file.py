"""CSV files that are safe for spreadsheets: no cell of text is read as a formula."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# Spreadsheets read such text as a formula. Full-width signs count, and so do spaces before a sign. Text that
# already begins with apostrophes gets another one, so that two texts never become the same.
_FORMULA = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@＝＋－＠])")  # noqa: RUF001
_QUOTED = re.compile(r'^$|[",;\t\r\n]')  # empty text, and every separator that a spreadsheet may split at


def write_csv(file: TextIO, rows: Iterable[Sequence[Any]]) -> None:
    """Write rows as CSV. Text that a spreadsheet would run as a formula gets an apostrophe in front.

    Parameters
    ----------
    file : text stream
        Opened with ``newline=""``.
    rows : iterable of sequences
        Numbers, booleans, text, and None for an empty cell. Text that reads as a number, such as -1, stays
        as it is.
    """
    for row in rows:
        file.write(",".join(map(_cell, row)) + "\r\n")


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    if isinstance(value, str) and _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        text = f"'{text}"
    return '"{}"'.format(text.replace('"', '""')) if _QUOTED.search(text) else text
