"""Show names and texts from outside so that no character in them controls the terminal or stays invisible."""

from __future__ import annotations

import re
import unicodedata

# Control characters, marks that change the direction of writing, line separators, invisible characters,
# single surrogates, and tags. Joiners are allowed, because Persian and many emoji are written with them.
ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


LONGEST_SENTENCE = 2_000  # characters; longer than any message of privfit without the names that it quotes


def printable(text: str) -> str:
    r"""Return the text on one line, with control characters and invisible characters written as escapes.

    Some characters control a terminal: they change colours, clear the screen, begin new lines or change the
    direction of writing. The last ones work in browsers, too.

    Parameters
    ----------
    text : str
        Any text: the name of a column or file, for example.

    Returns
    -------
    line : str
        The same text if all its characters are visible.

    Examples
    --------
    >>> printable("Zürich"), printable("red\x1b[31m\n")
    ('Zürich', 'red\\x1b[31m\\n')
    """
    return ACTING.sub(lambda found: repr(found[0])[1:-1], text)


def brief(text: str) -> str:
    """Return a sentence as one line that a terminal can show; if it is very long, the middle is left out.

    An error message quotes the names of columns, and a name may be a megabyte of text. The beginning of a
    message says what is wrong, and its end how to fix it, so both are kept.

    Parameters
    ----------
    text : str
        A sentence that may quote names.

    Returns
    -------
    line : str
        At most 2,000 characters.

    Examples
    --------
    >>> brief("column 'age' is not there"), len(brief("a" * 1_000_000))
    ("column 'age' is not there", 2000)
    """
    line = printable(text)
    if len(line) <= LONGEST_SENTENCE:
        return line
    half = (LONGEST_SENTENCE - len(" ... ")) // 2
    return f"{line[: LONGEST_SENTENCE - half - len(' ... ')]} ... {line[-half:]}"


def terminal_width(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    Parameters
    ----------
    text : str
        A line.

    Returns
    -------
    width : int
        Chinese, Japanese and Korean characters take two columns, and accents that are combined none.

    Examples
    --------
    >>> terminal_width("Zürich"), terminal_width("東京")
    (6, 4)
    """
    if text.isascii():
        return len(text)
    widths = {"W": 2, "F": 2}
    return sum(
        0 if unicodedata.combining(each) else widths.get(unicodedata.east_asian_width(each), 1)
        for each in text
    )


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Return a text with the spaces that it needs to take some columns of a terminal.

    Parameters
    ----------
    text : str
        A line.
    width : int
        How many columns it takes at least.
    right : bool
        Whether the text is at the right end.

    Returns
    -------
    line : str
        The text after or before spaces.
    """
    spaces = " " * (width - terminal_width(text))
    return spaces + text if right else text + spaces
