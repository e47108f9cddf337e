"""Names and texts of strangers, shown so that nothing in them acts on a terminal or hides from its reader."""

from __future__ import annotations

import re

# Control characters, marks that turn the direction of writing, line separators, invisible characters, halves
# of surrogate pairs, and tags. Joiners stay, because Persian and many emoji are written with them.
ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
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
