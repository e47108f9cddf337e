"""Columns of numbers and of dates, between two public bounds."""

from __future__ import annotations

import datetime
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np

from privfit.schema.cells import ISO_DATE, day, reading, text_with_point
from privfit.schema.column import Numbers
from privfit.schema.curved import Curved

_GROUPING = (",", " ", "'", "_")
_DECIMAL = (".", ",")


@dataclass(frozen=True)
class Numeric(Curved):
    """A column of numbers between two public bounds.

    Parameters
    ----------
    name : str
        The column's name.
    low, high : float
        The bounds. Numbers beyond them count as the nearer one.
    unit : str
        The unit of the numbers, such as "years" or "$". A cell of text may have it before or after the
        number.
    missing : {"fill", "indicator", "refuse"}
        How to handle a cell without a number: it counts as `fill`, or has an indicator of its own, or
        the table is refused.
    fill : float, optional
        A public number for such cells; by default the middle between the bounds.
    thousands : str
        The mark between groups of three digits: a comma, a space, "'" or "_"; or a point, if `decimal` is a
        comma. With a point the column must be text, because a library that reads 1.234 as a decimal number
        loses the original text.
    decimal : {".", ","}
        The decimal mark of numbers in text. A point is always read as a decimal mark, unless it groups
        digits.
    monotone : {"", "up", "down"}
        Whether a higher value may only raise ("up"), or only lower, the score of the positive class or the
        predicted number. A curve then only rises, or only falls.
    curve : bool, int or sequence of float, optional
        Whether the column has a curve, which may bend at public edges. True: the privacy budget of the fit
        decides the number of edges. A number: this many edges. A sequence: these edges, between the bounds.
        False: no curve, for any setting `curves` of the estimator. None, the default: the setting `curves`
        decides.
    """

    low: float
    high: float
    _: KW_ONLY
    thousands: str = ""
    decimal: str = "."

    def __post_init__(self) -> None:
        super().__post_init__()
        bounds = (self.low, self.high)
        numbers = all(isinstance(bound, Real) and not isinstance(bound, bool) for bound in bounds)
        if not numbers or not all(abs(bound) <= sys.float_info.max for bound in bounds):
            raise ValueError(f"The bounds of column {self.name!r} must be finite numbers, not {bounds}.")
        self._keep_bounds()
        if not 0 < self.ends[1] - self.ends[0] < math.inf:
            raise ValueError(f"Column {self.name!r} needs low < high, a finite distance apart, not {bounds}.")
        if self.thousands and self.thousands not in (*_GROUPING, "."):
            raise ValueError(
                f"thousands of column {self.name!r} must be one of , . space ' _ or nothing, "
                f"not {self.thousands!r}."
            )
        if self.decimal not in _DECIMAL:
            raise ValueError(f'decimal of column {self.name!r} must be "." or ",", not {self.decimal!r}.')
        if self.thousands == self.decimal:
            mark, remedy = (
                ("comma", "correct one of them")
                if self.decimal == ","
                else ("point", 'declare decimal = ",", too')
            )
            raise ValueError(f"thousands and decimal of column {self.name!r} are both a {mark}; {remedy}.")
        self._check_fill()
        self._check_curve()

    def _keep_bounds(self) -> None:
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds."""
        return float(self.low), float(self.high)

    def read(self, cell: Any) -> float:
        """Return the number in a cell; NaN if there is none."""
        grouped = text_with_point(cell) if self.points_group_digits else None
        said = reading(cell) if grouped is None else grouped
        if isinstance(said, str) and (self.unit or self.thousands or self.decimal != "."):
            said = reading(self._bare(said))
        return math.nan if said is None or isinstance(said, str) else float(said)

    @property
    def points_group_digits(self) -> bool:
        """Whether the text 1.234 means one thousand two hundred and thirty-four."""
        return self.thousands == "."

    @property
    def decimal_marks(self) -> tuple[str, str]:
        """Decimal marks, and their replacements; a point that should group digits becomes invalid."""
        return (",.", ".,") if self.points_group_digits else (self.decimal, ".")

    @property
    def grouped(self) -> str:
        """A regular expression for numbers with grouping marks."""
        decimal = "," if self.points_group_digits else f".{self.decimal}"
        return rf"[+-]?[0-9]{{1,3}}(?:{re.escape(self.thousands)}[0-9]{{3}})+(?:[{decimal}][0-9]*)?"

    def _bare(self, text: str) -> str:
        """Remove unit and grouping marks from a text, and use a point as the decimal mark."""
        sign, body = (text[0], text[1:]) if text[0] in "+-" else ("", text)
        if self.unit:
            body = body.strip().removeprefix(self.unit).removesuffix(self.unit).strip()
        if self.thousands and re.fullmatch(self.grouped, body):
            body = body.replace(self.thousands, "")
        return sign + body.translate(str.maketrans(*self.decimal_marks))

    def read_numbers(self, numbers: Numbers) -> Numbers:
        """Return the numbers as they are."""
        return numbers

    @property
    def span(self) -> tuple[str, str]:
        """The bounds in words."""
        return self._in_words(self.low), self._in_words(self.high)

    def _in_words(self, edge: float) -> str:
        return f"{edge:.15g}"

    def _edge(self, edge: Any) -> float:
        if not isinstance(edge, Real) or isinstance(edge, bool) or not math.isfinite(edge):
            raise ValueError(f"An edge of column {self.name!r} must be a finite number.")
        return self._edges([float(edge)])[0]

    def _edges(self, readings: Sequence[float]) -> tuple[float, ...]:
        return tuple(readings)


@dataclass(frozen=True)
class Integer(Numeric):
    """A column of whole numbers between two public bounds; others do not fit.

    Parameters
    ----------
    name : str
        The column's name.
    low, high : int
        The bounds. Numbers beyond them count as the nearer one.
    unit : str
        The unit of the numbers, such as "years" or "$". A cell of text may have it before or after the
        number.
    missing : {"fill", "indicator", "refuse"}
        How to handle a cell without a whole number: it counts as `fill`, or has an indicator of its own,
        or the table is refused.
    fill : int, optional
        A public number for such cells; by default the middle between the bounds.
    thousands : str
        The mark between groups of three digits: a comma, a space, "'" or "_"; or a point, if `decimal` is a
        comma. With a point the column must be text, because a library that reads 1.234 as a decimal number
        loses the original text.
    decimal : {".", ","}
        The decimal mark of numbers in text. A point is always read as a decimal mark, unless it groups
        digits.
    monotone : {"", "up", "down"}
        Whether a higher value may only raise ("up"), or only lower, the score of the positive class or the
        predicted number. A curve then only rises, or only falls.
    curve : bool, int or sequence of int, optional
        Whether the column has a curve, which may bend at public edges. True: the privacy budget of the fit
        decides the number of edges. A number: this many edges. A sequence: these edges, between the bounds.
        False: no curve, for any setting `curves` of the estimator. None, the default: the setting `curves`
        decides.
    """

    low: int
    high: int

    def _keep_bounds(self) -> None:
        if not all(isinstance(bound, Integral) for bound in (self.low, self.high)):
            raise ValueError(
                f"The bounds of column {self.name!r} must be whole numbers, because it is an integer."
            )
        object.__setattr__(self, "low", int(self.low))
        object.__setattr__(self, "high", int(self.high))

    def read(self, cell: Any) -> float:
        """Return the whole number in a cell; NaN if there is none."""
        said = super().read(cell)
        return said if math.isinf(said) or said == said // 1 else math.nan

    def read_numbers(self, numbers: Numbers) -> Numbers:
        """Numbers that are not whole do not fit."""
        return np.where(np.floor(numbers) == numbers, numbers, np.nan)

    @property
    def _is_whole(self) -> bool:
        return True

    def _edges(self, readings: Sequence[float]) -> tuple[int, ...]:
        if not all(edge.is_integer() for edge in readings):
            raise ValueError(f"The edges of column {self.name!r} must be whole numbers, as its values are.")
        return tuple(map(int, readings))


@dataclass(frozen=True)
class Date(Curved):
    """A column of days between two public dates.

    Parameters
    ----------
    name : str
        The column's name.
    low, high : datetime.date, or str in ISO format
        The first and the last day. Days beyond them count as the nearer one.
    unit : str
        Not used: a date's unit is the day.
    missing : {"fill", "indicator", "refuse"}
        How to handle a cell without a date: it counts as `fill`, or has an indicator of its own, or
        the table is refused.
    fill : datetime.date, or str in ISO format, optional
        A public day for such cells; by default the middle.
    format : str
        A format of dates in text, besides 2026-05-27: %d, %m and %Y with a mark between them, as in
        "%d.%m.%Y". A time of day after the date, and the time zone, are ignored.
    monotone : {"", "up", "down"}
        Whether a later day may only raise ("up"), or only lower, the score of the positive class or the
        predicted number. A curve then only rises, or only falls.
    curve : bool, int or sequence of datetime.date, optional
        Whether the column has a curve, which may bend at public edges. True: the privacy budget of the fit
        decides the number of edges. A number: this many edges. A sequence: these edges, between the bounds.
        False: no curve, for any setting `curves` of the estimator. None, the default: the setting `curves`
        decides.
    """

    low: datetime.date
    high: datetime.date
    _: KW_ONLY
    format: str = "%Y-%m-%d"

    def __post_init__(self) -> None:
        super().__post_init__()
        for end in ("low", "high", "fill"):
            if end != "fill" or self.fill is not None:
                object.__setattr__(self, end, self._as_date(end))
        if not self.low < self.high:
            raise ValueError(f"Column {self.name!r} needs low < high, not {self.low} and {self.high}.")
        if self.unit:
            raise ValueError(f"Column {self.name!r} is a date, whose unit is the day; remove unit.")
        if not isinstance(self.format, str) or _pattern(self.format) is None:
            raise ValueError(
                f"format of column {self.name!r} must have %Y, %m and %d with one mark between them, "
                f'such as "%d.%m.%Y", not {self.format!r}.'
            )
        self._check_curve()

    def _as_date(self, end: str) -> datetime.date:
        return self._date(getattr(self, end), end)

    def _date(self, value: Any, what: str) -> datetime.date:
        if isinstance(value, str):
            try:
                value = datetime.date.fromisoformat(value)
            except ValueError:
                value = None
        if type(value) is not datetime.date:
            raise ValueError(f"{what} of column {self.name!r} must be a date such as 2026-05-27.")
        return value

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last day, counted from 0001-01-01."""
        return float(self.low.toordinal()), float(self.high.toordinal())

    @property
    def patterns(self) -> tuple[str, ...]:
        """Regular expressions for dates in text, with groups Y, m and d."""
        own = _pattern(self.format)
        return (ISO_DATE.pattern,) if own is None else (ISO_DATE.pattern, own.pattern)

    def read(self, cell: Any) -> float:
        """Return the day in a cell; NaN if there is none."""
        return day(cell, _pattern(self.format))

    def read_numbers(self, numbers: Numbers) -> Numbers:
        """Return NaN, because a number is no date."""
        return np.full(len(numbers), np.nan)

    def read_days(self, days: Numbers) -> Numbers:
        """Return the days as they are."""
        return days

    @property
    def span(self) -> tuple[str, str]:
        """The first and the last day in ISO format."""
        return self._in_words(self.low), self._in_words(self.high)

    def _in_words(self, edge: datetime.date) -> str:
        return str(edge)

    @property
    def _is_whole(self) -> bool:
        return True

    def _edge(self, edge: Any) -> datetime.date:
        return self._date(edge, "An edge")

    def _edges(self, readings: Sequence[float]) -> tuple[datetime.date, ...]:
        return tuple(datetime.date.fromordinal(int(day)) for day in readings)


@cache
def _pattern(format: str) -> re.Pattern[str] | None:
    """Return a regular expression for dates in this format, with groups Y, m and d; None if it is invalid."""
    parts = re.fullmatch(r"%([Ymd])([-/. ])%([Ymd])([-/. ])%([Ymd])", format)
    if parts is None or {parts[1], parts[3], parts[5]} != {"Y", "m", "d"} or format == "%Y-%d-%m":
        return None
    digits = {"Y": r"(?P<Y>\d{4})", "m": r"(?P<m>\d{1,2})", "d": r"(?P<d>\d{1,2})"}
    first, second, third = (digits[part] for part in parts.group(1, 3, 5))
    marks = [re.escape(mark) for mark in parts.group(2, 4)]
    return re.compile(rf"{first}{marks[0]}{second}{marks[1]}{third}(?:[T ].*)?", re.ASCII | re.DOTALL)
