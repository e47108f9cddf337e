"""Read one cell, in the same way for all forms in which a table may be stored.

Libraries give all cells of a column one type, so a single unusual record can turn everybody's 1 into 1.0,
"1", "01", True or b"1". All of these are read as the same value here, so no record decides how others are
read.
"""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

# The numbers that CSV readers recognise: ASCII digits, optionally with a sign, a point and an exponent.
_NUMBER = re.compile(
    r"[+-]?(?:(?P<whole>\d+)|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan)",
    re.ASCII | re.IGNORECASE,
)
ISO_DATE = re.compile(r"(?P<Y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})(?:[T ].*)?", re.ASCII | re.DOTALL)
EPOCH = datetime.date(1970, 1, 1).toordinal()
_TRUTH = {"true": 1, "false": 0}
_LONGEST_WHOLE = 400  # characters; a longer number is infinite as a float, and slow to read exactly


def reading(cell: Any) -> int | float | str | None:
    """Return the value of a cell as a number or, if it is none, as text; None if it is missing.

    True and "true" (in any case) are 1, False and "false" are 0. Whole numbers are integers, in full if they
    were written without point and exponent; other numbers are the nearest float, and those too large for one
    are infinite. Text loses surrounding white space. NaN, the text of it, empty text, and what is neither
    text nor a number (a date, a list) are missing.
    """
    if isinstance(cell, str):
        return _reading_of_text(cell)
    if isinstance(cell, bytes):
        return _reading_of_text(cell.decode("utf-8", errors="replace"))
    if isinstance(cell, np.timedelta64):  # NumPy counts it as an integer
        return None
    if type(cell) is int or isinstance(cell, Integral | np.bool_):  # the first test is faster
        return _whole(int(cell))
    if isinstance(cell, Real):
        return _real(_float(cell))
    if isinstance(cell, Decimal):
        return _reading_of_text(str(cell))
    return None


def text_with_point(cell: Any) -> str | None:
    """Return a cell of text that has a point in it, without surrounding white space; None for others."""
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", errors="replace")
    return cell.rstrip("\0").strip() if isinstance(cell, str) and "." in cell else None


def day(cell: Any, pattern: re.Pattern[str] | None = None) -> float:
    """Return the date in a cell as a day number, counted from 0001-01-01 like Python's; NaN if there is none.

    Text must hold a date in ISO format, or match `pattern`, with groups Y, m and d. The time of day is
    ignored, and the date is that of the time zone in which it was written.
    """
    if isinstance(cell, datetime.date):  # also a datetime, and pandas.NaT
        return float(cell.toordinal()) if cell == cell else math.nan
    if isinstance(cell, np.datetime64):
        return math.nan if np.isnat(cell) else float(cell.astype("datetime64[D]").astype(np.int64) + EPOCH)
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", errors="replace")
    if not isinstance(cell, str):
        return math.nan
    text = cell.rstrip("\0").strip()
    match = ISO_DATE.fullmatch(text) or (pattern.fullmatch(text) if pattern else None)
    if match is None:
        return math.nan
    try:
        return float(datetime.date(int(match["Y"]), int(match["m"]), int(match["d"])).toordinal())
    except ValueError:  # for example the 31st of February
        return math.nan


def _reading_of_text(text: str) -> int | float | str | None:
    text = text.rstrip("\0").strip()  # NumPy drops zero characters at the end of text, and Python keeps them
    match = _NUMBER.fullmatch(text)
    if match is None:
        return _TRUTH.get(text.lower(), text or None)
    if match["whole"] and len(text) <= _LONGEST_WHOLE:
        return _whole(int(text))
    return _real(float(text))


def _whole(value: int) -> int | float:
    nearest = _float(value)
    return nearest if math.isinf(nearest) else value


def _real(value: float) -> int | float | None:
    if math.isnan(value):
        return None
    return int(value) if value.is_integer() else value


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
