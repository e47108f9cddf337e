"""Names and texts of strangers, shown so that nothing in them acts on a terminal or hides from its reader."""

from __future__ import annotations

import re

# Control characters, marks that turn the direction of writing, line separators, invisible characters, halves
# of surrogate pairs, and tags. Joiners stay, because Persian and many emoji are written with them.
ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


LONGEST_SENTENCE = (
    2_000  # characters: more than any sentence of this package without the names that it quotes
)


def printable(text: str) -> str:
    r"""Return one line of text in which characters that act, instead of being shown, are written as escapes.

    Terminals obey some characters: they change colours, clear the screen, begin new lines or turn the
    direction of writing. Browsers obey the last.

    Parameters
    ----------
    text : str
        Any text: the name of a column or file, for example.

    Returns
    -------
    line : str
        The same text if all its characters can be seen.

    Examples
    --------
    >>> printable("Zürich"), printable("red\x1b[31m\n")
    ('Zürich', 'red\\x1b[31m\\n')
    """
    return ACTING.sub(lambda found: repr(found[0])[1:-1], text)


def brief(text: str) -> str:
    """Return a sentence as one line that a terminal can show, without its middle if it is very long.

    A schema or a file may name a column by a megabyte of text, which a refusal would quote. What is wrong
    stands at the beginning of a sentence, and the remedy at its end.

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
