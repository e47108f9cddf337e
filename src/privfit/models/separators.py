"""Commas between groups of three digits, in numbers that people read."""

from __future__ import annotations

import re

from privfit.schema import Numeric
from privfit.schema.column import Feature

# Five digits or more, so that years stay as they are. Digits after a point, and parts of dates, are left out.
_LONG_NUMBER = re.compile(r"(?<![\w.,-])([+-]?)(\d{5,})(?![\w-])")


def with_separators(text: str) -> str:
    """Return a text in which whole numbers of five digits or more have commas, such as 48,842.

    Parameters
    ----------
    text : str
        A number, or words with numbers.

    Returns
    -------
    text : str
        The same text with commas.

    Examples
    --------
    >>> from privfit.models.separators import with_separators
    >>> with_separators("from 1900 to 100000 dollars, -48842.5")
    'from 1900 to 100,000 dollars, -48,842.5'
    """
    return _LONG_NUMBER.sub(lambda number: f"{number[1]}{int(number[2]):,}", text)


def in_words(fact: Feature, level: str) -> str:
    """Return in words the change to which a weight of a column belongs, with commas in long numbers.

    Parameters
    ----------
    fact : Feature
        The column.
    level : str
        One of its levels.

    Returns
    -------
    words : str
        The words of `Feature.step`. Those of categories do not change, because they may be codes.
    """
    words = fact.step(level)
    return with_separators(words) if isinstance(fact, Numeric) else words
